"""From a name to a graph and its split."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from graphmix.data.datasets import benchmark, catalogue, planetoid, ratings, sources
from graphmix.data.datasets.catalogue import DATASETS, DatasetInfo, is_file, resolve, where
from graphmix.data.datasets.npz import read_npz
from graphmix.data.datasets.sources import Report
from graphmix.data.datasets.synthetic import synthetic
from graphmix.data.dual_graph import dual
from graphmix.data.graph import Graph
from graphmix.data.split import Split
from graphmix.data.split_names import PUBLIC, check_split_name
from graphmix.data.splits import make_split
from graphmix.errors import DataError
from graphmix.limits import USUAL, Limits


class Dataset(NamedTuple):
    """A graph and a split of it."""

    graph: Graph
    split: Split


def load(
    name: Path | str,
    *,
    split: Path | str | None = None,
    seeds: Sequence[int] = (0,),
    data_root: Path | str | None = None,
    report: Report | None = None,
    limit: Limits = USUAL,
) -> Dataset:
    """Load a dataset with row-normalised features and a split. Missing files are downloaded.

    Args:
        name: a key of `DATASETS`, in upper or lower case, with `-` or `_`; or the path of an .npz file (`read_npz`).
        split: a name that `make_split` knows, or the path of an .npz file that `Split.save` wrote; default: the
            dataset's usual split.
        seeds: one per split to draw; not used for a public or saved split.
        data_root: the folder to look in first, in place of the one `GRAPHMIX_DATA` names.
        report: called with a line of text when something slow begins.
        limit: how large .npz files may be.

    Raises:
        SourceUnavailable: a file is missing and cannot be downloaded.
        DataError: there is no such dataset or split; or a file is not the official one.
    """
    name = str(name)
    key = resolve(name)
    info = DATASETS.get(key)
    rule = str(split or (info.split if info else PUBLIC))
    saved = Split.load(rule, limit) if is_file(rule) else None
    if saved is None:
        check_split_name(rule)
    graph, public = read_npz(Path(name), limit) if info is None else _read(key, info, data_root, report)
    masks = saved or make_split(rule, graph, seeds, info.sizes if info else None, public)
    masks.check(graph)
    return Dataset(graph, masks)


def _read(
    key: str, info: DatasetInfo, data_root: Path | str | None, report: Report | None
) -> tuple[Graph, Split | None]:
    contents = {} if info.files is None else sources.read(info.files, data_root, report)
    try:
        graph, public = READERS[info.format](contents, key)
        _check_sizes(graph, info)
    except DataError as error:
        advice = f"put the official file into {where(key, data_root)}"
        raise DataError(f"{error}; {advice}, or delete it there and it is downloaded again") from error
    return (replace(graph, class_names=info.class_names) if info.class_names else graph), public


def _check_sizes(graph: Graph, info: DatasetInfo) -> None:
    """Raise a DataError unless a graph has the published sizes: the only check where no SHA-256 is known."""
    found = (graph.num_nodes, graph.num_edges, graph.num_features, graph.num_classes)
    known = (info.nodes, info.edges, info.features, info.classes)
    for what, here, there in zip(("nodes", "edges", "features", "classes"), found, known, strict=True):
        if here != there:
            raise DataError(f"the file of {info.title} here gives {here:,} {what}, but there are {there:,}")


def _planetoid(contents: Mapping[str, bytes], name: str) -> tuple[Graph, Split]:
    raw = planetoid.parse(contents)
    return Graph.build(raw.x, raw.edges, raw.y, name=name), Split.build(raw.train, raw.val, raw.test, name=PUBLIC)


def _coauthor(contents: Mapping[str, bytes], name: str) -> tuple[Graph, None]:
    return Graph.build(*benchmark.parse(contents), name=name), None


def _amazon(contents: Mapping[str, bytes], name: str) -> tuple[Graph, None]:
    return Graph.build(*benchmark.parse_either(contents), name=name), None


def _cora_full(contents: Mapping[str, bytes], name: str) -> tuple[Graph, None]:
    return Graph.build(*benchmark.keep_large(benchmark.parse(contents)), name=name), None


def _ratings(contents: Mapping[str, bytes], name: str) -> tuple[Graph, None]:
    raw = ratings.parse(contents)
    return dual(raw.links, raw.num_users, raw.y, name=name, class_names=ratings.CLASS_NAMES), None


def _synthetic(contents: Mapping[str, bytes], name: str) -> tuple[Graph, Split]:
    return synthetic()


# Each builds the graph, and the split where one comes with the data, from the files' contents and a name.
READERS: dict[str, Callable[[Mapping[str, bytes], str], tuple[Graph, Split | None]]] = {
    catalogue.PLANETOID: _planetoid,
    catalogue.COAUTHOR: _coauthor,
    catalogue.AMAZON: _amazon,
    catalogue.CORA_FULL: _cora_full,
    catalogue.RATINGS: _ratings,
    catalogue.SYNTHETIC: _synthetic,
}
