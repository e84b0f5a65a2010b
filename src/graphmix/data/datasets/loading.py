"""From a name to a graph and its split."""

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from graphmix.data.datasets import benchmark, planetoid, ratings, sources
from graphmix.data.datasets.npz import read_npz
from graphmix.data.datasets.sources import FileSet, Report
from graphmix.data.datasets.synthetic import synthetic
from graphmix.data.dual_graph import dual
from graphmix.data.graph import Graph
from graphmix.data.split import Split
from graphmix.data.splits import PUBLIC, Sizes, check_split_name, make_split
from graphmix.errors import DataError


class Dataset(NamedTuple):
    """A graph and the split it is usually judged on."""

    graph: Graph
    split: Split


def _planetoid(contents: Mapping[str, bytes], name: str) -> tuple[Graph, Split]:
    raw = planetoid.parse(contents)
    return Graph.build(raw.x, raw.edges, raw.y, name=name), Split.build(raw.train, raw.val, raw.test, name=PUBLIC)


def _coauthor(contents: Mapping[str, bytes], name: str) -> tuple[Graph, None]:
    return Graph.build(*benchmark.parse(contents), name=name), None


def _cora_full(contents: Mapping[str, bytes], name: str) -> tuple[Graph, None]:
    return Graph.build(*benchmark.keep_large(benchmark.parse(contents)), name=name), None


def _bitcoin(contents: Mapping[str, bytes], name: str) -> tuple[Graph, None]:
    raw = ratings.parse(contents)
    return dual(raw.links, raw.num_users, raw.y, name=name, class_names=ratings.CLASS_NAMES), None


def _synthetic(contents: Mapping[str, bytes], name: str) -> tuple[Graph, Split]:
    return synthetic()


@dataclass(frozen=True)
class DatasetInfo:
    """What is known about a dataset without loading it.

    Attributes:
        title: its name in print.
        nodes: how many nodes it has; where links are classified, how many links.
        edges: undirected, without self-loops and repeats.
        features: how many features a node has.
        classes: how many classes there are.
        source: who made it.
        description: what the nodes, edges and labels are, in one line.
        read: makes the graph, and the split where one comes with the data, of the files' contents and a name.
        files: what it is read from; None when it is made on the spot.
        task: what is classified, "nodes" or "links"; links are the nodes of a dual graph.
        split: the split it is usually judged on, a name that `make_split` knows.
        sizes: how many nodes its public or random split trains on, selects by and tests on, where that is settled.
    """

    title: str
    nodes: int
    edges: int
    features: int
    classes: int
    source: str
    description: str
    read: Callable[[Mapping[str, bytes], str], tuple[Graph, Split | None]]
    files: FileSet | None = None
    task: str = "nodes"
    split: str = PUBLIC
    sizes: Sizes | None = None


DATASETS: dict[str, DatasetInfo] = {
    "cora": DatasetInfo(
        title="Cora",
        nodes=2708,
        edges=5278,
        features=1433,
        classes=7,
        source="Planetoid (Yang et al., 2016)",
        description="Machine-learning papers, joined by citations; words as features, topics as classes.",
        read=_planetoid,
        files=planetoid.CORA,
        sizes=(140, 500, 1000),
    ),
    "citeseer": DatasetInfo(
        title="Citeseer",
        nodes=3327,
        edges=4552,
        features=3703,
        classes=6,
        source="Planetoid (Yang et al., 2016)",
        description="Computer-science papers, joined by citations; words as features, fields as classes.",
        read=_planetoid,
        files=planetoid.CITESEER,
        sizes=(120, 500, 1000),
    ),
    "pubmed": DatasetInfo(
        title="Pubmed",
        nodes=19717,
        edges=44324,
        features=500,
        classes=3,
        source="Planetoid (Yang et al., 2016)",
        description="Papers on diabetes, joined by citations; TF-IDF words as features, types as classes.",
        read=_planetoid,
        files=planetoid.PUBMED,
        sizes=(60, 500, 1000),
    ),
    "cora-full": DatasetInfo(
        title="Cora-Full",
        nodes=18703,
        edges=62421,
        features=8710,
        classes=67,
        source="Bojchevski and Günnemann (2018), cleaned as in Shchur et al. (2018)",
        description="Papers of computer science, joined by citations; words as features, topics as classes.",
        read=_cora_full,
        files=benchmark.CORA_FULL,
        split="benchmark",
    ),
    "coauthor-cs": DatasetInfo(
        title="Coauthor-CS",
        nodes=18333,
        edges=81894,
        features=6805,
        classes=15,
        source="Shchur et al. (2018)",
        description="Authors in computer science, joined by papers; their keywords as features, fields as classes.",
        read=_coauthor,
        files=benchmark.COAUTHOR_CS,
        split="benchmark",
    ),
    "coauthor-physics": DatasetInfo(
        title="Coauthor-Physics",
        nodes=34493,
        edges=247962,
        features=8415,
        classes=5,
        source="Shchur et al. (2018)",
        description="Authors in physics, joined by papers; their keywords as features, fields as classes.",
        read=_coauthor,
        files=benchmark.COAUTHOR_PHYSICS,
        split="benchmark",
    ),
    "bitcoin-alpha": DatasetInfo(
        title="Bitcoin Alpha",
        nodes=3821,
        edges=98161,
        features=3783,
        classes=2,
        source="SNAP (Kumar et al., 2016)",
        description="Strong ratings, joined by shared users; the two users as features, trust or distrust as classes.",
        read=_bitcoin,
        files=ratings.BITCOIN_ALPHA,
        task="links",
        split="random",
        sizes=(100, 500, 3221),
    ),
    "bitcoin-otc": DatasetInfo(
        title="Bitcoin OTC",
        nodes=6547,
        edges=226356,
        features=5881,
        classes=2,
        source="SNAP (Kumar et al., 2016)",
        description="Strong ratings, joined by shared users; the two users as features, trust or distrust as classes.",
        read=_bitcoin,
        files=ratings.BITCOIN_OTC,
        task="links",
        split="random",
        sizes=(100, 500, 5947),
    ),
    "synthetic": DatasetInfo(
        title="Synthetic",
        nodes=1000,
        edges=2482,
        features=500,
        classes=4,
        source="made on the spot from seed 0",
        description="Communities that mostly link to their own; words as features, communities as classes.",
        read=_synthetic,
        sizes=(80, 306, 614),
    ),
}


def load(
    name: Path | str,
    *,
    split: Path | str | None = None,
    seeds: Sequence[int] = (0,),
    data_root: Path | str | None = None,
    report: Report | None = None,
) -> Dataset:
    """Load a dataset with row-normalised features and a split, downloading it if need be.

    Args:
        name: a key of `DATASETS`; case does not matter, nor `-` for `_`. Or the path of an .npz file (`read_npz`).
        split: a name that `make_split` knows, or the path of an .npz file that `Split.save` wrote; the dataset's
            usual one when not given.
        seeds: one per split to draw; a public or saved split needs none.
        data_root: the folder to look in first, in place of the one `GRAPHMIX_DATA` names.
        report: called with a line of text when something slow begins.

    Raises:
        SourceUnavailable: the files are not here and cannot be had.
        DataError: there is no such dataset or split, or a file is not the official one, or gives other sizes.
    """
    name = str(name)
    key = resolve(name)
    info = DATASETS.get(key)
    rule = str(split or (info.split if info else PUBLIC))
    saved = Split.load(rule) if is_file(rule) else None
    if saved is None:
        check_split_name(rule)
    graph, public = read_npz(Path(name)) if info is None else _read(key, info, data_root, report)
    masks = saved or make_split(rule, graph, seeds, info.sizes if info else None, public)
    masks.check(graph)
    return Dataset(graph, masks)


def _read(
    key: str, info: DatasetInfo, data_root: Path | str | None, report: Report | None
) -> tuple[Graph, Split | None]:
    contents = {} if info.files is None else sources.read(info.files, data_root, report)
    try:
        graph, public = info.read(contents, key)
        _check_sizes(graph, info)
    except DataError as error:
        advice = f"put the official file into {where(key, data_root)}"
        raise DataError(f"{error}; {advice}, or delete it there to have it downloaded") from error
    return graph, public


def _check_sizes(graph: Graph, info: DatasetInfo) -> None:
    """Hold a graph to its published sizes: where no SHA-256 is known, this tells the official file from another."""
    found = (graph.num_nodes, graph.num_edges, graph.num_features, graph.num_classes)
    known = (info.nodes, info.edges, info.features, info.classes)
    for what, here, there in zip(("nodes", "edges", "features", "classes"), found, known, strict=True):
        if here != there:
            raise DataError(f"the file of {info.title} here gives {here:,} {what}, but there are {there:,}")


def get(name: str, data_root: Path | str | None = None, report: Report | None = None) -> list[Path]:
    """Make sure that a dataset's files are on this machine, checked where a SHA-256 is known, and return where.

    Arguments and errors are those of `load`; a dataset made on the spot has no files.
    """
    files = _files(name)
    return [] if files is None else sources.fetch(files, data_root, report)


def has_checksums(name: str) -> bool:
    """Whether a SHA-256 is known of every file of a dataset."""
    files = _files(name)
    return files is None or all(file.sha256 is not None for file in files.files)


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
