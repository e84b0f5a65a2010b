"""The graphs of benchmarks/wild.py, and which of their labels are known in a draw.

Every graph comes with all labels. A draw hides all but a few; the hidden ones are the test nodes.
"""

import csv
import hashlib
import io
import os
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from graphmix import Columns, Graph, load
from graphmix.data.checks import UNKNOWN
from graphmix.sparse import SparseMatrix
from graphmix.workflow.problems import read_problem
from wild_names import BY_CLASS, COUNTIES, labels_a_class

LOADED = ("cora", "citeseer", "pubmed", "coauthor-cs")
# Their features are columns of a table; all others have words.
WITH_COLUMNS = ("counties", "minesweeper")
COUNTIES_LABEL = "winner_2016"
# Five folds need a label to train on, one to select by and one to hold out.
FEWEST = 3
Ints = NDArray[np.int64]


class Draw(NamedTuple):
    """Which labels are known: a graph, "few" or "many" a class, drawn by "class" or from "any", and a number."""

    graph: str
    amount: str
    drawn: str
    number: int

    @property
    def per_class(self) -> int:
        """Labels a class; drawn regardless of class, as many in all."""
        return labels_a_class(self.graph, self.amount)

    def known(self, y: Ints) -> Ints:
        """Return the nodes whose labels are known, in ascending order."""
        name = f"{self.graph} {self.per_class} {self.drawn} {self.number}"
        seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little")
        rng = np.random.default_rng(seed)
        return (draw_by_class if self.drawn == BY_CLASS else draw_any)(y, self.per_class, rng)


@dataclass(frozen=True, eq=False)
class Case:
    """A graph with all its labels.

    Attributes:
        graph: features and edges as every system gets them; of counties, as the library encodes the table.
        y: int64 `[nodes]`, every label; -1 for the few nodes of Citeseer that have none.
        classes: the names of the classes.
        tables: of counties, the rows of the table of nodes and the path of the table of edges.
    """

    graph: Graph
    y: Ints
    classes: tuple[str, ...]
    tables: tuple[list[dict[str, str]], Path] | None = None

    @property
    def features(self) -> scipy.sparse.csr_matrix | NDArray[np.float32]:
        """Features float32 `[nodes, features]`."""
        x = self.graph.x
        return x.to_scipy() if isinstance(x, SparseMatrix) else x.numpy()


def draw_by_class(y: Ints, per_class: int, rng: np.random.Generator) -> Ints:
    """Draw as many nodes of every class."""
    own = [rng.choice(np.flatnonzero(y == label), per_class, replace=False) for label in np.unique(y[y >= 0])]
    return np.sort(np.concatenate(own))


def draw_any(y: Ints, per_class: int, rng: np.random.Generator) -> Ints:
    """Draw `per_class` × classes nodes regardless of class, but at least three of each class.

    The nodes are put in a random order and the first are taken. While a class has fewer than three, its next node in
    that order replaces the last one taken of a class that has more than three.
    """
    order = rng.permutation(np.flatnonzero(y >= 0))
    classes = np.unique(y[order]).tolist()
    count = per_class * len(classes)
    taken, rest = order[:count].tolist(), order[count:].tolist()
    held = Counter(y[taken].tolist())
    for label in classes:
        own = (node for node in rest if y[node] == label)
        while held[label] < FEWEST:
            given_up = next(node for node in reversed(taken) if held[y[node].item()] > FEWEST)
            taken.remove(given_up)
            taken.append(next(own))
            held[y[given_up].item()] -= 1
            held[label] += 1
    return np.sort(np.array(taken))


@lru_cache(maxsize=1)
def load_case(name: str, data: Path) -> Case:
    """Read a graph of the suite from the folder of datasets."""
    if name == COUNTIES:
        return _counties(data / "Wild" / COUNTIES)
    graph = load(name, data_root=data).graph if name in LOADED else _wild(data / "Wild" / f"{name}.npz")
    return Case(graph, graph.y.numpy(), tuple(map(str, range(graph.num_classes))))


def _wild(path: Path) -> Graph:
    with np.load(path, allow_pickle=False) as held:
        parts = (held["x_data"], held["x_indices"], held["x_indptr"])
        x = scipy.sparse.csr_matrix(parts, shape=tuple(held["x_shape"].tolist()))
        return Graph.build(x, held["edges"].astype(np.int64), held["y"].astype(np.int64), name=path.stem)


def _counties(folder: Path) -> Case:
    with (folder / "counties.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    names = [row[COUNTIES_LABEL] for row in rows]
    classes = tuple(sorted(set(names)))
    y = np.array([classes.index(name) for name in names])
    # Encoders see the columns, never the labels.
    graph = read_problem(
        folder / "counties.csv", folder / "borders.csv", Columns(label=COUNTIES_LABEL), ignore_unknown=True
    ).graph
    return Case(graph, y, classes, (rows, folder / "borders.csv"))


def hidden_table(case: Case, known: Ints) -> str:
    """Write the table of nodes as CSV, labels that are not known left empty and all else as it is."""
    assert case.tables is not None
    rows, labeled = case.tables[0], set(known.tolist())
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    for place, row in enumerate(rows):
        writer.writerow(row if place in labeled else row | {COUNTIES_LABEL: ""})
    return stream.getvalue()


def hidden_labels(case: Case, known: Ints) -> Ints:
    """Return the labels that are known, and -1."""
    y = np.full(len(case.y), UNKNOWN)
    y[known] = case.y[known]
    return y


def data_folder(given: Path | None) -> Path:
    """Return the folder of datasets: as given, or what GRAPHMIX_DATA names."""
    if given is None and "GRAPHMIX_DATA" not in os.environ:
        raise SystemExit("name the folder of datasets: --data FOLDER, or GRAPHMIX_DATA")
    return given or Path(os.environ["GRAPHMIX_DATA"])
