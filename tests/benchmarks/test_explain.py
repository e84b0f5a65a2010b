"""The benchmark of reasons: its sums by hand, and on a small graph that what is named matters more."""

import numpy as np
import pytest


@pytest.fixture(scope="module")
def explain(benchmark_module):
    return benchmark_module("explain")


def test_falls_are_summed_up(explain):
    found = explain.fallen([(0.3, 0.1), None, (0.1, 0.2), (0.2, 0.0)])
    assert found["count"] == 3
    assert found["none_named"] == 1
    assert found["named"] == pytest.approx(20)
    assert found["random"] == pytest.approx(10)
    assert found["ahead"] == pytest.approx(10)
    # Differences 20, -10 and 20 points: their standard deviation is √300.
    assert found["error"] == pytest.approx(10, abs=0.01)
    assert found["larger"] == pytest.approx(2 / 3, abs=1e-3)


def test_as_many_are_drawn_at_each_distance(explain):
    rng = np.random.default_rng(0)
    ring = np.array([4, 7, 9])
    assert len(explain._draw(rng, ring, [1, 2, 1], 1)) == 2
    assert set(explain._draw(rng, ring, [1, 1, 1, 1], 1)) == {4, 7, 9}
