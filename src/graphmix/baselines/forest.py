"""A forest of extremely randomised trees (Geurts, Ernst and Wehenkel, 2006) on the same rows as the linear model.

Thresholds are drawn at random, and every tree sees all labels. On tables with few labels that predicted better than
Breiman's forest (docs/design/0011-methods-beside-graphmix.md). scikit-learn grows the trees; they are kept as arrays.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphmix.baselines.neighbour_means import Columns, checked
from graphmix.data import Graph
from graphmix.method.balance import class_weights

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

TREES = 300
# Of the directions of wide features, the forest sees this many: with few labels a tree cuts along noise in weak ones.
_DIRECTIONS = 32
# Share of the columns among which a tree chooses each cut.
_TRIED = 0.3
_MOST_LEAVES = 1000
# Rows that walk down all trees at a time: they stay in the cache.
_AT_ONCE = 256


@dataclass(frozen=True, eq=False)
class Forest:
    """The mean over trees of the class shares in the leaf that a row comes to.

    Nodes of all trees stand one after the other, each behind its parent. A row goes left if its value in the node's
    column is at most the threshold.

    Attributes:
        columns: how a graph's features become the columns of the rows.
        starts: int64 `[trees]`, the root of each tree; increasing.
        column: int64 `[tree nodes]`, the column of a node's cut; -1 for a leaf.
        threshold: float64 `[tree nodes]`; 0 for a leaf.
        left: int64 `[tree nodes]`, where smaller values go; for a leaf its row in `shares`.
        right: int64 `[tree nodes]`, where greater values go; for a leaf its row in `shares`.
        shares: float64 `[leaves, classes]`, rows sum to 1.
        factors: float64 `[classes]`, what the mean shares are multiplied by before they are made to sum to 1 again.
    """

    columns: Columns
    starts: Ints
    column: Ints
    threshold: Floats
    left: Ints
    right: Ints
    shares: Floats
    factors: Floats

    # Nothing is chosen: leaves of at least 3 labels had a higher log loss in most trials before calibration.
    points: ClassVar[tuple[float, ...]] = (0.0,)

    @classmethod
    def fit(
        cls, graph: Graph, labeled: NDArray[np.bool_], points: Sequence[float], *, seed: int, balanced: bool
    ) -> list[Self]:
        """Grow a forest; the same one for each point. See `Tabular.fit`.

        Class weights hardly change trees whose leaves hold one class each. So a balanced forest is the same forest, and
        its shares are divided by the shares of the labels: by Bayes' rule, what equally frequent classes would have.
        """
        from sklearn.ensemble import ExtraTreesClassifier

        graph = graph.to("cpu")
        columns = graph.derived(_few_columns)
        rows, y = graph.derived(columns.rows)[labeled], graph.y.numpy()[labeled]
        # Fewer labels cannot have more leaves. Trees grown leaf by leaf take longer.
        most = _MOST_LEAVES if len(y) > _MOST_LEAVES else None
        # A tree has its own seed, so the number of threads changes nothing.
        forest = ExtraTreesClassifier(
            TREES,
            max_features=_TRIED,
            max_leaf_nodes=most,
            random_state=seed % 2**32,
            n_jobs=torch.get_num_threads(),
        ).fit(rows, y)
        # As if one more label were spread evenly over the classes: no class is impossible.
        doubt = 1 / (len(y) + 1)
        flat = flatten([one.tree_ for one in forest.estimators_], forest.classes_, graph.num_classes)
        flat["shares"] = (1 - doubt) * flat["shares"] + doubt / graph.num_classes
        factors = np.ones(graph.num_classes)
        if balanced:
            weights = class_weights(graph.y[labeled], graph.num_classes).double().numpy()
            factors = np.where(weights > 0, weights, factors)
        return [cls(columns, **flat, factors=factors)] * len(points)

    def predict(self, graph: Graph, nodes: Ints | None = None) -> Floats:
        """Predict all nodes or those given. See `Tabular.predict`."""
        rows = graph.to("cpu").derived(self.columns.rows)
        return self.of_rows(rows if nodes is None else rows[nodes])

    def of_rows(self, rows: NDArray[np.float32]) -> Floats:
        """Return the probabilities of rows `[rows, row width]`: `[rows, classes]`."""
        means = np.empty((len(rows), self.shares.shape[1]))
        for start in range(0, len(rows), _AT_ONCE):
            part = rows[start : start + _AT_ONCE]
            means[start : start + _AT_ONCE] = self.shares[self._leaves(part)].mean(axis=1)
        means *= self.factors
        means /= means.sum(axis=1, keepdims=True)
        return means

    def support(self, graph: Graph, nodes: Ints, labels: Ints) -> Floats:
        """Say which labels the share of a class at a node is made of: `[nodes, labeled]`. See `Tabular.support`.

        In each tree the share is that of the class among the labels in the node's leaf.
        """
        graph = graph.to("cpu")
        rows, y = graph.derived(self.columns.rows), graph.y.numpy()
        labeled = np.flatnonzero(y >= 0)
        theirs, mine = self._leaves(rows[labeled]), self._leaves(rows[nodes])
        held = np.bincount(theirs.ravel(), minlength=len(self.shares))
        support = np.empty((len(nodes), len(labeled)))
        for place, leaves in enumerate(mine):
            support[place] = ((theirs == leaves) / np.maximum(held[leaves], 1)).mean(axis=1)
        return np.where(y[labeled] == labels[:, None], support, 0)

    def _leaves(self, rows: NDArray[np.float32]) -> Ints:
        """Return the leaf that each row comes to in each tree, as rows of `shares`: int64 `[rows, trees]`."""
        at = np.tile(self.starts, len(rows))
        row = np.repeat(np.arange(len(rows)), len(self.starts))
        walking = np.flatnonzero(self.column[at] >= 0)
        while len(walking):
            here = at[walking]
            goes_left = rows[row[walking], self.column[here]] <= self.threshold[here]
            at[walking] = here = np.where(goes_left, self.left[here], self.right[here])
            walking = walking[self.column[here] >= 0]
        return self.left[at].reshape(len(rows), len(self.starts))

    def tensors(self) -> dict[str, Tensor]:
        """Return the arrays by name, for a file."""
        own = {name: getattr(self, name) for name in _DTYPES}
        return self.columns.tensors() | {name: torch.from_numpy(array) for name, array in own.items()}

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, Tensor], features: int, classes: int) -> Self:
        """Read back what `tensors` returned. See `Tabular.from_tensors`."""
        columns = Columns.from_tensors(tensors, features)
        arrays = {name: checked(tensors, name, dtype) for name, dtype in _DTYPES.items()}
        size = arrays["column"].shape
        if len(size) != 1 or any(arrays[name].shape != size for name in ("threshold", "left", "right")):
            raise ValueError("the trees' arrays differ in length")
        shares = arrays["shares"]
        if shares.ndim != 2 or shares.shape[1] != classes or (shares < 0).any():
            raise ValueError(f"the leaves do not hold shares of {classes:,} classes")
        if not np.allclose(shares.sum(axis=1), 1):
            raise ValueError("the shares of a leaf do not sum to 1")
        if arrays["factors"].shape != (classes,) or (arrays["factors"] <= 0).any():
            raise ValueError(f"'factors' are not positive numbers of {classes:,} classes")
        _check_trees(arrays, columns.width(features))
        return cls(columns, **arrays)


_DTYPES = {
    "starts": torch.int64,
    "column": torch.int64,
    "threshold": torch.float64,
    "left": torch.int64,
    "right": torch.int64,
    "shares": torch.float64,
    "factors": torch.float64,
}


def flatten(trees: Sequence[Any], known: Ints, classes: int) -> dict[str, NDArray[Any]]:
    """Put scikit-learn's trees, over the `known` classes, one after the other: the arrays of `Forest` by name."""
    sizes = np.array([tree.node_count for tree in trees])
    starts = np.cumsum(sizes) - sizes
    offset = np.repeat(starts, sizes)
    joined = {
        name: np.concatenate([getattr(tree, name) for tree in trees])
        for name in ("feature", "threshold", "children_left", "children_right")
    }
    leaf = joined["children_left"] < 0
    place = np.cumsum(leaf) - 1
    counts = np.concatenate([tree.value[:, 0] for tree in trees])[leaf]
    shares = np.zeros((len(counts), classes))
    shares[:, known] = counts / counts.sum(axis=1, keepdims=True)
    return {
        "starts": starts.astype(np.int64),
        "column": np.where(leaf, -1, joined["feature"]).astype(np.int64),
        "threshold": np.where(leaf, 0.0, joined["threshold"]),
        "left": np.where(leaf, place, joined["children_left"] + offset).astype(np.int64),
        "right": np.where(leaf, place, joined["children_right"] + offset).astype(np.int64),
        "shares": shares,
    }


def _few_columns(graph: Graph) -> Columns:
    columns = graph.derived(Columns.learn)
    if columns.basis is None:
        return columns
    return replace(columns, basis=np.ascontiguousarray(columns.basis[:, :_DIRECTIONS]))


def _check_trees(arrays: Mapping[str, NDArray[Any]], width: int) -> None:
    """Raise ValueError unless every walk from a root ends at a leaf of the same tree."""
    starts, column, left, right = (arrays[name] for name in ("starts", "column", "left", "right"))
    nodes = np.arange(len(column))
    if starts.ndim != 1 or not len(starts) or starts[0] != 0 or (np.diff(starts) < 1).any() or starts[-1] >= len(nodes):
        raise ValueError("the trees do not start one after the other")
    if (column < -1).any() or (column >= width).any():
        raise ValueError(f"a tree has a column that is not one of {width:,}")
    leaf = column < 0
    end = np.repeat(np.append(starts[1:], len(nodes)), np.diff(np.append(starts, len(nodes))))
    for child in (left, right):
        # Behind its parent: no walk can come back.
        if ((child <= nodes) | (child >= end))[~leaf].any():
            raise ValueError("a tree has a node whose child is not behind it in the same tree")
        if ((child < 0) | (child >= len(arrays["shares"])))[leaf].any():
            raise ValueError("a tree has a leaf without shares")
