"""What model.json says of a `GraphMixClassifier`: its parameters, and its classes with their type."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphmix.errors import RunError
from graphmix.workflow.model import TableModel
from graphmix.workflow.parameters import OF_RULES, config_parameters

# Parameters of older versions that have no effect any more.
_DROPPED = ("ties", *OF_RULES)


def describe_estimator(
    parameters: dict[str, Any], classes: NDArray[Any], feature_names: NDArray[Any] | None, seed: int
) -> dict[str, Any]:
    """Return what model.json says of an estimator.

    Args:
        parameters: its parameters by name.
        classes: `[classes]`, of the type of the labels.
        feature_names: `[features]`, if known.
        seed: the seed of the fit, for a `random_state` that is a generator.

    Raises:
        RunError: a parameter cannot be stored.
    """
    return {
        "parameters": {name: _plain(name, value, seed) for name, value in parameters.items()},
        "classes": classes.tolist(),
        "type_of_classes": "U" if classes.dtype.kind == "U" else classes.dtype.str,
        "feature_names": None if feature_names is None else [str(name) for name in feature_names],
    }


def stored_parameters(model: TableModel) -> dict[str, Any]:
    """Return the parameters of the estimator that a model stores; those that give its hyperparameters otherwise.

    Raises:
        KeyError: they are missing.
        TypeError: they are invalid.
    """
    if model.estimator is None:
        return config_parameters(model.mixture.config, model.mixture.method)
    stored = model.estimator["parameters"]
    return {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in stored.items()
        if name not in _DROPPED
    }


def stored_classes(model: TableModel) -> NDArray[Any]:
    """Return the classes in their own type; those of tables are strings.

    Raises:
        KeyError: they are missing.
        ValueError: they are not what was written.
    """
    if model.estimator is None:
        return np.array(model.mixture.classes)
    values, kind = model.estimator["classes"], model.estimator["type_of_classes"]
    dtype = np.dtype(str(kind))
    # The width of strings is that of the strings, not what a file says: that may be more than fits into memory.
    if dtype.kind not in "biufU" or (dtype.kind == "U" and dtype.itemsize):
        raise ValueError(f"classes are not of type {kind!r}")
    classes = np.array(values, dtype=dtype)
    if classes.ndim != 1 or classes.tolist() != values or not np.array_equal(np.unique(classes), classes):
        raise ValueError("the classes are not what was written")
    if tuple(str(label) for label in classes) != model.mixture.classes:
        raise ValueError("the classes are not those of the model")
    return classes


def stored_feature_names(model: TableModel) -> NDArray[Any] | None:
    """Return the names of the features, if they are stored."""
    names = None if model.estimator is None else model.estimator["feature_names"]
    if names is None:
        return None
    if len(names) != model.problem.graph.num_features:
        raise ValueError(f"there are {len(names)} names for {model.problem.graph.num_features} features")
    return np.array([str(name) for name in names], dtype=object)


def _plain(name: str, value: Any, seed: int) -> Any:
    """Return a parameter as a JSON value; for a generator of random numbers, the seed that was drawn from it."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, tuple | list):
        return [_plain(name, item, seed) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if name == "random_state":
        return seed
    raise RunError(f"the parameter {name} cannot be saved: it is {type(value).__name__}")
