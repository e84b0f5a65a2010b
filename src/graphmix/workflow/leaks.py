"""Columns that give the class away: nearly perfect alone, on labels that were held out.

The rule. A small decision tree, with twice as many leaves as there are classes but at least 8, sees one column alone.
The labels are dealt into five folds, and each is predicted by a tree that learned from the other four; classes with
fewer than five labels are left aside. A column is suspicious if

1. at least 97 % of the labels are predicted correctly, and so are 97 % on the mean over the classes, so that a large
   class alone does not suffice; and
2. that is no accident: someone who always says the largest class would be right as often with a probability below
   0.1 %, divided by the number of columns. So no column is suspicious with fewer than 20 labels.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphmix.tables.encoders import Encoders
from graphmix.tables.table import named_in, quoted
from graphmix.text import counted

RIGHT = 0.97
CHANCE = 0.001
FEWEST = 20
_FOLDS = 5
_LEAVES = 8
# More labels would only take longer.
_MOST_LABELS = 2_000

Ints = NDArray[np.int64]


def leak_warnings(encoders: Encoders | None, x: Any, y: Ints, label: str, known: Sequence[str] = ()) -> list[str]:
    """Warn of columns that give the class away.

    Args:
        encoders: what made the features; None if there are none.
        x: the features `[rows, features]`, a numpy or a scipy sparse array.
        y: int64 `[rows]`, the labels to learn from; negative where there is none.
        label: the column of the labels.
        known: columns that need no second warning.
    """
    rows = _rows(y)
    if encoders is None or len(rows) < FEWEST:
        return []
    classes, order = y[rows], np.random.default_rng(0).permutation(len(rows))
    folds = np.empty(len(rows), dtype=np.int64)
    for name in np.unique(classes):
        members = order[classes[order] == name]
        folds[members] = np.arange(len(members)) % _FOLDS
    kept = x[rows].tocsc() if sp.issparse(x) else x[rows]
    warnings, first = [], 0
    for column in encoders.columns:
        width = len(column.feature_names)
        own, first = kept[:, first : first + width], first + width
        if column.name in known or not width:
            continue
        right = _right(own, classes, folds)
        if right is not None and _is_no_accident(right, classes, len(encoders.columns)):
            warnings.append(_warning(column.name, label, right, len(rows)))
    return warnings


def _rows(y: Ints) -> Ints:
    """Return rows to look at: labeled ones, not too many, of classes with a label for every fold."""
    labeled = np.flatnonzero(y >= 0)
    if len(labeled) > _MOST_LABELS:
        labeled = np.sort(np.random.default_rng(0).choice(labeled, _MOST_LABELS, replace=False))
    sizes = np.bincount(y[labeled], minlength=1)
    labeled = labeled[sizes[y[labeled]] >= _FOLDS]
    return labeled if len(np.unique(y[labeled])) > 1 else labeled[:0]


def _right(x: Any, classes: Ints, folds: Ints) -> int | None:
    """Return how many labels `[rows]` a tree that has not seen them predicts; None if it is not nearly all."""
    from sklearn.tree import DecisionTreeClassifier

    leaves = max(_LEAVES, 2 * len(np.unique(classes)))
    tree = DecisionTreeClassifier(max_leaf_nodes=leaves, class_weight="balanced", random_state=0)
    # Nearly every column fails even on labels that the tree has seen.
    if not _is_right(tree.fit(_narrow(x), classes).predict(_narrow(x)), classes):
        return None
    predicted = np.empty_like(classes)
    for fold in range(_FOLDS):
        held = np.flatnonzero(folds == fold)
        seen = np.flatnonzero(folds != fold)
        predicted[held] = tree.fit(_narrow(x[seen]), classes[seen]).predict(_narrow(x[held]))
    return int((predicted == classes).sum()) if _is_right(predicted, classes) else None


def _narrow(x: Any) -> Any:
    """Return features with 32-bit indices, the only ones that scikit-learn's trees take."""
    if not sp.issparse(x):
        return x
    rows = x.tocsr()
    narrow = (each.astype(np.int32) for each in (rows.indices, rows.indptr))
    return sp.csr_matrix((rows.data, *narrow), shape=rows.shape)


def _is_right(predicted: Ints, classes: Ints) -> bool:
    hits = predicted == classes
    each = [hits[classes == name].mean() for name in np.unique(classes)]
    return bool(hits.mean() >= RIGHT and np.mean(each) >= RIGHT)


def _is_no_accident(right: int, classes: Ints, columns: int) -> bool:
    from scipy.stats import binom

    largest = np.bincount(classes).max() / len(classes)
    return bool(binom.sf(right - 1, len(classes), largest) < CHANCE / columns)


def _warning(name: str, label: str, right: int, labels: int) -> str:
    alone = f"column {quoted(name)} gives the label {quoted(label)} away"
    how = f"alone it predicts {right:,} of {counted(labels, 'held-out label')}"
    return f"{alone}: {how}; if it is known only once the label is, leave it out with {named_in('ignore', [name])}."
