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


def test_seeds_are_recorded_shown_and_moved():
    split = Split(**three_trials(), name="drawn", seeds=(4, 0, 4))
    assert repr(split) == "Split('drawn': 3 x 1 / 1 / 1 of 4 nodes, seeds 4, 0, 4)"
    assert split.to("cpu").seeds == (4, 0, 4)
    masks = {role: mask[:1] for role, mask in three_trials().items()}
    assert repr(Split(**masks, seeds=(7,))).endswith("of 4 nodes, seed 7)")
    masks = {role: mask[:1].repeat(100, 1) for role, mask in three_trials().items()}
    assert repr(Split(**masks, seeds=tuple(range(100)))).endswith("seeds 0, 1, 2, …, 99)")
    with pytest.raises(DataError, match="there are 3 splits, but 2 seeds"):
        Split(**three_trials(), seeds=(1, 2))


@pytest.mark.parametrize("seeds", [None, (0, 5, 2**62)])
def test_a_saved_split_comes_back_and_a_second_save_replaces_it(tmp_path, seeds):
    path = tmp_path / "split.npz"
    Split(**{role: mask[:1] for role, mask in three_trials().items()}).save(path)
    Split(**three_trials(), name="Über-split", seeds=seeds).save(path)
    back = Split.load(str(path))
    assert (back.name, back.seeds) == ("Über-split", seeds)
    for role, mask in three_trials().items():
        assert torch.equal(getattr(back, role), mask)
    assert [file.name for file in tmp_path.iterdir()] == ["split.npz"]


def damaged():
    whole = {role: value.numpy() for role, value in three_trials().items()} | {"name": np.array("x")}
    return [
        ({"train": whole["train"]}, "has no array 'val'"),
        (whole | {"test": whole["train"]}, "trial 0 overlaps: node 0 is in both the training and the test mask"),
        (whole | {"val": np.ones((3, 4))}, "a mask must be bool .* but its type is float64"),
        (whole | {"seeds": np.array([1, 2])}, "there are 3 splits, but 2 seeds"),
        (whole | {"seeds": np.array(["a"])}, r"seeds must be whole numbers \[splits\], not <U1 \[1\]"),
        (whole | {"train": np.array([{}])}, "cannot be read as a split: it is not an .npz file of plain arrays"),
    ]


@pytest.mark.parametrize(("arrays", "message"), damaged(), ids=[message for _, message in damaged()])
def test_a_file_that_holds_no_split_is_named(tmp_path, arrays, message):
    path = tmp_path / "mine.npz"
    np.savez(path, **arrays)
    with pytest.raises(DataError, match=f"mine.npz:? {message}") as caught:
        Split.load(path)
    assert "\n" not in str(caught.value)


def test_a_file_cut_short_flipped_or_missing_is_named(tmp_path):
    path = tmp_path / "mine.npz"
    Split(**three_trials()).save(path)
    content = path.read_bytes()
    place = content.index(b"PK", 4) - 3
    flipped = content[:place] + bytes([content[place] ^ 255]) + content[place + 1 :]
    for wrong in (b"", content[: len(content) // 2], flipped):
        path.write_bytes(wrong)
        with pytest.raises(DataError, match=r"mine\.npz cannot be read as a split"):
            Split.load(path)
    path.unlink()
    with pytest.raises(DataError, match=r"mine\.npz cannot be read: No such file"):
        Split.load(path)
    with pytest.raises(DataError, match=r"nowhere/mine\.npz cannot be written: No such file"):
        Split(**three_trials()).save(tmp_path / "nowhere" / "mine.npz")


def test_to_moves_all_masks():
    split = Split(**three_trials()).to("cpu")
    assert split.name == "custom"
    assert torch.equal(split.test, three_trials()["test"])


def test_there_may_be_no_validation_nodes_at_all(tmp_path):
    masks = three_trials()
    split = Split(**(masks | {"val": torch.zeros_like(masks["val"])}))
    assert (split.has_validation, Split(**masks).has_validation) == (False, True)
    Split(**masks).require_validation()
    with pytest.raises(DataError, match="trial 0 has no validation nodes"):
        split.require_validation()
    split.save(tmp_path / "none.npz")
    assert not Split.load(tmp_path / "none.npz").has_validation


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
