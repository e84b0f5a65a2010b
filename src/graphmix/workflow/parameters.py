"""The parameters of `GraphMixClassifier`: the hyperparameters of `Config`, and a few of its own."""

from typing import Any

from graphmix.errors import ConfigError
from graphmix.results.fit import MIXTURE
from graphmix.training.config import AUTO, HYPERPARAMETERS, Config
from graphmix.training.methods import fit_methods
from graphmix.training.settings import RULE, Parameter, parameters
from graphmix.workflow.options import BALANCED, FitOptions, check_methods

_OWN = (
    Parameter(
        "method",
        AUTO,
        'What to train: "auto", a mixture of several methods that held-out labels choose; or one of them, for example '
        '"graphmix", "supervised" (a network without GraphMix), "fcn" (without the edges), "label-propagation" '
        "(without the features).",
    ),
    Parameter(
        "class_weight",
        None,
        '"balanced" if classes have very different sizes: every class then counts the same in the losses on labels and '
        "on predicted targets, and in what held-out labels choose.",
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
_SET = ("method", "reading", "seed", "class_weight", "target_weight", "select_by", "ties", "binarise")
# Hyperparameters of methods that a fit does not try.
OF_RULES = tuple(name for name, rules in HYPERPARAMETERS.items() if rules.group == RULE)
# `temperature` would read as that of the calibration.
_NAMES = {"temperature": "sharpening_temperature"}


def estimator_parameters() -> list[Parameter]:
    """Return the parameters of the estimator, in order: its method, the hyperparameters, and its other own ones."""
    called = _called()
    hyperparameters = [Parameter(called[name], None, text) for name, _, text in parameters(Config) if name in called]
    return [_OWN[0], *hyperparameters, *_OWN[1:]]


def estimator_options(values: dict[str, Any]) -> FitOptions:
    """Return the options of a fit from the values of the estimator's parameters by name.

    Raises:
        ConfigError: a value is out of its range.
    """
    weight, method = values["class_weight"], values["method"]
    if weight not in (None, BALANCED):
        raise ConfigError(f"`class_weight` must be None or {BALANCED!r}, not {weight!r}")
    methods = fit_methods() if method == AUTO else check_methods(method)
    return FitOptions(methods=methods, balanced=weight == BALANCED, device=values["device"])


def estimator_settings(values: dict[str, Any], seed: int) -> dict[str, Any]:
    """Return the hyperparameters that the estimator's parameters set; None for those to be chosen."""
    given = {name: values[called] for name, called in _called().items()}
    return estimator_options(values).settings() | given | {"seed": seed}


def config_parameters(config: Config, method: str) -> dict[str, Any]:
    """Return the values of the estimator's parameters that give a method these hyperparameters.

    Those of a mixture's members differ, so they are left to be chosen.
    """
    weight = BALANCED if config.class_weight == BALANCED else None
    own = {"method": method, "class_weight": weight, "random_state": config.seed}
    if method == MIXTURE:
        return own | {"method": AUTO}
    return {called: getattr(config, name) for name, called in _called().items()} | own


def _called() -> dict[str, str]:
    """Return what the estimator calls the hyperparameters that are its parameters, by their names in `Config`."""
    return {name: _NAMES.get(name, name) for name in HYPERPARAMETERS if name not in (*_SET, *OF_RULES)}
