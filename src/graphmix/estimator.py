"""GraphMixClassifier: one method of `graphmix.workflow`, with the manners of scikit-learn."""

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

from graphmix.data import Graph
from graphmix.data.checks import UNKNOWN
from graphmix.data.folds import fold_split
from graphmix.errors import ConfigError, DataError
from graphmix.training import Config
from graphmix.workflow.candidates import PROPAGATION, check_methods, try_method, usual_config
from graphmix.workflow.classifier_folder import read_classifier, write_classifier
from graphmix.workflow.foreign import Given, given_split, read_edges, read_graph, read_mask, visible_labels
from graphmix.workflow.labels import number_classes, read_labels
from graphmix.workflow.model import Model
from graphmix.workflow.ranking import ACCURACY, MACRO_F1, accuracy, macro_f1

_BALANCED = "balanced"
_NO_EDGES = (
    "X comes without edges, but the fit had some: nodes are judged by their features alone. Give edge_index, or leave "
    "X out for the nodes of the fit; an edge_index [2, 0] says that there are none"
)


class GraphMixClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A classifier of a graph's nodes, few of which need labels; an ensemble of networks, calibrated.

    Where a parameter is None, it is chosen from the size of the graph.

    Args:
        method: what to train: "graphmix", "supervised" (the network without GraphMix), "fcn" (without the edges) or
            "label-propagation" (without the features).
        backbone: the network: "gcn", "gat" or "unet".
        trials: how many networks are trained, each on other labels, and averaged.
        epochs: parameter updates.
        hidden: units in the hidden layer.
        learning_rate: Adam's step size.
        weight_decay: L2 penalty on every weight.
        input_dropout: share of the features dropped.
        hidden_dropout: share of the hidden layer dropped.
        alpha: of Beta(α, α), from which GraphMix's mixing weight is drawn [α].
        gamma: peak weight of the loss on predicted targets [γ].
        sharpening_temperature: of the predicted targets [T]; has nothing to do with calibration.
        class_weight: "balanced" where classes are of very different sizes: in the losses on labels and on predicted
            targets every class counts alike, and epochs are chosen by macro F1.
        normalise: whether every row of X is scaled so that its absolute values sum to 1, which suits counts of words;
            other features should have a similar range before they come here, by a `StandardScaler`, say.
        calibrate: whether probabilities are calibrated on labels held out (temperature scaling).
        device: where to train: "auto", "cpu", "cuda" or "cuda:1".
        random_state: a seed, a numpy `RandomState`, or None for numpy's own.

    Attributes:
        classes_: `[classes]`, in the order of the probabilities, of the type that y had.
        n_features_in_: how many features a node has.
        feature_names_in_: their names, where X was a DataFrame.
        transduction_: `[nodes]`, the class of every node of the fit: as given, or else as predicted.
        held_out_accuracy_: the share of labels predicted rightly by networks that had not seen them.
        held_out_macro_f1_: the mean over the classes of F1, likewise.
        temperature_: what logits are divided by; above 1 where networks were too sure of themselves.
        model_: the networks.
        graph_: the graph of the fit, a `Graph`.

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
    model_: Model
    graph_: Graph

    def __init__(
        self,
        *,
        method: str = "graphmix",
        backbone: str = "gcn",
        trials: int = 5,
        epochs: int | None = None,
        hidden: int | None = None,
        learning_rate: float | None = None,
        weight_decay: float = 5e-4,
        input_dropout: float | None = None,
        hidden_dropout: float | None = None,
        alpha: float = 1.0,
        gamma: float = 1.0,
        sharpening_temperature: float = 0.1,
        class_weight: str | None = None,
        normalise: bool = False,
        calibrate: bool = True,
        device: str = "auto",
        random_state: Any = 0,
    ) -> None:
        self.method = method
        self.backbone = backbone
        self.trials = trials
        self.epochs = epochs
        self.hidden = hidden
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.input_dropout = input_dropout
        self.hidden_dropout = hidden_dropout
        self.alpha = alpha
        self.gamma = gamma
        self.sharpening_temperature = sharpening_temperature
        self.class_weight = class_weight
        self.normalise = normalise
        self.calibrate = calibrate
        self.device = device
        self.random_state = random_state

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
            X: features `[nodes, features]`: numpy, scipy sparse, torch or a DataFrame. Or a graph that brings labels
                and edges: a PyG `Data`, of which `train_mask` and `val_mask` say which labels may be seen, a `Graph`,
                or a NetworkX graph whose nodes have attributes "x" and "y".
            y: labels `[nodes]`: whole numbers, -1 or NaN for unlabeled, as in `sklearn.semi_supervised`; or strings or
                booleans, None or NaN for unlabeled. None where X brings them.
            edge_index: node numbers `[2, edges]`, in one direction or both; or a sparse adjacency matrix
                `[nodes, nodes]` of weights; or a NetworkX graph with nodes in the order of X's rows. None for no edges.
            edge_weight: `[edges]`, what each edge of an `edge_index` weighs; a node's own features weigh 1.
            val_mask: bool `[nodes]`, the labeled nodes to choose epochs and calibrate by; the others are trained on.
                Without it the labels are dealt out to five folds, and each network has one held out.

        Raises:
            DataError: something in the input is wrong; a ValueError, too.
            ConfigError: a parameter is out of its range; a ValueError, too.
            RunError: the loss became infinite.
        """
        self._check_parameters()
        given = read_graph(X, edge_index, edge_weight)
        if given.y is not None and y is not None:
            raise DataError("X is a graph and has labels of its own; leave y out")
        x = self._validated(given.x, reset=True)
        classes, numbers = number_classes(*visible_labels(given, y, x.shape[0]))
        graph = self._build(x, given, numbers, classes)
        config = self._config(graph)
        val = given.val if val_mask is None else val_mask
        split = fold_split(graph, config.trials, config.seed) if val is None else given_split(numbers, val)
        candidate = try_method(self.method, graph, split, config, device=self.device)
        model = Model.from_candidate(candidate, config, graph.class_names or ())
        self._become(model if self.calibrate else replace(model, temperature=1.0), graph, classes)
        return self

    def predict(self, X: Any = None, edge_index: Any = None, *, edge_weight: Any = None) -> NDArray[Any]:  # noqa: N803
        """The most probable class of every node: `[nodes]`; arguments as for `predict_proba`."""
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
        """Calibrated class probabilities of every node: `[nodes, classes]`, rows sum to 1.

        Args:
            X: features or a graph, as for `fit`: another graph, or the old one and new nodes. None for the nodes of
                the fit.
            edge_index: the edges among the rows of X, as for `fit`. Without them nodes are judged by their features
                alone, and a warning says so.
            edge_weight: what they weigh, as for `fit`.

        Raises:
            DataError: something in the input is wrong, or X has other features than the fit had.
        """
        check_is_fitted(self)
        if X is None:
            if edge_index is not None or edge_weight is not None:
                raise DataError("edges come with the X they are among; leave both out for the nodes of the fit")
            return self.model_.probabilities(self.graph_)
        if self.model_.method == PROPAGATION:
            raise DataError("label propagation knows the nodes of the fit alone; leave X out, or fit on all nodes")
        given = read_graph(X, edge_index, edge_weight)
        x = self._validated(given.x, reset=False)
        if given.edges is None and self.graph_.num_edges and self.model_.config.predicts_with_gnn:
            warnings.warn(_NO_EDGES, stacklevel=2)
        graph = self._build(x, given, np.full(x.shape[0], UNKNOWN), self.classes_)
        if graph.num_edges and (graph.edge_weights is None) != (self.graph_.edge_weights is None):
            was, now = ("with", "without") if graph.edge_weights is None else ("without", "with")
            raise DataError(f"the fit was {was} edge weights, and these edges come {now} them; make them alike")
        return self.model_.probabilities(graph)

    def score(
        self,
        X: Any = None,  # noqa: N803
        y: Any = None,
        edge_index: Any = None,
        *,
        edge_weight: Any = None,
        sample_weight: Any = None,
    ) -> float:
        """The share of labels that are predicted rightly.

        Labels that the fit has seen are no test of it: mark them as unlabeled, or see `held_out_accuracy_`.

        Args:
            X: as for `predict`.
            y: `[nodes]`, as for `fit`; rows that are unlabeled do not count. Where X is a graph that brings labels,
                those of its `test_mask`, if it has one, are taken when y is None.
            edge_index: as for `predict`.
            edge_weight: as for `predict`.
            sample_weight: `[nodes]`, how much each row counts.

        Raises:
            DataError: there is no label to compare with, or something in the input is wrong.
        """
        predicted = self.predict(X, edge_index, edge_weight=edge_weight)
        test = None
        if y is None:
            given = Given(None, None) if X is None else read_graph(X)
            y, test = given.y, given.test
        if y is None:
            raise DataError("score needs labels, y; held_out_accuracy_ is the accuracy on those of the fit")
        labels, known = read_labels(y, len(predicted))
        if test is not None:
            known &= read_mask(test, len(known), "test_mask")
        if not known.any():
            raise DataError("y has no label to compare predictions with")
        weight = None if sample_weight is None else np.asarray(sample_weight)[known]
        return float(accuracy_score(labels[known], predicted[known], sample_weight=weight))

    def save(self, folder: Path | str) -> None:
        """Write the fitted classifier and its graph into a folder, as JSON and safetensors: nothing in it is code.

        A classifier that is there already is replaced.

        Raises:
            RunError: the folder holds something else, or cannot be written.
        """
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        write_classifier(Path(folder), self.get_params(deep=False), self.model_, self.graph_, self.classes_, names)

    @classmethod
    def load(cls, folder: Path | str) -> Self:
        """Read back a classifier that `save` wrote.

        Raises:
            RunError: there is none, it is of a newer version, or it is damaged or not what was written.
        """
        return read_classifier(Path(folder), cls)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _become(self, model: Model, graph: Graph, classes: NDArray[Any]) -> None:
        """Take on what was learned."""
        labels = graph.y.numpy()
        predicted = model.probabilities(graph).argmax(axis=1)
        self.transduction_ = classes[np.where(labels == UNKNOWN, predicted, labels)]
        self.held_out_accuracy_ = accuracy(model.held)
        self.held_out_macro_f1_ = macro_f1(model.held, len(classes))
        self.temperature_ = model.temperature
        self.n_features_in_ = graph.num_features
        self.classes_, self.graph_, self.model_ = classes, graph, model

    def _check_parameters(self) -> None:
        check_methods((self.method,))
        if self.class_weight not in (None, _BALANCED):
            raise ConfigError(f"class_weight must be None or {_BALANCED!r}, not {self.class_weight!r}")
        for name in ("normalise", "calibrate"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise ConfigError(f"{name} must be True or False, not {getattr(self, name)!r}")

    def _config(self, graph: Graph) -> Config:
        state = self.random_state
        whole = isinstance(state, int | np.integer)
        balanced = self.class_weight == _BALANCED
        weight = _BALANCED if balanced else "none"
        same = ("backbone", "trials", "epochs", "hidden", "learning_rate", "weight_decay", "alpha", "gamma")
        return usual_config(
            graph,
            **{name: getattr(self, name) for name in (*same, "input_dropout", "hidden_dropout")},
            temperature=self.sharpening_temperature,
            class_weight=weight,
            target_weight=weight,
            select_by=MACRO_F1 if balanced else ACCURACY,
            seed=int(state) if whole else int(check_random_state(state).randint(2**31 - 1)),
        )

    def _validated(self, x: Any, *, reset: bool) -> Any:
        """X as a numpy or CSR matrix of finite numbers, its number of columns and their names noted or held to."""
        try:
            return validate_data(self, x, reset=reset, accept_sparse="csr")
        except ValueError as error:
            raise DataError(str(error)) from error

    def _build(self, x: Any, given: Given, numbers: NDArray[np.int64], classes: NDArray[Any]) -> Graph:
        edges, weights = read_edges(given.edges, given.weights, x.shape[0])
        names = [str(label) for label in classes]
        normalise = bool(self.normalise)
        return Graph.build(x, edges, numbers, len(names), "the graph", names, weights=weights, normalise=normalise)
