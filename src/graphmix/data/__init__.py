"""Graphs, their splits, and where they come from."""

from graphmix.data.datasets import DATASETS, Dataset, DatasetInfo, get, load, resolve, where
from graphmix.data.graph import Graph, Split, binarise, row_normalise
from graphmix.data.npz import read_npz, write_npz
from graphmix.data.sources import SourceUnavailable
from graphmix.data.synthetic import synthetic

__all__ = [
    "DATASETS",
    "Dataset",
    "DatasetInfo",
    "Graph",
    "SourceUnavailable",
    "Split",
    "binarise",
    "get",
    "load",
    "read_npz",
    "resolve",
    "row_normalise",
    "synthetic",
    "where",
    "write_npz",
]
