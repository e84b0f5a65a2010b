"""GraphMixClassifier: a classifier of nodes with the interface of scikit-learn."""

import inspect
import textwrap
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from graphmix.data import Graph, Split
from graphmix.data.checks import UNKNOWN
from graphmix.data.folds import fold_split
from graphmix.errors import ConfigError, DataError, RunError
from graphmix.workflow.foreign import (
    Given,
    labels_to_score,
    read_edges,
    read_graph,
    split_by_mask,
    visible_labels,
    without_ones,
)
from graphmix.workflow.frames import frame_of, in_order, numbered_edges, row_ids
from graphmix.workflow.labels import number_classes
from graphmix.workflow.mixture import Mixture
from graphmix.workflow.model import DAMAGED, TableModel, load_model
from graphmix.workflow.nodes import NodeProblem
from graphmix.workflow.outcome import find_mixture
from graphmix.workflow.parameters import estimator_options, estimator_parameters, estimator_settings
from graphmix.workflow.plan import make_plan
from graphmix.workflow.ranking import accuracy, macro_f1
from graphmix.workflow.stored_estimator import (
    describe_estimator,
    stored_classes,
    stored_feature_names,
    stored_parameters,
)

_PARAMETERS = estimator_parameters()
_NO_EDGES = (
    "X has no edges, but the fit had some: nodes are predicted by their features alone. Give edge_index, or leave X "
    "out to predict the nodes of the fit; if there are no edges, give an edge_index [2, 0]"
)


class GraphMixClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A classifier of a graph's nodes, few of which need labels: a calibrated mixture of methods.

    A parameter that is None is chosen from the size of the graph.

    Args:
        <parameters>

    Attributes:
        classes_: `[classes]`, in the order of the probabilities, of the type of y.
        n_features_in_: number of features.
        feature_names_in_: names of the features, if X was a DataFrame.
        transduction_: `[nodes]`, the class of every node of the fit: as given, or else as predicted.
        held_out_accuracy_: the share of held-out labels that are predicted correctly.
        held_out_macro_f1_: the mean F1 over the classes on held-out labels.
        temperature_: what logits are divided by; above 1 if the networks were overconfident.
        model_: the trained members, their shares and their calibration, a `Mixture`.
        graph_: the graph of the fit, a `Graph`.
        table_model_: the model that `save` writes, a `TableModel`.

    Example:
        >>> import graphmix
        >>> graph, _ = graphmix.synthetic(nodes=150, classes=3, labels_per_class=5, seed=1)
        >>> y = graph.y.numpy().copy()
        >>> y[60:] = -1
        >>> classifier = GraphMixClassifier(trials=3, epochs=20).fit(graph.x.to_scipy(), y, graph.edge_index)
        >>> classifier.predict_proba().shape
        (150, 3)
    """

    classes_: NDArray[Any]
    n_features_in_: int
    transduction_: NDArray[Any]
    held_out_accuracy_: float
    held_out_macro_f1_: float
    temperature_: float
    model_: Mixture
    graph_: Graph
    table_model_: TableModel

    def __init__(self, **parameters: Any) -> None:
        for name, default, _ in _PARAMETERS:
            setattr(self, name, parameters.pop(name, default))
        if parameters:
            raise TypeError(f"GraphMixClassifier has no parameter {next(iter(parameters))!r}")

    def fit(
        self,
        X: Any,  # noqa: N803
        y: Any = None,
        edge_index: Any = None,
        *,
        edge_weight: Any = None,
        val_mask: Any = None,
    ) -> Self:
        """Train on a graph.

        Args:
            X: features `[nodes, features]`: numpy, scipy sparse, torch, or a DataFrame whose index has the ids of the
                nodes. Or a graph with labels and edges: a PyG `Data`, whose `train_mask` and `val_mask` say which
                labels may be used, a `Graph`, or a NetworkX graph whose nodes have attributes "x" and "y".
            y: labels `[nodes]`: whole numbers, -1 or NaN for unlabeled, as in `sklearn.semi_supervised`; or strings or
                booleans, None or NaN for unlabeled. None if X has them.
            edge_index: node numbers `[2, edges]`, in one direction or both; or a sparse adjacency matrix
                `[nodes, nodes]` of weights; or a NetworkX graph with nodes in the order of X's rows; or a DataFrame of
                ids in X's index, a row for each edge, with a column `weight` or without. None for no edges.
            edge_weight: `[edges]`, the weight of each edge of an `edge_index`; a node's own features have weight 1.
            val_mask: bool `[nodes]`, the labeled nodes to choose and calibrate by; the others are trained on. Without
                it the labels are split into five folds, each is held out once, and the model is trained on all labels.

        Raises:
            DataError: the input is invalid; a ValueError, too.
            ConfigError: a parameter is out of its range; a ValueError, too.
            RunError: the loss became infinite.
        """
        self._check_parameters()
        given = read_graph(X, *numbered_edges(edge_index, edge_weight, X))
        if given.y is not None and y is not None:
            raise DataError("X is a graph with labels of its own; leave y out")
        x = self._validated(given.x, reset=True)
        classes, numbers = number_classes(*visible_labels(given, in_order(y, X), x.shape[0]))
        graph = without_ones(self._build(x, given, numbers, classes))
        val = given.val if val_mask is None else in_order(val_mask, X)
        split = None if val is None else split_by_mask(numbers, val)
        self._take(self._train(graph, split, *row_ids(X, x.shape[0])), classes)
        return self

    def predict(self, X: Any = None, edge_index: Any = None, *, edge_weight: Any = None) -> NDArray[Any]:  # noqa: N803
        """Return the most probable class of every node, `[nodes]`; arguments as for `predict_proba`."""
        probabilities = self.predict_proba(X, edge_index, edge_weight=edge_weight)
        predicted: NDArray[Any] = self.classes_[probabilities.argmax(axis=1)]
        return predicted

    def predict_proba(
        self,
        X: Any = None,  # noqa: N803
        edge_index: Any = None,
        *,
        edge_weight: Any = None,
    ) -> NDArray[np.float64]:
        """Return calibrated class probabilities of every node: `[nodes, classes]`, rows sum to 1.

        Args:
            X: features or a graph, as for `fit`: another graph, or the old one with new nodes. None for the nodes of
                the fit.
            edge_index: the edges between the rows of X, as for `fit`. Without them nodes are predicted by their
                features alone, with a warning.
            edge_weight: the weights of the edges, as for `fit`.

        Raises:
            DataError: the input is invalid, or X has other features than the fit had.
        """
        check_is_fitted(self)
        if X is None:
            if edge_index is not None or edge_weight is not None:
                raise DataError("edges need the X that they belong to; leave both out to predict the nodes of the fit")
            return self.model_.probabilities(self.graph_)
        model = self.model_.inductive()
        given = read_graph(X, *numbered_edges(edge_index, edge_weight, X))
        x = self._validated(given.x, reset=False)
        if given.edges is None and self.graph_.num_edges and any(each.uses_edges for each in model.members):
            warnings.warn(_NO_EDGES, stacklevel=2)
        graph = self._build(x, given, np.full(x.shape[0], UNKNOWN), self.classes_)
        graph = graph if self.graph_.edge_weights is not None else without_ones(graph)
        if graph.num_edges and (graph.edge_weights is None) != (self.graph_.edge_weights is None):
            had, have = ("had", "have none") if graph.edge_weights is None else ("had no", "have some")
            raise DataError(f"the edges of the fit {had} weights, but these {have}; give weights to both or to neither")
        return model.probabilities(graph)

    def predict_frame(self, X: Any = None, edge_index: Any = None, *, edge_weight: Any = None) -> Any:  # noqa: N803
        """Return predictions as a `pandas.DataFrame`, indexed by the ids of the nodes; arguments as `predict_proba`.

        It has the columns predicted, probability, and `probability of CLASS` for each class.
        """
        probabilities = self.predict_proba(X, edge_index, edge_weight=edge_weight)
        return frame_of(X, self._row_ids(), probabilities, self.classes_)

    def score(
        self,
        X: Any = None,  # noqa: N803
        y: Any = None,
        edge_index: Any = None,
        *,
        edge_weight: Any = None,
        sample_weight: Any = None,
    ) -> float:
        """Return the share of labels that are predicted correctly.

        Labels that the fit used are not a test of it: mark them as unlabeled, or see `held_out_accuracy_`.

        Args:
            X: as for `predict`.
            y: `[nodes]`, as for `fit`; unlabeled rows do not count. If y is None and X is a graph with labels, these
                are used, only those of its `test_mask` if it has one.
            edge_index: as for `predict`.
            edge_weight: as for `predict`.
            sample_weight: `[nodes]`, the weight of each row.

        Raises:
            DataError: there is no label to compare with, or the input is invalid.
        """
        predicted = self.predict(X, edge_index, edge_weight=edge_weight)
        ids = self._row_ids()
        labels, known = labels_to_score(X, in_order(y, X, ids), len(predicted))
        weight = None if sample_weight is None else np.asarray(in_order(sample_weight, X, ids))[known]
        return float(accuracy_score(labels[known], predicted[known], sample_weight=weight))

    def save(self, folder: Path | str) -> None:
        """Write the fitted classifier and its graph into a folder that `load`, `load_model` and the commands read.

        The folder holds JSON and safetensors, no code. A model that was saved there is replaced.

        Raises:
            RunError: the folder holds other files, or cannot be written.
        """
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        seed = self.model_.config.seed
        described = describe_estimator(self.get_params(deep=False), self.classes_, names, seed)
        replace(self.table_model_, estimator=described).save(folder)

    @classmethod
    def load(cls, folder: Path | str) -> Self:
        """Read a classifier that `save` wrote, or a model that `fit_tables` or `graphmix fit` wrote.

        Features of new nodes must be those of the fit; the features of a model of tables are its encoded columns.

        Raises:
            RunError: there is no model, it was written by a newer version, or it is damaged.
        """
        model = load_model(folder)
        try:
            classifier = cls(**stored_parameters(model))
            classifier._take(model, stored_classes(model))
            names = stored_feature_names(model)
        except DAMAGED as error:
            raise RunError(f"{folder} does not hold a whole classifier: {error}") from error
        if names is not None:
            classifier.feature_names_in_ = names
        return classifier

    def _row_ids(self) -> list[Any]:
        """The ids of the nodes of the fit; of links, pairs of their ends."""
        ids = list(self.table_model_.problem.row_names().values())
        return list(ids[0]) if len(ids) == 1 else list(zip(*ids, strict=True))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _train(self, graph: Graph, split: Split | None, ids: list[str], id_columns: dict[str, str]) -> TableModel:
        options = estimator_options(self.get_params(deep=False))
        settings = estimator_settings(self.get_params(deep=False), self._seed())
        plan = make_plan(graph, options.methods, settings, device=options.device)
        config = plan[0].config
        folds = fold_split(graph, config.trials, config.seed) if split is None else split
        problem = NodeProblem(graph=graph, split=split, ids=ids, id_columns=id_columns)
        outcome = find_mixture(problem, folds, plan, options)
        mixture = outcome.mixture
        return TableModel(
            mixture=mixture if self.calibrate else replace(mixture, temperature=1.0),
            problem=problem,
            held=outcome.held | outcome.fcn_held,
            target_accuracy=options.target_accuracy,
            coverage=options.coverage,
        )

    def _take(self, model: TableModel, classes: NDArray[Any]) -> None:
        """Set the fitted attributes."""
        graph, mixture = model.problem.learned, model.mixture
        labels = graph.y.numpy()
        predicted = mixture.probabilities(graph).argmax(axis=1)
        self.transduction_ = classes[np.where(labels == UNKNOWN, predicted, labels)]
        self.held_out_accuracy_ = accuracy(mixture.held)
        self.held_out_macro_f1_ = macro_f1(mixture.held, len(classes))
        self.temperature_ = mixture.temperature
        self.n_features_in_ = graph.num_features
        self.classes_, self.graph_, self.model_, self.table_model_ = classes, graph, mixture, model

    def _check_parameters(self) -> None:
        for name in ("normalise", "calibrate"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise ConfigError(f"`{name}` must be True or False, not {getattr(self, name)!r}")

    def _seed(self) -> int:
        state = self.random_state
        whole = isinstance(state, int | np.integer)
        return int(state) if whole else int(check_random_state(state).randint(2**31 - 1))

    def _validated(self, x: Any, *, reset: bool) -> Any:
        """Return X as a numpy or CSR matrix of finite numbers; note its columns, or check them against those noted."""
        try:
            return validate_data(self, x, reset=reset, accept_sparse="csr")
        except ValueError as error:
            raise DataError(str(error)) from error

    def _build(self, x: Any, given: Given, numbers: NDArray[np.int64], classes: NDArray[Any]) -> Graph:
        edges, weights = read_edges(given.edges, given.weights, x.shape[0])
        names = [str(label) for label in classes]
        normalise = bool(self.normalise)
        return Graph.build(x, edges, numbers, len(names), "the graph", names, weights=weights, normalise=normalise)


def _describe_parameters() -> str:
    listed = (f"{name}: {text}" for name, _, text in _PARAMETERS)
    return "\n".join(textwrap.fill(each, 120, initial_indent=" " * 8, subsequent_indent=" " * 12) for each in listed)


# scikit-learn, help() and the documentation read the parameters from here.
GraphMixClassifier.__init__.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
    [
        inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD),
        *(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default) for name, default, _ in _PARAMETERS),
    ]
)
GraphMixClassifier.__doc__ = (GraphMixClassifier.__doc__ or "").replace("        <parameters>", _describe_parameters())
