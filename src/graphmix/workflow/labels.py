"""Labels in any form: numbers, strings or booleans, some of them missing."""

import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import column_or_1d
from torch import Tensor

from graphmix.data.checks import UNKNOWN
from graphmix.errors import DataError

_BOOLEAN, _WHOLE, _NUMBER, _STRING = "a boolean", "a whole number", "a number", "a string"
_TYPES: dict[str, type] = {_BOOLEAN: np.bool_, _WHOLE: np.int64, _NUMBER: np.float64, _STRING: np.str_}


def read_labels(y: Any, nodes: int) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Read labels, and find out which of them are missing.

    Among numbers -1 and NaN mean unlabeled, as in `sklearn.semi_supervised`; otherwise None, NaN and pandas' NA do.
    Everything else is a class, also an empty string.

    Args:
        y: `[nodes]` of numbers, strings or booleans: numpy, torch, a list, a column of a DataFrame.
        nodes: the number of nodes.

    Returns:
        The labels `[nodes]`, in an array of their own type, and bool `[nodes]`, where there is a label.

    Raises:
        DataError: y has another size, or holds something that cannot be a class.
    """
    array = _as_array(y)
    if array.ndim == 2 and array.shape[1] == 1:
        array = column_or_1d(array, warn=True)
    if array.shape != (nodes,):
        raise DataError(f"y must hold one label for each of X's {nodes} rows, but its shape is {list(array.shape)}")
    if array.dtype.kind in "OT":
        return _read_objects(array.astype(object))
    return array, _given(array)


def number_classes(labels: NDArray[Any], known: NDArray[np.bool_]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Number the classes in their order.

    Args:
        labels: `[nodes]`, as `read_labels` returns them.
        known: bool `[nodes]`, the labels to use.

    Returns:
        The classes `[classes]`, and int64 `[nodes]`, -1 where there is no label.

    Raises:
        DataError: there are fewer than two classes.
    """
    classes, places = np.unique(labels[known], return_inverse=True)
    if len(classes) < 2:
        found = f"one class only, {classes[0]}" if len(classes) else "no label"
        hint = "; -1 means unlabeled: if it is one of your classes, rename it" * (labels.dtype.kind in "if")
        raise DataError(f"y has {found}, but at least two classes are needed{hint}")
    numbered = np.full(len(labels), UNKNOWN, dtype=np.int64)
    numbered[known] = places
    return classes, numbered


def _as_array(y: Any) -> NDArray[Any]:
    if isinstance(y, Tensor):
        return np.asarray(y.detach().cpu().numpy())
    # numpy would turn a list of strings and NaN into strings, and pandas' whole numbers with gaps into floats.
    plain = isinstance(getattr(y, "dtype", None), np.dtype)
    return np.asarray(y) if plain else np.asarray(y, dtype=object)


def _given(labels: NDArray[Any]) -> NDArray[np.bool_]:
    """Return where an array of a plain type has labels: bool `[nodes]`."""
    kind = labels.dtype.kind
    if kind in "bU":
        return np.ones(len(labels), dtype=np.bool_)
    if kind not in "iuf":
        raise DataError(f"Unknown label type: {labels.dtype}; labels must be whole numbers, strings or booleans")
    if np.isinf(labels).any():
        # scikit-learn's own words, which its checks expect.
        raise DataError(f"Input y contains infinity or a value too large for {labels.dtype!r}.")
    given: NDArray[np.bool_] = ~np.isnan(labels) & (labels != UNKNOWN)
    broken = np.flatnonzero(given & (labels != np.round(labels)))
    if len(broken):
        node = broken[0]
        raise DataError(f"Unknown label type: that of row {node} is {labels[node]}, but a class must be a whole number")
    return given


def _read_objects(labels: NDArray[np.object_]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Find the common type of an array of Python objects."""
    known = np.array([_is_given(label) for label in labels], dtype=np.bool_)
    kinds = {_kind(label): row for row, label in reversed(list(enumerate(labels))) if known[row]}
    if _NUMBER in kinds:
        kinds.pop(_WHOLE, None)
    if len(kinds) > 1:
        (one, row), (two, other) = sorted(kinds.items(), key=lambda kind: kind[1])[:2]
        raise DataError(f"labels must be of one type, but that of row {row} is {one} and that of row {other} is {two}")
    kind = next(iter(kinds), _STRING)
    if kind not in _TYPES:
        raise DataError(f"Unknown label type: that of row {kinds[kind]} is {kind}; use numbers, strings or booleans")
    try:
        given: NDArray[Any] = labels[known].astype(_TYPES[kind])
    except OverflowError as error:
        raise DataError(f"a label is too large a number: {error}") from error
    plain = np.zeros(len(labels), dtype=given.dtype)
    plain[known] = given
    known[known] = _given(given)
    return plain, known


def _is_given(label: Any) -> bool:
    # NaN and NaT differ from themselves, and a comparison with pandas' NA is neither true nor false.
    same = label is not None and label == label
    return isinstance(same, bool | np.bool_) and bool(same)


def _kind(label: Any) -> str:
    for kind, owner in (
        (_BOOLEAN, bool | np.bool_),
        (_WHOLE, numbers.Integral),
        (_NUMBER, numbers.Real),
        (_STRING, str),
    ):
        if isinstance(label, owner):
            return kind
    return type(label).__name__
