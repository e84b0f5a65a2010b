"""The user's own tables: nodes, edges, labels and features from CSV, TSV and Parquet."""

from graphmix.tables.edges import EdgeTable, Matched, match, read_edges
from graphmix.tables.encoders import Encoded, Encoders
from graphmix.tables.files import TableSource, checksum, is_path, read_table
from graphmix.tables.kinds import KINDS, choose_kinds
from graphmix.tables.links import LinkTable, read_labeled_links
from graphmix.tables.nodes import NodeTable, check_class_names, check_classes, read_nodes
from graphmix.tables.structural import Structural, structural_features
from graphmix.tables.table import Table

__all__ = [
    "KINDS",
    "EdgeTable",
    "Encoded",
    "Encoders",
    "LinkTable",
    "Matched",
    "NodeTable",
    "Structural",
    "Table",
    "TableSource",
    "check_class_names",
    "check_classes",
    "checksum",
    "choose_kinds",
    "is_path",
    "match",
    "read_edges",
    "read_labeled_links",
    "read_nodes",
    "read_table",
    "structural_features",
]
