"""Write the tables of a large graph, to time `graphmix fit` with.

    python benchmarks/large_tables.py FOLDER [--nodes 200000 --edges 1000000 --features 50 --classes 5 --seed 0]
        [--format parquet]

writes nodes.csv (id, f0 …, label: 20 of each class, all others empty), edges.csv (source, target; seven in ten join two
nodes of one class) and answers.csv (id, label of all nodes); or nodes and edges as Parquet files. Ids are strings in
random order. A node's features are its class's centre plus noise, so strong that a classifier on these labels and
features is right for six nodes in ten. Tables are written in pieces of a million rows: 10 million nodes with 50
features and 100 million edges take 3 GiB of memory.
"""

import argparse
import contextlib
import math
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pyarrow import csv

HOMOPHILY = 0.7
LABELS_PER_CLASS = 20
# Distance of two classes' centres, in standard deviations of the noise. A logistic regression on the defaults has
# 61 % from the 100 known labels, 79 % from 20,000.
DISTANCE = 2.8
PIECE = 1_000_000
FORMATS = ("csv", "parquet")


def main() -> None:
    """Write the tables and print how long it took."""
    options = parse()
    started = time.perf_counter()
    write_tables(
        options.folder,
        options.nodes,
        options.edges,
        features=options.features,
        classes=options.classes,
        seed=options.seed,
        ending=options.format,
    )
    print(f"{options.folder}: {options.nodes:,} nodes, {options.edges:,} edges, {time.perf_counter() - started:.1f} s")


def write_tables(
    folder: Path, nodes: int, edges: int, *, features: int = 50, classes: int = 5, seed: int = 0, ending: str = "csv"
) -> None:
    """Write the three tables into a folder; `ending` is that of their names."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(nodes) % classes).astype(np.int32)
    numbers = rng.permutation(nodes)
    labeled = draw_labeled(rng, y, classes)
    centres = draw_centres(rng, features, classes)
    with (
        open_table(folder / f"nodes.{ending}") as write_nodes,
        open_table(folder / "answers.csv") as write_answers,
    ):
        for start in range(0, nodes, PIECE):
            own = slice(start, start + PIECE)
            x = draw_features(rng, y[own], centres)
            ids, names = named("n", numbers[own]), named("class ", y[own])
            columns = {f"f{place}": pa.array(column) for place, column in enumerate(x.T)}
            known = pc.if_else(pa.array(labeled[own]), names, None)
            write_nodes(pa.table({"id": ids, **columns, "label": known}))
            write_answers(pa.table({"id": ids, "label": names}))
    by_class = np.argsort(y, kind="stable")
    with open_table(folder / f"edges.{ending}") as write_edges:
        for start in range(0, edges, PIECE):
            source, target = draw_edges(rng, y, min(PIECE, edges - start), classes, by_class)
            write_edges(pa.table({"source": named("n", numbers[source]), "target": named("n", numbers[target])}))


@contextlib.contextmanager
def open_table(path: Path) -> Iterator[Callable[[pa.Table], None]]:
    """Open a CSV or Parquet file, by its ending; yield a function that writes the next piece of the table."""
    writer: Any = None

    def write(piece: pa.Table) -> None:
        nonlocal writer
        if writer is None:
            make = pq.ParquetWriter if path.suffix == ".parquet" else csv.CSVWriter
            writer = make(path, piece.schema)
        writer.write_table(piece)

    try:
        yield write
    finally:
        if writer is not None:
            writer.close()


def named(start: str, numbers: NDArray[Any]) -> pa.Array:
    """Return texts such as `n17`."""
    return pc.binary_join_element_wise(start, pa.array(numbers).cast(pa.string()), "")


def draw_centres(
    rng: np.random.Generator, features: int, classes: int, distance: float = DISTANCE
) -> NDArray[np.float32]:
    """A centre for each class: `[classes, features]`."""
    # Directions drawn at random are nearly at right angles, so any two centres are √2 times their length apart.
    centres = rng.standard_normal((classes, features))
    centres *= distance / math.sqrt(2) / np.linalg.norm(centres, axis=1, keepdims=True)
    return centres.astype(np.float32)


def draw_features(rng: np.random.Generator, y: NDArray[np.int32], centres: NDArray[np.float32]) -> NDArray[np.float32]:
    """The centre of each node's class and noise around it: `[nodes, features]`, rounded to three places."""
    noise = rng.standard_normal((len(y), centres.shape[1]), dtype=np.float32)
    drawn: NDArray[np.float32] = (noise + centres[y]).round(3)
    return drawn


def draw_labeled(rng: np.random.Generator, y: NDArray[np.int32], classes: int) -> NDArray[np.bool_]:
    """Which nodes' labels are known: bool `[nodes]`, the same number of each class."""
    labeled = np.zeros(len(y), dtype=np.bool_)
    for label in range(classes):
        labeled[rng.permutation(np.flatnonzero(y == label))[:LABELS_PER_CLASS]] = True
    return labeled


def draw_edges(
    rng: np.random.Generator,
    y: NDArray[np.int32],
    edges: int,
    classes: int,
    by_class: NDArray[np.int64],
    near: float = HOMOPHILY,
) -> NDArray[np.int64]:
    """Node pairs `[2, edges]`; repeats and loops are kept, since a large graph has few.

    `by_class` sorts the nodes; `near` is the share of edges inside a class.
    """
    source = rng.integers(len(y), size=edges)
    # If the edge leaves the class, all other classes are equally likely.
    away = rng.integers(1, max(classes, 2), size=edges) * (rng.random(edges) >= near)
    wanted = (y[source] + away) % classes
    count = np.bincount(y, minlength=classes)
    start = np.cumsum(count) - count
    pairs: NDArray[np.int64] = np.stack([source, by_class[start[wanted] + rng.integers(count[wanted])]])
    return pairs


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--nodes", type=int, default=200_000)
    parser.add_argument("--edges", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=50)
    parser.add_argument("--classes", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--format", choices=FORMATS, default=FORMATS[0])
    options = parser.parse_args()
    if options.nodes < (LABELS_PER_CLASS + 1) * options.classes or options.classes < 2 or options.features < 1:
        least = (LABELS_PER_CLASS + 1) * max(options.classes, 2)
        parser.error(f"at least 2 classes, 1 feature and, for so many classes, {least} nodes are needed")
    return options


if __name__ == "__main__":
    main()
