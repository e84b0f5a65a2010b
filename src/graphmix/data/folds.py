"""Labels that come without a split: cut into folds, class by class, so that each is held out once."""

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
    """Give every trial its own part of the labeled nodes to be tested on, and split the rest by class.

    The labeled nodes of each class are dealt out at random to five folds. Trial t is tested on fold t, selects its
    epoch by the next one and trains on the others; after the last fold the nodes are dealt out anew. So training sees
    three fifths of the labels, of every class, and five trials hold nearly every label out: what is judged must have
    been seen, and a class with a single label is always trained on.

    Args:
        graph: its labels are what counts.
        trials: how many trials there are.
        seed: of the dealing.

    Returns:
        Masks `[trials, nodes]`.

    Raises:
        DataError: there are too few labels to train on some, select by others and hold one out.
    """
    labels = graph.y.cpu().numpy()
    deals = [_deal(labels, FOLDS, _generator(seed, turn)) for turn in range(-(-trials // FOLDS))]
    train, val, test = np.zeros((3, trials, len(labels)), dtype=np.bool_)
    for trial in range(trials):
        turn, fold = divmod(trial, FOLDS)
        train[trial], val[trial], test[trial] = _roles(labels, deals[turn], fold, FOLDS)
    if not (val.any(axis=1).all() and test.any()):
        raise DataError(
            f"{graph.name} has too few labels: in some class there must be three, one to learn from, one to select by, "
            "one to judge by; label more nodes"
        )
    return Split.build(train, val, test, NAME, tuple(seed + trial for trial in range(trials)))


def _roles(
    labels: NDArray[np.int64], fold_of: NDArray[np.int64], fold: int, folds: int
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
    """Training, validation and test nodes `[nodes]` of the trial that holds a fold out."""
    known = labels != UNKNOWN
    test = known & (fold_of == fold)
    val = known & (fold_of == (fold + 1) % folds)
    train = known & ~test & ~val
    trained = np.bincount(labels[train], minlength=labels.max() + 1)
    # A class of one or two labels may have both held back: what is judged must have been seen.
    for role in (test, val):
        unseen = role & (trained[np.maximum(labels, 0)] == 0)
        train, trained = train | unseen, trained + np.bincount(labels[unseen], minlength=len(trained))
        role &= ~unseen
    return train, val, test


def _deal(labels: NDArray[np.int64], folds: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Deal each class's nodes out: which fold a node is in, int64 `[nodes]`."""
    order = rng.permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]
    order = order[labels[order] != UNKNOWN]
    # Dealt on from class to class, so that the last classes' leftovers do not all fall to the first folds.
    fold_of = np.full(len(labels), -1)
    fold_of[order] = np.arange(len(order)) % folds
    return fold_of


def _generator(seed: int, turn: int) -> np.random.Generator:
    rule = int.from_bytes(hashlib.sha256(NAME.encode()).digest()[:8], "little")
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence((rule, seed, turn))))
