"""Split: masks of one shape that do not overlap and leave something to learn from."""

import dataclasses

import numpy as np
import pytest
import torch

from graphmix.data import Graph, Split
from graphmix.errors import DataError


def mask(*rows):
    return torch.tensor(rows, dtype=torch.bool)


def three_trials():
    train = mask([1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0])
    val = mask([0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1])
    test = mask([0, 0, 1, 0], [0, 0, 0, 1], [1, 0, 0, 0])
    return {"train": train, "val": val, "test": test}


@pytest.mark.parametrize("kind", [list, np.array, lambda rows: torch.tensor(rows)])
def test_build_takes_flat_masks_of_any_kind(kind):
    split = Split.build(kind([True, False, False]), kind([False, True, False]), kind([False] * 3), name="mine")
    assert split.train.tolist() == [[True, False, False]]
    assert split.unlabeled.tolist() == [[False, True, True]]
    assert split.num_splits == 1
    assert repr(split) == "Split('mine': 1 x 1 / 1 / 0 of 3 nodes)"


def test_a_split_is_frozen_and_keeps_no_hold_on_its_input():
    train = np.array([True, False])
    split = Split.build(train, ~train, np.zeros(2, dtype=bool))
    train[:] = False
    assert split.train.any()
    with pytest.raises(dataclasses.FrozenInstanceError):
        split.train = split.val


def test_select_takes_trials_and_shares_a_single_split():
    split = Split(**three_trials())
    assert torch.equal(split.select(1, 3).train, split.train[1:3])
    assert torch.equal(split.select(1, 3).unlabeled, ~split.train[1:3])
    one = split.select(2, 3)
    assert one.select(0, 50) is one
    with pytest.raises(DataError, match="trials 2 to 3 were asked of a split for 3 trials"):
        split.select(2, 4)


def test_to_moves_all_masks():
    split = Split(**three_trials()).to("cpu")
    assert split.name == "custom"
    assert torch.equal(split.test, three_trials()["test"])


def wrong_splits():
    masks = three_trials()
    no_train, no_val, overlap = masks["train"].clone(), masks["val"].clone(), masks["test"].clone()
    no_train[2], no_val[1], overlap[1, 1] = False, False, True
    both = mask([0, 1])
    return [
        (masks | {"train": no_train}, "trial 2 has no training nodes"),
        (masks | {"val": no_val}, "trial 1 has no validation nodes"),
        (masks | {"test": overlap}, "trial 1 overlaps: node 1 is in both the training and the test mask"),
        (
            {"train": both, "val": both, "test": ~both},
            "the split overlaps: node 1 is in both the training and the validation mask",
        ),
        ({"train": ~(both | True), "val": both, "test": ~both}, "the split has no training nodes"),
        (masks | {"val": masks["val"].long()}, r"validation mask must be bool .* but it is int64 \[3, 4\]"),
        (masks | {"test": masks["test"][0]}, r"the test mask must be bool .* but it is bool \[4\]"),
        (
            masks | {"test": masks["test"][:, :3]},
            r"one shape, but they are training \[3, 4\], .* test \[3, 3\]",
        ),
    ]


@pytest.mark.parametrize(("masks", "message"), wrong_splits(), ids=[message for _, message in wrong_splits()])
def test_wrong_masks_are_named(masks, message):
    with pytest.raises(DataError, match=message):
        Split(**masks)


def test_check_holds_a_split_to_its_graph():
    split = Split(**three_trials())
    split.check(Graph.build(np.ones((4, 1)), [[], []], [0, 1, 0, 1]))
    with pytest.raises(DataError, match="the split has 4 nodes, but the graph has 2"):
        split.check(Graph.build(np.ones((2, 1)), [[], []], [0, 1]))
    with pytest.raises(DataError, match=r"trial 1 uses node 3, whose label is unknown \(-1\)"):
        split.check(Graph.build(np.ones((4, 1)), [[], []], [0, 1, 0, -1]))
