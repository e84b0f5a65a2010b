"""Split labels that come without a split into folds, class by class, so that each label is held out once."""

import hashlib

import numpy as np
from numpy.typing import NDArray

from graphmix.data.checks import UNKNOWN
from graphmix.data.graph import Graph
from graphmix.data.split import Split
from graphmix.errors import DataError

FOLDS = 5
NAME = "folds"


def fold_split(graph: Graph, trials: int, seed: int = 0) -> Split:
    """Hold out one fold of the labeled nodes in each trial, select by the next, and train on the other three.

    The labeled nodes of each class are assigned to five folds at random. Trial t holds out fold t, selects its epoch
    by the next fold and trains on the others; after every fifth trial the folds are drawn again. Training sees three
    fifths of the labels of every class, and five trials hold out nearly every label. A label is only held out if its
    class is trained on: a class with a single label is always trained on.

    Args:
        graph: the graph; nodes with a label are used.
        trials: number of trials.
        seed: seed of the folds.

    Returns:
        Masks `[trials, nodes]`; the test masks are the held-out labels.

    Raises:
        DataError: there are too few labels to train on, to select by and to hold out.
    """
    labels = graph.y.cpu().numpy()
    deals = [_deal(labels, FOLDS, _generator(seed, turn)) for turn in range(-(-trials // FOLDS))]
    train, val, test = np.zeros((3, trials, len(labels)), dtype=np.bool_)
    for trial in range(trials):
        turn, fold = divmod(trial, FOLDS)
        train[trial], val[trial], test[trial] = _roles(labels, deals[turn], fold, FOLDS)
    if not (val.any(axis=1).all() and test.any()):
        raise DataError(
            f"{graph.name} has too few labels: at least one class needs three labels, to train on, to select by and "
            "to hold out; label more nodes"
        )
    return Split.build(train, val, test, NAME, tuple(seed + trial for trial in range(trials)), held_out=True)


def _roles(
    labels: NDArray[np.int64], fold_of: NDArray[np.int64], fold: int, folds: int
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
    """Return the training, validation and held-out nodes `[nodes]` of the trial that holds out a fold."""
    known = labels != UNKNOWN
    test = known & (fold_of == fold)
    val = known & (fold_of == (fold + 1) % folds)
    train = known & ~test & ~val
    trained = np.bincount(labels[train], minlength=labels.max() + 1)
    # Both labels of a small class may be held out or selected by: its class must be trained on.
    for role in (test, val):
        unseen = role & (trained[np.maximum(labels, 0)] == 0)
        train, trained = train | unseen, trained + np.bincount(labels[unseen], minlength=len(trained))
        role &= ~unseen
    return train, val, test


def _deal(labels: NDArray[np.int64], folds: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Assign each class's nodes to folds: int64 `[nodes]`, -1 for nodes without a label."""
    order = rng.permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]
    order = order[labels[order] != UNKNOWN]
    # The count continues from class to class, so that the first folds do not get all the remainders.
    fold_of = np.full(len(labels), -1)
    fold_of[order] = np.arange(len(order)) % folds
    return fold_of


def _generator(seed: int, turn: int) -> np.random.Generator:
    rule = int.from_bytes(hashlib.sha256(NAME.encode()).digest()[:8], "little")
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence((rule, seed, turn))))
