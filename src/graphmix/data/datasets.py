"""From a name to a graph and its split."""

import difflib
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from graphmix.data import planetoid, sources
from graphmix.data.graph import Graph, Split
from graphmix.data.npz import read_npz
from graphmix.data.sources import FileSet, Report
from graphmix.data.synthetic import synthetic
from graphmix.errors import DataError


class Dataset(NamedTuple):
    """A graph and the split it is usually judged on."""

    graph: Graph
    split: Split


@dataclass(frozen=True)
class DatasetInfo:
    """What is known about a dataset without loading it.

    Attributes:
        title: its name in print.
        nodes: how many nodes it has.
        edges: undirected, without self-loops and repeats.
        features: how many features a node has.
        classes: how many classes there are.
        source: who made it.
        description: what the nodes, edges and labels are, in one line.
        files: what it is read from; None when it is made on the spot.
    """

    title: str
    nodes: int
    edges: int
    features: int
    classes: int
    source: str
    description: str
    files: FileSet | None = None


DATASETS: dict[str, DatasetInfo] = {
    "cora": DatasetInfo(
        title="Cora",
        nodes=2708,
        edges=5278,
        features=1433,
        classes=7,
        source="Planetoid (Yang et al., 2016)",
        description="Machine-learning papers, joined by citations; words as features, topics as classes.",
        files=planetoid.CORA,
    ),
    "citeseer": DatasetInfo(
        title="Citeseer",
        nodes=3327,
        edges=4552,
        features=3703,
        classes=6,
        source="Planetoid (Yang et al., 2016)",
        description="Computer-science papers, joined by citations; words as features, fields as classes.",
        files=planetoid.CITESEER,
    ),
    "pubmed": DatasetInfo(
        title="Pubmed",
        nodes=19717,
        edges=44324,
        features=500,
        classes=3,
        source="Planetoid (Yang et al., 2016)",
        description="Papers on diabetes, joined by citations; TF-IDF words as features, types as classes.",
        files=planetoid.PUBMED,
    ),
    "synthetic": DatasetInfo(
        title="Synthetic",
        nodes=1000,
        edges=2482,
        features=500,
        classes=4,
        source="made on the spot from seed 0",
        description="Communities that mostly link to their own; words as features, communities as classes.",
    ),
}


def load(name: Path | str, *, data_root: Path | str | None = None, report: Report | None = None) -> Dataset:
    """Load a dataset with row-normalised features and its public split, downloading it if need be.

    Args:
        name: a key of `DATASETS`; case does not matter, nor `-` for `_`. Or the path of an .npz file (`read_npz`).
        data_root: the folder to look in first, in place of the one `GRAPHMIX_DATA` names.
        report: called with a line of text when something slow begins.

    Raises:
        SourceUnavailable: the files are not here and cannot be had.
        DataError: there is no such dataset, or a file is not the official one.
    """
    name = str(name)
    key = resolve(name)
    if is_file(name):
        return Dataset(*read_npz(Path(name)))
    files = DATASETS[key].files
    if files is None:
        return Dataset(*synthetic())
    raw = planetoid.parse(sources.read(files, data_root, report))
    graph = Graph.build(raw.x, raw.edges, raw.y, DATASETS[key].classes, name=key)
    split = Split.build(raw.train, raw.val, raw.test, name="public")
    split.check(graph)
    return Dataset(graph, split)


def get(name: str, data_root: Path | str | None = None, report: Report | None = None) -> list[Path]:
    """Make sure that a dataset's files are on this machine, each one checked, and return where.

    Arguments and errors are those of `load`; a dataset made on the spot has no files.
    """
    files = _files(name)
    return [] if files is None else sources.fetch(files, data_root, report)


def where(name: str, data_root: Path | str | None = None) -> Path | None:
    """Say in which folder a dataset's files are now, unchecked; None when some are missing or it has none."""
    files = _files(name)
    if files is None:
        return None
    paths = sources.locate(files, data_root)
    return None if paths[0] is None or None in paths else paths[0].parent


def _files(name: str) -> FileSet | None:
    if is_file(name):
        raise DataError(f"{name} is a file of yours; there is nothing to fetch")
    return DATASETS[resolve(name)].files


def is_file(name: str) -> bool:
    """Tell the path of an .npz file from the name of a dataset."""
    return name.endswith(".npz")


def resolve(name: str) -> str:
    """Turn a name as people write it into a key of `DATASETS`; the path of an .npz file is its own.

    Raises:
        DataError: there is no such dataset; the message names the nearest.
    """
    if is_file(name):
        return name
    wanted = name.strip().lower().replace("_", "-")
    keys = {key.replace("_", "-"): key for key in DATASETS}
    if wanted in keys:
        return keys[wanted]
    near = difflib.get_close_matches(wanted, keys, n=1)
    hint = f"did you mean {keys[near[0]]!r}?" if near else f"there are {', '.join(DATASETS)};"
    raise DataError(f"unknown dataset {name!r}; {hint} `graphmix data list` shows all")
