"""Labels of every type, and every way to say that there is none."""

import numpy as np
import pytest
import torch

from graphmix import DataError
from graphmix.workflow.labels import number_classes, read_labels

pd = pytest.importorskip("pandas")
NAN = float("nan")


@pytest.mark.parametrize(
    ("y", "classes", "numbers"),
    [
        (np.array([7, -1, 3, 7]), [3, 7], [1, -1, 0, 1]),
        (np.array([7, 3, 7], dtype=np.uint8), [3, 7], [1, 0, 1]),
        (torch.tensor([0, 1, -1]), [0, 1], [0, 1, -1]),
        ([2, 5, -1, None], [2, 5], [0, 1, -1, -1]),
        (np.array([2.0, NAN, -1.0, 0.0]), [0.0, 2.0], [1, -1, -1, 0]),
        ([2, NAN, 0.0], [0.0, 2.0], [1, -1, 0]),
        (np.array([-2, -3, -1]), [-3, -2], [1, 0, -1]),
        (["b", None, "a", NAN], ["a", "b"], [1, -1, 0, -1]),
        (np.array(["-1", "nan", ""]), ["", "-1", "nan"], [1, 2, 0]),
        (np.array(["b", None, "a"], dtype=object), ["a", "b"], [1, -1, 0]),
        ([True, None, False], [False, True], [1, -1, 0]),
        (np.array([True, False]), [False, True], [1, 0]),
        (pd.Series([1, None, 0], dtype="Int64"), [0, 1], [1, -1, 0]),
        (pd.Series(["b", None, "a"]), ["a", "b"], [1, -1, 0]),
        (pd.Series(["b", pd.NA, "a"], dtype="category"), ["a", "b"], [1, -1, 0]),
    ],
    ids=repr,
)
def test_labels_are_numbered_and_keep_their_type(y, classes, numbers):
    found, numbered = number_classes(*read_labels(y, len(y)))
    assert numbered.tolist() == numbers
    assert found.tolist() == classes
    assert {type(label) for label in found.tolist()} == {type(label) for label in classes}


def test_the_width_of_numbers_is_kept():
    classes, _ = number_classes(*read_labels(np.array([1, 2], dtype=np.int16), 2))
    assert classes.dtype == np.int16


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0, 1], r"y must hold one label for each of X's 3 rows, but its shape is \[2\]"),
        (np.zeros((3, 2)), r"its shape is \[3, 2\]"),
        (5, r"its shape is \[\]"),
        ([0.5, 1, 0], "Unknown label type: that of row 0 is 0.5"),
        ([0.0, np.inf, 1.0], "contains infinity"),
        (["a", 1, "b"], "that of row 0 is a string and that of row 1 is a whole number"),
        ([True, 1, 0], "that of row 0 is a boolean and that of row 1 is a whole number"),
        ([{"a"}, {"b"}, {"c"}], "Unknown label type: that of row 0 is set"),
        (np.array(["2020", "2021", "2022"], dtype="datetime64[Y]"), r"Unknown label type: datetime64\[Y\]"),
        ([2**70, 1, 2], "too large a number"),
        ([-1, -1, -1], "y has no label"),
        ([-1, 1, 1], "y has one class only, 1, .* -1 means unlabeled"),
        (["a", "a", None], "y has one class only, a, but at least two classes are needed$"),
        ([None, NAN, None], "y has no label"),
    ],
    ids=repr,
)
def test_labels_that_are_no_classes_are_refused(y, message):
    with pytest.raises(DataError, match=message):
        number_classes(*read_labels(y, 3))
