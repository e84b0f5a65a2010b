import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from graphmix.method import LOSSES, accuracy, align, cross_entropy, log_softmax, ramp_up, sharpen, softmax


@settings(deadline=None)
@given(
    logits=st.lists(st.lists(st.floats(-30, 30), min_size=4, max_size=4), min_size=1, max_size=6),
    temperature=st.sampled_from([0.05, 0.1, 0.5, 1.0, 2.0]),
)
def test_sharpening_keeps_the_argmax_and_rows_sum_to_one(logits, temperature):
    probabilities = torch.tensor(logits).softmax(-1)[None]
    sharp = sharpen(probabilities, temperature)
    assert_close(sharp.sum(-1), torch.ones_like(sharp[..., 0]))
    largest = probabilities.argmax(-1, keepdim=True)
    assert torch.equal(sharp.gather(-1, largest), sharp.amax(-1, keepdim=True))


def test_aligning_by_hand():
    predictions = torch.tensor([[[0.8, 0.2], [0.4, 0.6]]])
    weight, shares = torch.tensor([[0.5, 0.5]]), torch.tensor([[0.3, 0.7]])
    # Their mean is (0.6, 0.4), so the classes are multiplied by 1/2 and 7/4, over the row's sum.
    wanted = torch.tensor([[[8 / 15, 7 / 15], [4 / 25, 21 / 25]]])
    assert_close(align(predictions, weight, shares, 1.0), wanted)
    assert_close(align(predictions, weight, shares, 0.0), predictions)
    root = torch.tensor([0.4 * 0.5**0.5, 0.6 * 1.75**0.5])
    assert_close(align(predictions, weight, shares, 0.5)[0, 1], root / root.sum())


def test_aligning_ignores_nodes_of_no_weight_and_survives_classes_without_a_share():
    predictions = torch.tensor([[[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]])
    weight, shares = torch.tensor([[0.5, 0.5, 0.0]]), torch.tensor([[0.0, 1.0, 0.0]])
    aligned = align(predictions, weight, shares, 1.0)
    assert aligned.isfinite().all()
    assert_close(aligned.sum(-1), torch.ones(1, 3))
    assert_close(aligned[0, 1], torch.tensor([0.0, 1.0, 0.0]))
    # The third node has no weight: without it the others are what they were.
    assert_close(align(predictions[:, :2], weight[:, :2], shares, 1.0), aligned[:, :2])


def test_sharpening_by_hand():
    # T = 1/2 squares: 0.64, 0.04, over their sum.
    assert_close(sharpen(torch.tensor([[0.8, 0.2]]), 0.5), torch.tensor([[16 / 17, 1 / 17]]))
    assert_close(sharpen(torch.tensor([[0.7, 0.3]]), 1.0), torch.tensor([[0.7, 0.3]]))
    assert_close(sharpen(torch.tensor([[1.0, 0.0]]), 0.1), torch.tensor([[1.0, 0.0]]))


@pytest.mark.parametrize(
    ("epoch", "share"),
    [(0, 0.0), (499, 0.0), (500, math.exp(-5)), (750, math.exp(-1.25)), (1000, 1.0), (1999, 1.0)],
)
def test_ramp_at_its_ends_and_middle(epoch, share):
    assert ramp_up(epoch, 500, 1000, peak=10.0) == pytest.approx(10 * share)


def test_ramp_of_the_released_code_starts_above_zero():
    assert ramp_up(0, 500, 1000, peak=10.0, before=math.exp(-5)) == pytest.approx(10 * math.exp(-5))


def test_a_ramp_without_length_is_a_step():
    assert [ramp_up(epoch, 5, 5, peak=2.0) for epoch in (4, 5, 6)] == [0.0, 2.0, 2.0]


def test_cross_entropy_against_torch():
    logits, targets = torch.randn(3, 8, 5), torch.rand(3, 8, 5).softmax(-1)
    expected = [F.cross_entropy(logits[trial], targets[trial]) for trial in range(3)]
    assert_close(cross_entropy(logits, targets, torch.full((1, 8), 1 / 8)), torch.stack(expected))


def test_binary_cross_entropy_against_torch():
    logits, targets = torch.randn(3, 8, 5), torch.rand(3, 8, 5).softmax(-1)
    ours = LOSSES["binary-cross-entropy"](logits, targets, torch.full((1, 8), 1 / 8))
    expected = [F.binary_cross_entropy(logits[trial].softmax(-1), targets[trial]) for trial in range(3)]
    assert_close(ours, torch.stack(expected))


@pytest.mark.parametrize("loss", LOSSES.values())
def test_losses_ignore_nodes_without_weight_and_stay_finite(loss):
    logits = torch.tensor([[[100.0, -100.0], [-100.0, 100.0]]], requires_grad=True)
    targets = torch.tensor([[[1.0, 0.0], [1.0, 0.0]]])
    assert loss(logits, targets, torch.tensor([[1.0, 0.0]])).item() == pytest.approx(0.0, abs=1e-5)
    total = loss(logits, targets, torch.tensor([[0.5, 0.5]]))
    assert total.isfinite()
    total.sum().backward()
    assert logits.grad.isfinite().all()


def test_softmax_is_torchs():
    logits = torch.randn(2, 9, 4)
    assert_close(softmax(logits), logits.softmax(-1))
    assert_close(log_softmax(logits), logits.log_softmax(-1))


def test_accuracy_counts_labeled_nodes_and_gives_ties_to_the_first_class():
    logits = torch.tensor([[[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]])
    assert accuracy(logits, torch.tensor([[0, 0, 0, -1]])).item() == pytest.approx(2 / 3)
    assert accuracy(logits, torch.tensor([[1, 1, 1, 1]])).item() == 0.5
    assert accuracy(logits, torch.tensor([[-1, -1, -1, -1]])).isnan().all()
