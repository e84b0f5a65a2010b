"""Folds of labels: each held out once, every class trained on."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmix.data import Graph, Split
from graphmix.data.folds import FOLDS, fold_split
from graphmix.errors import DataError


def graph_of(y):
    return Graph.build(np.ones((len(y), 1)), [[], []], y, max(2, max(y) + 1))


@given(st.lists(st.integers(-1, 3), min_size=12, max_size=60), st.integers(3, 12), st.integers(0, 5))
def test_every_labeled_node_has_one_part_and_what_is_held_out_was_trained_on(y, trials, seed):
    y = [0, 0, 0, 1, 1, 1, *y]
    split = fold_split(graph_of(y), trials, seed)
    known = np.array(y) >= 0
    parts = split.train.int() + split.val.int() + split.test.int()
    assert (parts.numpy() == known).all()
    for train, val, test in zip(split.train, split.val, split.test, strict=True):
        trained = set(np.array(y)[train.numpy()])
        assert set(np.array(y)[known]) == trained
        assert val.any()
        assert not test.any()


@given(st.integers(0, 100), st.integers(1, 2))
def test_with_labels_enough_five_trials_hold_each_out_just_once(seed, repeats):
    y = [label for label in range(3) for _ in range(20)] + [-1] * 7
    split = fold_split(graph_of(y), FOLDS * repeats, seed)
    assert split.val.sum(dim=0).tolist() == [repeats] * 60 + [0] * 7
    for label in range(3):
        members = slice(20 * label, 20 * label + 20)
        sizes = [mask[:, members].sum(dim=1).unique().tolist() for mask in (split.train, split.val, split.test)]
        assert sizes == [[16], [4], [0]]


def test_the_same_seed_deals_the_same_and_more_trials_change_no_earlier_one():
    y = [0, 1] * 10
    first, again, more = (fold_split(graph_of(y), trials, 7) for trials in (5, 5, 10))
    assert first.val.equal(again.val)
    assert first.val.equal(more.val[:5])
    assert not more.val[5:].equal(more.val[:5])
    assert not fold_split(graph_of(y), 5, 8).val.equal(first.val)


def test_fewer_trials_hold_fewer_folds_out_and_train_on_as_many_labels():
    y = [0, 1] * 10
    assert fold_split(graph_of(y), 3).val.sum(dim=0).tolist().count(1) == 12
    single = fold_split(graph_of(y), 1)
    assert [int(mask.sum()) for mask in (single.train, single.val, single.test)] == [16, 4, 0]


def test_a_class_of_one_label_is_always_trained_on_and_classes_of_one_are_refused():
    split = fold_split(graph_of([0] * 10 + [1]), 5)
    assert split.train[:, 10].all()
    assert not split.val[:, 10].any()
    for too_few in ([0, 1, 2, -1], [0, 0, 1, 1, -1], [0] * 4 + [1, 2]):
        with pytest.raises(DataError, match="too few labels: each of 5 folds must hold out a label"):
            fold_split(graph_of(too_few), 5)
    # Two of a class are enough where other folds have others: one is held out, the other is trained on.
    pair = fold_split(graph_of([0] * 8 + [1, 1]), 5)
    assert pair.val[:, 8:].sum(dim=0).tolist() == [1, 1]


def test_of_classes_of_two_labels_each_is_held_out_once_while_the_other_trains():
    y = [label for label in range(6) for _ in range(2)]
    for seed in range(20):
        split = fold_split(graph_of(y), 5, seed)
        assert split.val.sum(dim=0).tolist() == [1] * 12
        assert all(set(range(6)) == set(np.array(y)[train.numpy()]) for train in split.train)


def test_a_file_keeps_what_test_masks_are_for(tmp_path):
    folds = fold_split(graph_of([0, 1] * 10), 5)
    assert folds.held_out
    folds.save(tmp_path / "folds.npz")
    assert Split.load(tmp_path / "folds.npz").held_out
    given = Split.build(folds.train, folds.val, folds.test, folds.name)
    given.save(tmp_path / "given.npz")
    assert not Split.load(tmp_path / "given.npz").held_out
    arrays = dict(np.load(tmp_path / "folds.npz")) | {"held_out": np.array([1, 0])}
    np.savez(tmp_path / "odd.npz", **arrays)
    with pytest.raises(DataError, match="held_out must be true or false"):
        Split.load(tmp_path / "odd.npz")
