"""Structural features: by hand on a path, and what must not change them."""

import hashlib
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmix.errors import DataError
from graphmix.tables.structural import Structural

IDS = ["a", "b", "c", "d"]
# a - b - c, and d alone.
PATH = np.array([[0, 1], [1, 2]])


def signs(name):
    """A node's random vector, from the definition."""
    digest = hashlib.blake2b(name.encode(), digest_size=21).digest()
    return np.array([1.0 if byte < 43 else -1.0 if byte >= 213 else 0.0 for byte in digest])


def structural_features(ids, pairs, weights=None):
    return Structural.fit(pairs, len(ids)).encode(ids, pairs, weights)


def unit(vector):
    return vector / np.linalg.norm(vector)


def test_a_path_by_hand():
    x = structural_features(IDS, PATH)
    assert x.shape == (4, 64)
    assert x.dtype == np.float32
    logs = np.log([2, 3, 2, 1])
    np.testing.assert_allclose(x[:, 0], (logs - logs.mean()) / logs.std(), rtol=1e-6)
    a, b, c = (signs(name) for name in "abc")
    # One step from b: its neighbours a and c, of degree 1 both; two steps: b itself, of degree 2, by way of each.
    np.testing.assert_allclose(x[1, 1:22], unit(a + c), atol=1e-6)
    np.testing.assert_allclose(x[1, 22:43], unit(b), atol=1e-6)
    np.testing.assert_allclose(x[1, 43:], unit(a + c), atol=1e-6)
    np.testing.assert_allclose(x[[0, 2], 1:22], [unit(b), unit(b)], atol=1e-6)
    assert not x[3, 1:].any()


def test_neighbours_count_by_weight_and_hubs_count_less():
    # b's neighbours: a with weight 3, of degree 1; and c with weight 1, of strength 2 in all.
    pairs, weights = np.array([[0, 1, 2], [1, 2, 3]]), np.array([3.0, 1.0, 1.0])
    x = structural_features(IDS, pairs, weights)
    a, c = signs("a"), signs("c")
    np.testing.assert_allclose(x[1, 1:22], unit(3 * a / np.sqrt(3) + c / np.sqrt(2)), atol=1e-6)
    np.testing.assert_allclose(x[:, 0], structural_features(IDS, pairs)[:, 0])


def test_weights_count_relative_to_each_other_however_large():
    pairs, weights = np.array([[0, 1, 2], [1, 2, 3]]), np.array([3.0, 1.0, 2.0])
    x = structural_features(IDS, pairs, weights)
    for factor in (1e-200, 1e300 / 3):
        np.testing.assert_allclose(structural_features(IDS, pairs, weights * factor), x, atol=1e-5)
    nothing = structural_features(IDS, pairs, weights * 0)
    np.testing.assert_array_equal(nothing[:, 0], x[:, 0])
    assert not nothing[:, 1:].any()


_PAIRS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=15)


@given(_PAIRS, st.permutations(range(6)))
def test_order_direction_repeats_and_loops_do_not_matter(pairs, order):
    ids = [f"n{number}" for number in range(6)]
    edges = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    x = structural_features(ids, edges)
    assert np.isfinite(x).all()
    lengths = np.linalg.norm(x[:, 1:22], axis=1)
    assert np.all((lengths < 1e-6) | (abs(lengths - 1) < 1e-5))
    messy = np.concatenate([edges[::-1], edges, np.array([[3], [3]])], axis=1)
    np.testing.assert_array_equal(structural_features(ids, messy), x)
    place = np.argsort(order)
    moved = structural_features([ids[node] for node in order], place[edges])
    np.testing.assert_allclose(moved, x[order], atol=1e-6)


def test_a_node_keeps_its_features_when_the_graph_grows_elsewhere():
    fitted = Structural.fit(PATH, 4)
    x = fitted.encode(IDS, PATH)
    grown = np.concatenate([PATH, np.array([[4, 5], [3, 4]])], axis=1)
    again = fitted.encode([*IDS, "e", "f"], grown)
    np.testing.assert_array_equal(again[:3], x[:3])
    assert again[3].any()
    assert structural_features([*IDS, "e", "f"], grown)[0, 0] != x[0, 0]


def test_a_graph_of_equal_degrees_has_no_degree_to_tell():
    assert not structural_features(IDS, np.array([[0, 2], [1, 3]]))[:, 0].any()
    assert not structural_features(IDS, np.zeros((2, 0), np.int64)).any()


def test_the_scale_comes_back_from_json():
    fitted = Structural.fit(PATH, 4)
    assert Structural.from_json(json.loads(json.dumps(fitted.to_json()))) == fitted


@pytest.mark.parametrize("stored", [None, [], {"mean": 0}, {"mean": 0, "std": -1}, {"mean": float("nan"), "std": 1}])
def test_a_damaged_scale_is_refused(stored):
    with pytest.raises(DataError):
        Structural.from_json(stored)
