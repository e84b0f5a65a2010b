"""Models of tables as candidates of a fit: they read a graph as rows, a node's own features and its neighbours' means.

They take graphs, not rows: rows depend on what was learned from the features of all nodes of the graph they were fitted
on, which is stored with the model (`neighbour_means.Columns`), and are computed once per graph.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Protocol, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphmix.baselines.forest import Forest
from graphmix.baselines.linear import Linear
from graphmix.data import Graph, Split
from graphmix.data.folds import FOLDS


class Tabular(Protocol):
    """A model of rows, as arrays.

    Attributes:
        points: the settings to choose among by held-out labels, such as the strength of a penalty; one if there is
            nothing to choose.
    """

    points: ClassVar[tuple[float, ...]]

    @classmethod
    def fit(
        cls, graph: Graph, labeled: NDArray[np.bool_], points: Sequence[float], *, seed: int, balanced: bool
    ) -> list[Self]:
        """Fit a model for each point, whichever others there are.

        Args:
            graph: the graph; the features and edges of all nodes are used.
            labeled: bool `[nodes]`, the nodes whose labels are used; at least one.
            points: settings, such as `cls.points`.
            seed: seed of what is random.
            balanced: whether all classes count the same, however many labels they have.
        """

    def predict(self, graph: Graph, nodes: NDArray[np.int64] | None = None) -> NDArray[np.float64]:
        """Predict all nodes of a graph, or the `[n]` given: float64 `[n, classes]`, rows sum to 1, never 0 or NaN."""

    def support(self, graph: Graph, nodes: NDArray[np.int64], labels: NDArray[np.int64]) -> NDArray[np.float64]:
        """Say how far each label speaks for a class at a node, by any unit: `[n, labeled]`, in the order of the nodes.

        Args:
            graph: the graph of the fit, with the labels it was fitted to.
            nodes: int64 `[n]`.
            labels: int64 `[n]`, a class for each.
        """

    def tensors(self) -> dict[str, Tensor]:
        """Return the arrays by name, for a file."""

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, Tensor], features: int, classes: int) -> Self:
        """Read back what `tensors` returned.

        Raises:
            ValueError: a tensor is missing or damaged.
        """


TABULAR: dict[str, type[Tabular]] = {"logistic-regression": Linear, "random-forest": Forest}


def logistic_regression(
    graph: Graph, split: Split, seeds: Sequence[int], watch: Callable[[int], None] | None = None
) -> Tensor:
    """Fit `Linear` to the training labels, C chosen by folds of them: `[trials, nodes, classes]`, rows sum to 1."""
    return _predictions(Linear, graph, split, seeds, watch)


def random_forest(
    graph: Graph, split: Split, seeds: Sequence[int], watch: Callable[[int], None] | None = None
) -> Tensor:
    """Fit `Forest` to the training labels: `[trials, nodes, classes]`, rows sum to 1."""
    return _predictions(Forest, graph, split, seeds, watch)


def choose_point(model: type[Tabular], graph: Graph, labeled: NDArray[np.bool_], *, seed: int) -> float:
    """Return the point whose models predict held-out labels with the lowest log loss.

    The labeled nodes are dealt into five folds, class by class; each fold is predicted by models of the others.
    """
    if len(model.points) == 1:
        return model.points[0]
    y = graph.y.cpu().numpy()
    nodes = np.random.Generator(np.random.PCG64(seed)).permutation(np.flatnonzero(labeled))
    nodes = nodes[np.argsort(y[nodes], kind="stable")]
    fold = np.arange(len(nodes)) % FOLDS
    losses = np.zeros(len(model.points))
    for held in (nodes[fold == one] for one in range(min(FOLDS, len(nodes)) if len(nodes) > 1 else 0)):
        rest = labeled.copy()
        rest[held] = False
        for place, fitted in enumerate(model.fit(graph, rest, model.points, seed=seed, balanced=False)):
            losses[place] -= np.log(fitted.predict(graph, held)[np.arange(len(held)), y[held]]).sum()
    return model.points[int(losses.argmin())]


def _predictions(
    model: type[Tabular], graph: Graph, split: Split, seeds: Sequence[int], watch: Callable[[int], None] | None
) -> Tensor:
    graph, train = graph.to("cpu"), split.train.cpu().numpy()
    results = []
    for trial, seed in enumerate(seeds):
        if watch is not None:
            watch(trial)
        labeled = train[trial % len(train)]
        point = choose_point(model, graph, labeled, seed=seed)
        (fitted,) = model.fit(graph, labeled, [point], seed=seed, balanced=False)
        results.append(fitted.predict(graph))
    return torch.from_numpy(np.stack(results)).float()
