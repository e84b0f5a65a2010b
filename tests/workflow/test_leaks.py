"""Columns that give the class away: warned of where it is no accident, and only there."""

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp

from graphmix.tables.choosing import choose_columns, used_kinds
from graphmix.tables.encoders import Encoders
from graphmix.tables.files import read_table
from graphmix.workflow.leaks import FEWEST, leak_warnings


def warned(columns, y, sparse=False):
    """The columns that are warned of."""
    table = read_table(pa.table(columns))
    encoders = Encoders.fit(table, used_kinds(choose_columns(table)))
    x = encoders.encode(table).x
    found = leak_warnings(encoders, x if sparse else x.toarray(), np.asarray(y), "party")
    for warning in found:
        assert "gives the label 'party' away" in warning
        assert "leave it out with `ignore=['" in warning
    return [warning.split("'")[1] for warning in found]


def drawn(rng, y, wrong=0.0):
    """Numbers that say the class but for some that are wrong."""
    said = np.where(rng.random(len(y)) < wrong, rng.integers(0, y.max() + 1, len(y)), y)
    return 10 * said + rng.random(len(y))


@pytest.mark.parametrize("classes", [2, 3, 12])
@pytest.mark.parametrize("sparse", [False, True])
def test_a_column_that_says_the_class_is_named(classes, sparse):
    rng = np.random.default_rng(classes)
    y = np.tile(np.arange(classes), 120 // classes)
    columns = {
        "noise": rng.normal(size=len(y)),
        "share of votes": drawn(rng, y),
        "winner": [f"the {place % 26:c<3}" for place in y],
        "hint": drawn(rng, y, wrong=0.4),
    }
    assert sorted(warned(columns, y, sparse)) == ["share of votes", "winner"]


def test_unlabeled_rows_are_not_looked_at():
    rng = np.random.default_rng(0)
    y = np.tile([0, 1], 50)
    held = y.copy()
    held[30:] = -1
    column = np.where(held < 0, rng.random(100) * 20, drawn(rng, y))
    assert warned({"it": column}, held) == ["it"]
    assert warned({"it": column}, y) == []


def test_few_labels_prove_nothing():
    rng = np.random.default_rng(0)
    y = np.tile([0, 1], FEWEST // 2)
    assert warned({"it": drawn(rng, y)}, y) == ["it"]
    assert warned({"it": drawn(rng, y[:-1])}, y[:-1]) == []
    # 20 labels and 300 columns of noise: about one in a hundred thousand says all labels by accident.
    many = {f"noise {place}": rng.normal(size=len(y)) for place in range(300)}
    assert warned(many, y) == []


def test_a_large_class_is_not_enough():
    rng = np.random.default_rng(0)
    y = (np.arange(400) % 40 == 0).astype(int)
    many = {f"noise {place}": rng.normal(size=len(y)) for place in range(30)}
    assert warned(many, y) == []
    # Right on 98.75 % of the labels, but only on half of the small class.
    half = drawn(rng, np.where(np.arange(400) % 80 == 0, y, 0))
    assert warned({"it": half}, y) == []
    assert warned({"it": drawn(rng, y)}, y) == ["it"]


def test_accidents_are_rare():
    """Labels that mean nothing, 200 times over 10 columns: none is warned of."""
    rng = np.random.default_rng(1)
    for _ in range(200):
        y = rng.integers(0, 2, 24)
        if min(np.bincount(y, minlength=2)) >= 5:
            table = {f"c{place}": rng.integers(0, 3, 24).astype(float) for place in range(10)}
            assert warned(table, y) == []


@pytest.mark.parametrize("y", [[], [0] * 50, [-1] * 50, list(range(50)), [0] * 46 + [1] * 4])
def test_labels_of_one_class_or_none_are_no_case(y):
    x = sp.csr_array(np.ones((len(y), 1), np.float32))
    encoders = Encoders.fit(read_table(pa.table({"it": [1.0, 2.0]})), {"it": "number"})
    assert leak_warnings(encoders, x, np.array(y, dtype=np.int64), "party") == []
    assert leak_warnings(None, None, np.array(y, dtype=np.int64), "party") == []
