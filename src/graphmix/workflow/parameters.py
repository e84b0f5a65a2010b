"""The parameters of `GraphMixClassifier`: the hyperparameters of `Config`, and a few of its own."""

from typing import Any

from graphmix.data import Graph
from graphmix.data.folds import FOLDS
from graphmix.errors import ConfigError
from graphmix.training import Config
from graphmix.training.settings import Parameter, parameters
from graphmix.workflow.candidates import usual_config
from graphmix.workflow.options import FitOptions

BALANCED = "balanced"
_OWN = (
    Parameter(
        "method",
        "graphmix",
        'What to train: "graphmix", "supervised" (the network without GraphMix), "fcn" (without the edges) or '
        '"label-propagation" (without the features).',
    ),
    Parameter(
        "class_weight",
        None,
        '"balanced" if classes have very different sizes: every class then counts the same in the losses on labels and '
        "on predicted targets, and epochs are chosen by macro F1.",
    ),
    Parameter(
        "normalise",
        False,
        "Whether to scale every row of X so that its absolute values sum to 1, which suits counts of words; other "
        "features should be scaled before, for example by a `StandardScaler`.",
    ),
    Parameter("calibrate", True, "Whether to calibrate probabilities on held-out labels (temperature scaling)."),
    Parameter("device", "auto", 'Where to train: "auto", "cpu", "cuda" or "cuda:1".'),
    Parameter("random_state", 0, "A seed, a numpy `RandomState`, or None for numpy's own."),
)
# Hyperparameters that the estimator's own parameters set, that prepare X, or that have no effect by themselves.
_SET = ("method", "reading", "seed", "class_weight", "target_weight", "select_by", "binarise")
# Hyperparameters that are chosen from the size of the graph if they are None.
_BY_SIZE = ("epochs", "hidden", "learning_rate", "input_dropout", "hidden_dropout", "ties")
_DEFAULTS = dict.fromkeys(_BY_SIZE) | {"trials": FOLDS}
# `temperature` would read as that of the calibration.
_NAMES = {"temperature": "sharpening_temperature"}


def estimator_parameters() -> list[Parameter]:
    """Return the parameters of the estimator, in order: its method, the hyperparameters, and its other own ones."""
    called = _called()
    hyperparameters = [
        Parameter(called[name], _DEFAULTS.get(name, default), text)
        for name, default, text in parameters(Config)
        if name in called
    ]
    return [_OWN[0], *hyperparameters, *_OWN[1:]]


def estimator_config(graph: Graph, values: dict[str, Any], seed: int) -> Config:
    """Return the hyperparameters of a fit.

    Args:
        graph: the graph; what is None is chosen from its size.
        values: the values of the estimator's parameters by name.
        seed: the seed.

    Raises:
        ConfigError: a value is out of its range.
    """
    weight = values["class_weight"]
    if weight not in (None, BALANCED):
        raise ConfigError(f"`class_weight` must be None or {BALANCED!r}, not {weight!r}")
    implied = FitOptions(balanced=weight == BALANCED).settings()
    given = {name: values[called] for name, called in _called().items()}
    return usual_config(graph, seed=seed, **given, **implied)


def config_parameters(config: Config, method: str) -> dict[str, Any]:
    """Return the values of the estimator's parameters that give a method these hyperparameters."""
    values = {called: getattr(config, name) for name, called in _called().items()}
    weight = BALANCED if config.class_weight == BALANCED else None
    return values | {"method": method, "class_weight": weight, "random_state": config.seed}


def _called() -> dict[str, str]:
    """Return what the estimator calls the hyperparameters that are its parameters, by their names in `Config`."""
    return {name: _NAMES.get(name, name) for name, *_ in parameters(Config) if name not in _SET}
