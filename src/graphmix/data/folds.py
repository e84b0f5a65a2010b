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
    """Hold out one fold of the labeled nodes in each trial, and train on the other four.

    The labeled nodes of each class are assigned to five folds at random. Trial t holds out fold t; after every fifth
    trial the folds are drawn again. Training sees four fifths of the labels of every class, and five trials hold out
    nearly every label. A label is only held out if its class is trained on: a class with a single label is always
    trained on.

    Args:
        graph: the graph; nodes with a label are used.
        trials: number of trials.
        seed: seed of the folds.

    Returns:
        Masks `[trials, nodes]`; the validation masks are the held-out labels, and there are no test nodes.

    Raises:
        DataError: there are too few labels to train on and to hold out.
    """
    labels = graph.y.cpu().numpy()
    deals = [_deal(labels, FOLDS, _generator(seed, turn)) for turn in range(-(-trials // FOLDS))]
    train, held = np.zeros((2, trials, len(labels)), dtype=np.bool_)
    for trial in range(trials):
        turn, fold = divmod(trial, FOLDS)
        train[trial], held[trial] = _roles(labels, deals[turn], fold)
    if not held.any(axis=1).all():
        raise DataError(
            f"{graph.name} has too few labels: each of {FOLDS} folds must hold out a label of a class that has another "
            "to train on; label more nodes"
        )
    none = np.zeros_like(held)
    return Split.build(train, held, none, NAME, tuple(seed + trial for trial in range(trials)), held_out=True)


def _roles(
    labels: NDArray[np.int64], fold_of: NDArray[np.int64], fold: int
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return the training and the held-out nodes `[nodes]` of the trial that holds out a fold."""
    known = labels != UNKNOWN
    held = known & (fold_of == fold)
    train = known & ~held
    trained = np.bincount(labels[train], minlength=labels.max() + 1)
    # All labels of a small class may be in one fold: its class must be trained on.
    unseen = held & (trained[np.maximum(labels, 0)] == 0)
    return train | unseen, held & ~unseen


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
