"""Write the tables of a large graph, to time `graphmix fit` with.

    python benchmarks/large_tables.py FOLDER [--nodes 200000 --edges 1000000 --features 50 --classes 5 --seed 0]

writes nodes.csv (id, f0 …, label: 20 of each class, all others empty), edges.csv (source, target; seven in ten join two
nodes of one class) and answers.csv (id, label of all nodes). Ids are strings in random order. A node's features are its
class's centre plus noise, so strong that a classifier on these labels and features is right for six nodes in ten.
"""

import argparse
import math
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv

HOMOPHILY = 0.7
LABELS_PER_CLASS = 20
# Distance of two classes' centres, in standard deviations of the noise. A logistic regression on the defaults has
# 61 % from the 100 known labels, 79 % from 20,000.
DISTANCE = 2.8


def main() -> None:
    """Write the tables and print how long it took."""
    options = parse()
    started = time.perf_counter()
    rng = np.random.default_rng(options.seed)
    y = rng.permutation(np.arange(options.nodes) % options.classes)
    ids = np.char.add("n", rng.permutation(options.nodes).astype(str))
    names = np.char.add("class ", y.astype(str))
    options.folder.mkdir(parents=True, exist_ok=True)
    features = draw_features(rng, y, options.features, options.classes)
    columns = {"id": pa.array(ids)} | {f"f{place}": pa.array(column) for place, column in enumerate(features.T)}
    known = pa.array(names, mask=~draw_labeled(rng, y, options.classes))
    write(options.folder / "nodes.csv", columns | {"label": known})
    source, target = draw_edges(rng, y, options.edges, options.classes)
    write(options.folder / "edges.csv", {"source": pa.array(ids[source]), "target": pa.array(ids[target])})
    write(options.folder / "answers.csv", {"id": pa.array(ids), "label": pa.array(names)})
    print(f"{options.folder}: {options.nodes:,} nodes, {options.edges:,} edges, {time.perf_counter() - started:.1f} s")


def draw_features(rng: np.random.Generator, y: NDArray[np.int64], features: int, classes: int) -> NDArray[np.float32]:
    """A centre for each class and noise around it: `[nodes, features]`, rounded to three places."""
    # Directions drawn at random are nearly at right angles, so any two centres are √2 times their length apart.
    centres = rng.standard_normal((classes, features))
    centres *= DISTANCE / math.sqrt(2) / np.linalg.norm(centres, axis=1, keepdims=True)
    noise = rng.standard_normal((len(y), features), dtype=np.float32)
    drawn: NDArray[np.float32] = (noise + centres.astype(np.float32)[y]).round(3)
    return drawn


def draw_labeled(rng: np.random.Generator, y: NDArray[np.int64], classes: int) -> NDArray[np.bool_]:
    """Which nodes' labels are known: bool `[nodes]`, the same number of each class."""
    labeled = np.zeros(len(y), dtype=np.bool_)
    for label in range(classes):
        labeled[rng.permutation(np.flatnonzero(y == label))[:LABELS_PER_CLASS]] = True
    return labeled


def draw_edges(rng: np.random.Generator, y: NDArray[np.int64], edges: int, classes: int) -> NDArray[np.int64]:
    """Node pairs `[2, edges]`; repeats and loops are kept, since a large graph has few."""
    source = rng.integers(len(y), size=edges)
    # If the edge leaves the class, all other classes are equally likely.
    away = rng.integers(1, max(classes, 2), size=edges) * (rng.random(edges) >= HOMOPHILY)
    wanted = (y[source] + away) % classes
    by_class = np.argsort(y, kind="stable")
    count = np.bincount(y, minlength=classes)
    start = np.cumsum(count) - count
    pairs: NDArray[np.int64] = np.stack([source, by_class[start[wanted] + rng.integers(count[wanted])]])
    return pairs


def write(path: Path, columns: dict[str, pa.Array]) -> None:
    """Write a table as CSV."""
    csv.write_csv(pa.table(columns), path)


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--nodes", type=int, default=200_000)
    parser.add_argument("--edges", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=50)
    parser.add_argument("--classes", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if options.nodes < (LABELS_PER_CLASS + 1) * options.classes or options.classes < 2 or options.features < 1:
        least = (LABELS_PER_CLASS + 1) * max(options.classes, 2)
        parser.error(f"at least 2 classes, 1 feature and, for so many classes, {least} nodes are needed")
    return options


if __name__ == "__main__":
    main()
