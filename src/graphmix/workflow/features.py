"""From the columns of a table to features and classes."""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from torch import Tensor

from graphmix.data.checks import UNKNOWN
from graphmix.sparse import SparseMatrix
from graphmix.tables.choosing import choose_kinds
from graphmix.tables.encoders import Encoders
from graphmix.tables.table import Table, some_of
from graphmix.text import name_for_screen
from graphmix.workflow.columns import Columns

# Features are stored as a dense matrix if a larger share than this is not zero.
_DENSE = 0.3
# How many columns of one kind a sentence names.
_NAMED = 8
_LONGEST = 80
_WHOLE = re.compile(r"-?[0-9]{1,18}")


def number_classes(labels: Sequence[str | None]) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Number the classes in the order of their names; by size if all names are whole numbers.

    Returns:
        The names, and the numbers int64 `[nodes]`, -1 where there is no label.
    """
    names = {label for label in labels if label is not None}
    numeric = all(_WHOLE.fullmatch(name) for name in names)
    ordered = tuple(sorted(names, key=lambda name: (int(name), name) if numeric else (0, name)))
    place = {name: number for number, name in enumerate(ordered)}
    return ordered, np.array([UNKNOWN if label is None else place[label] for label in labels], dtype=np.int64)


def encode(table: Table, used: Collection[str], columns: Columns) -> tuple[Encoders | None, Any, list[str]]:
    """Turn the columns of a table into features.

    Args:
        table: the table.
        used: columns that are not features.
        columns: which columns to use and to ignore.

    Returns:
        The encoders, the features `[rows, features]`, and notes; None and None if no column is a feature.
    """
    kinds, notes = choose_kinds(table, exclude=used, asked=columns.features, ignore=columns.ignore)
    encoders = Encoders.fit(table, kinds)
    if not encoders.width:
        return None, None, notes
    encoded = encoders.encode(table)
    return encoders, _compact(encoded.x), [_listed(kinds), *notes, *encoded.notes]


def stack(old: SparseMatrix | Tensor, new: sp.csr_array) -> Any:
    """Append new rows `[new, features]` to old ones `[old, features]`; the result is dense if the old rows are."""
    if isinstance(old, Tensor):
        return np.concatenate([old.numpy(), new.toarray().astype(np.float32)])
    return sp.vstack([old.to_scipy(), new]).tocsr()


def _compact(x: sp.csr_array) -> sp.csr_array | NDArray[np.float32]:
    """Make features `[nodes, features]` dense if few of them are zero."""
    full = x.nnz > _DENSE * x.shape[0] * x.shape[1]
    return x.toarray() if full else x


def _listed(kinds: Mapping[str, str]) -> str:
    """Say which columns are features: `features: year, age (number); title (text)`."""
    named = []
    for kind in dict.fromkeys(kinds.values()):
        columns = [name for name, found in kinds.items() if found == kind]
        named.append(f"{some_of([name_for_screen(name, _LONGEST) for name in columns], _NAMED)} ({kind})")
    return f"features: {'; '.join(named)}"
