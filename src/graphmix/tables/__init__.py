"""The user's tables: nodes, edges, labels and features from CSV, TSV and Parquet files or from memory."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from graphmix.tables.kinds import KINDS

if TYPE_CHECKING:
    from graphmix.tables.choosing import choose_kinds
    from graphmix.tables.edges import EdgeTable, Matched, match, read_edges
    from graphmix.tables.encoders import Encoded, Encoders
    from graphmix.tables.files import TableSource, checksum, is_path, read_table
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
# Which module has what: imported on first use, so that `KINDS` does not wait for numpy and scipy.
_MODULES = {
    "choosing": ("choose_kinds",),
    "edges": ("EdgeTable", "Matched", "match", "read_edges"),
    "encoders": ("Encoded", "Encoders"),
    "files": ("TableSource", "checksum", "is_path", "read_table"),
    "links": ("LinkTable", "read_labeled_links"),
    "nodes": ("NodeTable", "check_class_names", "check_classes", "read_nodes"),
    "structural": ("Structural", "structural_features"),
    "table": ("Table",),
}


def __getattr__(name: str) -> Any:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
