import numpy as np
import torch
from sklearn.utils.class_weight import compute_class_weight
from torch.testing import assert_close

from graphmix.method import balance_targets, class_weights


def test_a_class_weighs_as_its_rarity():
    # Six labels, three classes: 6 / (3 · 3), 6 / (3 · 2), 6 / (3 · 1).
    labels = torch.tensor([0, 0, 0, 1, 1, 2])
    assert_close(class_weights(labels, 3), torch.tensor([2 / 3, 1.0, 2.0]))
    expected = compute_class_weight("balanced", classes=np.arange(3), y=labels.numpy())
    assert_close(class_weights(labels, 3), torch.tensor(expected, dtype=torch.float32))


def test_every_trial_has_weights_of_its_own_and_padding_counts_for_nothing():
    labels = torch.tensor([[0, 0, 0, 1], [1, 0, -1, -1]])
    assert_close(class_weights(labels, 2), torch.tensor([[4 / 6, 2.0], [1.0, 1.0]]))


def test_a_class_without_a_label_weighs_nothing():
    assert_close(class_weights(torch.tensor([1, 1, 3]), 4), torch.tensor([0.0, 3 / 8, 0.0, 3 / 4]))


def test_balanced_targets_hold_as_much_of_every_class():
    rows = torch.rand(2, 50, 3, generator=torch.Generator().manual_seed(0)) * torch.tensor([5.0, 1.0, 1.0])
    targets = rows / rows.sum(-1, keepdim=True)
    weight = torch.full((1, 50), 1 / 50)
    balanced = balance_targets(targets, weight)
    assert_close((balanced * weight[..., None]).sum(1), torch.full((2, 3), 1 / 3))
    # Classes are scaled, not nodes: the same factor in every row.
    factor = balanced / targets
    assert_close(factor, factor[:, :1].expand_as(factor))


def test_a_class_hardly_predicted_is_not_blown_up():
    targets = torch.tensor([[[1.0, 0.0], [0.999, 0.001]]])
    balanced = balance_targets(targets, torch.tensor([[0.5, 0.5]]))
    assert_close(balanced[0, 1, 1], torch.tensor(0.01))
    assert_close(balanced[0, 0, 0], torch.tensor(0.5 / 0.9995))


def test_nodes_that_weigh_nothing_have_no_say():
    targets = torch.tensor([[[0.75, 0.25], [0.25, 0.75], [1.0, 0.0]]])
    padded = balance_targets(targets, torch.tensor([[0.5, 0.5, 0.0]]))
    assert_close(padded, targets)
