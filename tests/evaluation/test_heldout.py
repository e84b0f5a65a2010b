"""Held-out predictions, by hand: a label counts only where a trial had not seen it."""

import numpy as np
import pytest
import torch

from graphmix.data import Split
from graphmix.evaluation.heldout import ensemble, hold_out, judged_nodes

FIRST = [[0.9, 0.1], [0.2, 0.8], [0.5, 0.5], [0.3, 0.7]]
SECOND = [[0.6, 0.4], [0.7, 0.3], [0.1, 0.9], [0.4, 0.6]]
BOTH = torch.tensor([FIRST, SECOND])
Y = torch.tensor([0, 0, 1, 1])


def mask(*texts):
    return torch.tensor([[letter == "x" for letter in text] for text in texts])


def test_a_node_counts_for_the_trials_that_held_it_out():
    held = hold_out(BOTH, mask("xx..", ".x.x"), Y)
    np.testing.assert_array_equal(held.nodes, [0, 1, 3])
    np.testing.assert_array_equal(held.labels, [0, 0, 1])
    # Node 0 was held out by the first trial, node 1 by both, node 3 by the second.
    np.testing.assert_allclose(held.probabilities, [[0.9, 0.1], [0.45, 0.55], [0.4, 0.6]], atol=1e-7)
    # Of node 1 the first trial was wrong and the second right, but their mean is wrong.
    np.testing.assert_array_equal(held.right, [1, 0, 1])
    np.testing.assert_array_equal(held.predicted, [0, 1, 1])


def test_one_mask_is_that_of_every_trial():
    held = hold_out(BOTH, mask("..xx"), Y)
    np.testing.assert_array_equal(held.nodes, [2, 3])
    np.testing.assert_allclose(held.probabilities, [[0.3, 0.7], [0.35, 0.65]], atol=1e-7)
    # The first trial is torn about node 2; their mean is not.
    np.testing.assert_array_equal(held.right, [1, 1])


def test_rows_sum_to_one_though_float32_does_not():
    torch.manual_seed(0)
    probabilities = torch.softmax(torch.randn(3, 50, 7), dim=2)
    held = hold_out(probabilities, torch.ones(1, 50, dtype=torch.bool), torch.zeros(50, dtype=torch.int64))
    assert (probabilities.double().sum(dim=2) != 1).any()
    np.testing.assert_allclose(held.probabilities.sum(axis=1), 1, rtol=0, atol=1e-15)


@pytest.mark.parametrize(("held_out", "role"), [(True, "test"), (False, "val")])
def test_a_given_test_set_judges_nothing(held_out, role):
    split = Split.build(mask("x..."), mask(".x.."), mask("..x."), "folds", held_out=held_out)
    assert judged_nodes(split) is getattr(split, role)


def test_an_ensemble_is_the_mean_of_its_trials():
    np.testing.assert_allclose(ensemble(BOTH), (np.array(FIRST) + np.array(SECOND)) / 2, atol=1e-7)
    np.testing.assert_allclose(ensemble(BOTH).sum(axis=1), 1, rtol=0, atol=1e-15)
