"""Logistic regression on a node's own features and its neighbours' means."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphmix.baselines.neighbour_means import HOPS, Columns, checked
from graphmix.data import Graph

Floats = NDArray[np.float64]

_MOST_STEPS = 1000
# Tighter than scikit-learn's 1e-4, at which predictions still depend on the coordinates by a percent.
_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class Linear:
    """softmax(rows · coefficients + intercepts), the probabilities of the classes that were trained on.

    Attributes:
        columns: how a graph's features become the columns of the rows.
        coefficients: float64 `[row width, classes]`, zeros for a class that was not trained on.
        intercepts: float64 `[classes]`.
        unseen: float64 `[classes]`, the probability of each class that was not trained on; 0 for the others.
    """

    columns: Columns
    coefficients: Floats
    intercepts: Floats
    unseen: Floats

    # Values of scikit-learn's C, one over the strength of the penalty.
    points: ClassVar[tuple[float, ...]] = (0.1, 1.0, 10.0, 100.0, 1000.0)

    @classmethod
    def fit(
        cls, graph: Graph, labeled: NDArray[np.bool_], points: Sequence[float], *, seed: int, balanced: bool
    ) -> list[Self]:
        """Fit a model for each value of C; nothing is random. See `Tabular.fit`."""
        graph = graph.to("cpu")
        columns = graph.derived(Columns.learn)
        scale = graph.derived(_spread)
        y = graph.y.numpy()[labeled]
        rows = graph.derived(columns.rows)[labeled].astype(np.float64) / scale
        known = np.unique(y)
        unseen = unseen_shares(known, len(y), graph.num_classes)
        models = []
        for coefficients, intercepts in _regressions(rows, y, points, balanced):
            placed, offsets = np.zeros((rows.shape[1], graph.num_classes)), np.zeros(graph.num_classes)
            placed[:, known], offsets[known] = coefficients / scale[:, None], intercepts
            models.append(cls(columns, placed, offsets, unseen))
        return models

    def predict(self, graph: Graph, nodes: NDArray[np.int64] | None = None) -> Floats:
        """Predict all nodes or those given. See `Tabular.predict`."""
        graph = graph.to("cpu")
        rows = graph.derived(self.columns.rows)
        logits = (rows if nodes is None else rows[nodes]).astype(np.float64) @ self.coefficients + self.intercepts
        logits[:, self.unseen > 0] = -np.inf
        shares = np.exp(logits - logits.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        probabilities: Floats = (1 - self.unseen.sum()) * shares + self.unseen
        return probabilities

    def support(self, graph: Graph, nodes: NDArray[np.int64], labels: NDArray[np.int64]) -> Floats:
        """Say which labels the score of a class at a node is made of: `[nodes, labeled]`. See `Tabular.support`.

        With the penalty, coefficients are sums over the labels: w_c = C Σᵢ (yᵢ_c - pᵢ_c) rᵢ, with the rows r as they
        were scaled. So the score of class c at a row r is C Σᵢ (yᵢ_c - pᵢ_c) rᵢ·r and an intercept.
        """
        graph = graph.to("cpu")
        rows = graph.derived(self.columns.rows).astype(np.float64) / graph.derived(_spread)
        y = graph.y.numpy()
        labeled = np.flatnonzero(y >= 0)
        left = (y[labeled] == labels[:, None]) - self.predict(graph, labeled)[:, labels].T
        support: Floats = left * (rows[nodes] @ rows[labeled].T)
        return support

    def tensors(self) -> dict[str, Tensor]:
        """Return the arrays by name, for a file."""
        own = {"coefficients": self.coefficients, "intercepts": self.intercepts, "unseen": self.unseen}
        return self.columns.tensors() | {name: torch.from_numpy(array) for name, array in own.items()}

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, Tensor], features: int, classes: int) -> Self:
        """Read back what `tensors` returned. See `Tabular.from_tensors`."""
        columns = Columns.from_tensors(tensors, features)
        shapes = {"coefficients": (columns.width(features), classes), "intercepts": (classes,), "unseen": (classes,)}
        arrays = {name: checked(tensors, name, torch.float64, shape) for name, shape in shapes.items()}
        check_unseen(arrays["unseen"])
        return cls(columns, **arrays)


def unseen_shares(known: NDArray[np.int64], labels: int, classes: int) -> Floats:
    """Give the classes that no label names the share of one more label, together: `[classes]`, 0 for known classes."""
    shares = np.full(classes, 1 / ((labels + 1) * max(1, classes - len(known))))
    shares[known] = 0
    return shares


def check_unseen(unseen: Floats) -> None:
    """Raise ValueError unless the shares of the classes that were not trained on can be such shares."""
    if (unseen < 0).any() or unseen.sum() >= 1 or (unseen > 0).all():
        raise ValueError("'unseen' does not hold shares of classes")


def _spread(graph: Graph) -> Floats:
    """Return what each column of the rows is divided by, from all nodes: `[row width]`.

    Columns of a table each get the same variance. Directions of a reduced basis and indicators of categories are scaled
    together, hop by hop, which keeps what is strong strong. Either way each hop has a total variance of 1.
    """
    columns = graph.derived(Columns.learn)
    variance = graph.derived(columns.rows).var(axis=0, dtype=np.float64).reshape(1 + HOPS, -1)
    total = variance.sum(axis=1, keepdims=True) if columns.alike else variance * variance.shape[1]
    # What does not vary, such as the means on a graph without edges, is left as it is.
    usual = np.where(total > 1e-12, total, 1.0)
    spread: Floats = np.sqrt(np.broadcast_to(usual, variance.shape).ravel())
    return spread


def _regressions(
    rows: Floats, y: NDArray[np.int64], points: Sequence[float], balanced: bool
) -> list[tuple[Floats, Floats]]:
    """Fit scikit-learn's LogisticRegression to rows `[labeled, width]`.

    The penalty is on the length of the coefficients, so the best ones lie in the span of the rows. If there are fewer
    rows than columns, the regression is solved for the coordinates in that span: the same optimum, far sooner.

    Returns:
        For each C, coefficients `[width, known classes]` and intercepts `[known classes]`.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from threadpoolctl import threadpool_limits

    if len(np.unique(y)) == 1:
        return [(np.zeros((rows.shape[1], 1)), np.zeros(1))] * len(points)
    # Small products, thousands of them: threads that wait for one another made them 30 times as slow on busy cores.
    with threadpool_limits(1, user_api="blas"), warnings.catch_warnings():
        # Nearly separable classes and a weak penalty can take more steps; held-out labels judge such a C anyway.
        warnings.simplefilter("ignore", ConvergenceWarning)
        span = None
        if len(rows) < rows.shape[1]:
            span, coordinates = np.linalg.qr(rows.T)
            rows = coordinates.T
        options: dict[str, Any] = {"tol": _TOLERANCE, "max_iter": _MOST_STEPS}
        if balanced:
            options["class_weight"] = "balanced"
        fitted = [LogisticRegression(C=point, **options).fit(rows, y) for point in points]
        return [of_all_classes(model.coef_.T if span is None else span @ model.coef_.T, model) for model in fitted]


def of_all_classes(coefficients: Floats, model: Any) -> tuple[Floats, Floats]:
    """Of two classes scikit-learn stores the logit of the second against the first; add zeros for the first."""
    if len(model.classes_) > 2:
        return coefficients, model.intercept_
    return np.hstack([0 * coefficients, coefficients]), np.append(0.0, model.intercept_)
