"""Graphs, their splits, and where they come from."""

from graphmix.data.datasets.loading import (
    DATASETS,
    Dataset,
    DatasetInfo,
    get,
    has_checksums,
    is_file,
    load,
    resolve,
    where,
)
from graphmix.data.datasets.npz import read_npz, write_npz
from graphmix.data.datasets.sources import SourceUnavailable
from graphmix.data.datasets.synthetic import synthetic
from graphmix.data.dual_graph import dual
from graphmix.data.features import binarise, row_normalise
from graphmix.data.graph import Graph
from graphmix.data.split import Split
from graphmix.data.splits import PUBLIC, SPLITS, make_split, split_seeds

__all__ = [
    "DATASETS",
    "PUBLIC",
    "SPLITS",
    "Dataset",
    "DatasetInfo",
    "Graph",
    "SourceUnavailable",
    "Split",
    "binarise",
    "dual",
    "get",
    "has_checksums",
    "is_file",
    "load",
    "make_split",
    "read_npz",
    "resolve",
    "row_normalise",
    "split_seeds",
    "synthetic",
    "where",
    "write_npz",
]
