"""Graphs, their splits, and where they come from."""

from typing import TYPE_CHECKING

from graphmix.lazy import attach

if TYPE_CHECKING:
    from graphmix.data.datasets.catalogue import (
        DATASETS,
        DatasetInfo,
        get,
        has_checksums,
        is_file,
        resolve,
        where,
    )
    from graphmix.data.datasets.districts import EXAMPLE_LABEL, districts, write_districts
    from graphmix.data.datasets.loading import Dataset, load
    from graphmix.data.datasets.npz import read_npz, write_npz
    from graphmix.data.datasets.sources import SourceUnavailable
    from graphmix.data.datasets.synthetic import synthetic
    from graphmix.data.dual_graph import dual
    from graphmix.data.features import binarise, row_normalise
    from graphmix.data.graph import Graph
    from graphmix.data.split import Split
    from graphmix.data.split_names import PUBLIC, SPLITS, check_split_name, split_seeds
    from graphmix.data.splits import make_split

__all__ = [
    "DATASETS",
    "EXAMPLE_LABEL",
    "PUBLIC",
    "SPLITS",
    "Dataset",
    "DatasetInfo",
    "Graph",
    "SourceUnavailable",
    "Split",
    "binarise",
    "check_split_name",
    "districts",
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
    "write_districts",
    "write_npz",
]

# Imported on first use: what is known of the datasets needs no torch.
__getattr__, __dir__ = attach(
    __name__,
    {
        "graphmix.data.datasets.catalogue": "DATASETS DatasetInfo get has_checksums is_file resolve where",
        "graphmix.data.datasets.districts": "EXAMPLE_LABEL districts write_districts",
        "graphmix.data.datasets.loading": "Dataset load",
        "graphmix.data.datasets.npz": "read_npz write_npz",
        "graphmix.data.datasets.sources": "SourceUnavailable",
        "graphmix.data.datasets.synthetic": "synthetic",
        "graphmix.data.dual_graph": "dual",
        "graphmix.data.features": "binarise row_normalise",
        "graphmix.data.graph": "Graph",
        "graphmix.data.split": "Split",
        "graphmix.data.split_names": "PUBLIC SPLITS check_split_name split_seeds",
        "graphmix.data.splits": "make_split",
    },
)
