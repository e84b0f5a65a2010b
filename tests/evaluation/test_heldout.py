"""Held-out predictions, by hand, and stored as tensors."""

import numpy as np
import pytest
import torch

from graphmix.evaluation.heldout import HeldOut, ensemble, held_out, pack_held, unpack_held

FIRST = [[0.9, 0.1], [0.2, 0.8], [0.5, 0.5], [0.3, 0.7]]
SECOND = [[0.6, 0.4], [0.7, 0.3], [0.1, 0.9], [0.4, 0.6]]
BOTH = torch.tensor([FIRST, SECOND])
Y = torch.tensor([0, 0, 1, 1, -1])


def test_labels_are_those_of_the_nodes_and_right_is_where_they_are_the_most_probable():
    held = held_out(np.array([0, 1, 3]), np.array([[0.9, 0.1], [0.45, 0.55], [0.4, 0.6]]), Y)
    np.testing.assert_array_equal(held.labels, [0, 0, 1])
    np.testing.assert_array_equal(held.right, [1, 0, 1])
    np.testing.assert_array_equal(held.predicted, [0, 1, 1])


def test_an_ensemble_is_the_mean_of_its_trials():
    np.testing.assert_allclose(ensemble(BOTH), (np.array(FIRST) + np.array(SECOND)) / 2, atol=1e-7)
    np.testing.assert_allclose(ensemble(BOTH).sum(axis=1), 1, rtol=0, atol=1e-15)


def test_rows_sum_to_one_though_float32_does_not():
    torch.manual_seed(0)
    probabilities = torch.softmax(torch.randn(3, 50, 7), dim=2)
    assert (probabilities.double().sum(dim=2) != 1).any()
    np.testing.assert_allclose(ensemble(probabilities).sum(axis=1), 1, rtol=0, atol=1e-15)


def both_held():
    nodes = np.array([0, 1, 2, 3])
    return {"gcn": held_out(nodes, np.array(FIRST), Y), "a.b-fcn": held_out(nodes, np.array(SECOND), Y)}


def test_what_is_packed_is_read_back():
    held = both_held()
    read = unpack_held(pack_held(held), 2)
    assert read.keys() == held.keys()
    for name, one in read.items():
        assert isinstance(one, HeldOut)
        for field, values in vars(one).items():
            np.testing.assert_array_equal(values, getattr(held[name], field))


@pytest.mark.parametrize(
    ("name", "change", "error"),
    [
        ("gcn.probabilities", lambda tensor: tensor[:3], "sizes"),
        ("gcn.probabilities", lambda tensor: tensor[:, :1], "sizes"),
        ("gcn.probabilities", lambda tensor: tensor * float("nan"), "not probabilities of known classes"),
        ("gcn.right", lambda tensor: tensor[:3], "sizes"),
        ("labels", lambda tensor: tensor[:3], "sizes"),
        ("labels", lambda tensor: tensor - 1, "known classes"),
        ("labels", lambda tensor: tensor + 1, "known classes"),
    ],
)
def test_tensors_of_other_sizes_are_refused(name, change, error):
    packed = pack_held(both_held())
    with pytest.raises(ValueError, match=error):
        unpack_held(packed | {name: change(packed[name])}, 2)


@pytest.mark.parametrize("name", ["nodes", "labels", "gcn.right"])
def test_a_tensor_that_is_missing_is_named(name):
    packed = pack_held(both_held())
    del packed[name]
    with pytest.raises(KeyError, match=name):
        unpack_held(packed, 2)
