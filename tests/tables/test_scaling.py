"""Skewed numbers: when a logarithm is taken, and which."""

import numpy as np
import pytest

from graphmix.tables.scaling import bent, bent_unit, skewness

DRAWN = np.random.default_rng(0)
NORMAL, EXPONENTS = DRAWN.normal(size=2000), DRAWN.normal(size=2000)


def test_skewness_by_hand():
    # Mean 1, deviation sqrt(3), cubes -1, -1, -1 and 27 over 3 sqrt(3).
    assert skewness(np.array([0.0, 0, 0, 4])) == pytest.approx(6 / (3 * np.sqrt(3)))
    assert skewness(np.array([5.0, 5, 5])) == 0


@pytest.mark.parametrize(
    ("values", "is_bent"),
    [
        (NORMAL, False),
        (np.exp(1.5 * EXPONENTS), True),
        (-np.exp(1.5 * EXPONENTS), True),
        (1e-6 * np.exp(1.5 * EXPONENTS), True),
        # One wild cell.
        (np.append(np.abs(NORMAL), 1e9), True),
        # Rare ones among zeros: two values stay two values.
        (np.append(np.zeros(1000), np.ones(5)), False),
        # Skewed to the left of large numbers, where a logarithm makes it worse.
        (100 - np.exp(EXPONENTS), False),
        (np.exp(1.5 * EXPONENTS[:19]), False),
        (np.full(50, 7.0), False),
        (np.zeros(50), False),
    ],
)
def test_the_rule(values, is_bent):
    unit = bent_unit(values)
    assert (unit > 0) == is_bent
    if is_bent:
        assert abs(skewness(bent(values, unit))) <= 0.9 * abs(skewness(values))
        share = (np.abs(values) > unit).mean()
        assert share == pytest.approx(0.1, abs=0.01)


def test_the_logarithm_keeps_signs_order_and_missing_numbers():
    values = np.array([-1e30, -2.0, 0, 1, 5, 1e30, np.nan])
    found = bent(values, 0.5)
    assert found[2] == 0
    assert found[1] == pytest.approx(-np.log(5))
    assert (np.diff(found[:6]) > 0).all()
    assert np.isnan(found[6])
    assert bent(values, 0.0) is values
