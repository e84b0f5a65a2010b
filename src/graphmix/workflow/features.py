"""From the columns of a table to features and classes."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from torch import Tensor

from graphmix.data.checks import UNKNOWN
from graphmix.results.columns import LEFT_OUT, ColumnUse
from graphmix.sparse import SparseMatrix
from graphmix.tables.choosing import Choice, choose_columns, used_kinds
from graphmix.tables.encoders import Encoders, read_as
from graphmix.tables.kinds import ALL_ZERO, MEAN_USED
from graphmix.tables.table import Table, named_in, quoted
from graphmix.workflow.columns import Columns

# Features are stored as a dense matrix if a larger share than this is not zero.
_DENSE = 0.3
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


class Features(NamedTuple):
    """The columns of a table as features.

    Attributes:
        encoders: what made them; None if no column is a feature.
        x: `[rows, features]`; None if no column is a feature.
        uses: what became of every column, in the table's order.
    """

    encoders: Encoders | None
    x: Any
    uses: tuple[ColumnUse, ...]


def encode(table: Table, roles: Mapping[str, str], columns: Columns) -> Features:
    """Turn the columns of a table into features.

    Args:
        table: the table.
        roles: what the columns are that are not features: ids, labels and the like.
        columns: which columns to use and to ignore.
    """
    choices = choose_columns(table, roles, columns.features, columns.ignore, columns.keep)
    encoders = Encoders.fit(table, used_kinds(choices))
    encoded = encoders.encode_each(table)
    remarks = {column.name: part.notes for column, part in zip(encoders.columns, encoded, strict=True)}
    parts = [part.x for part in encoded]
    del encoded  # so that the parts are gone one by one when they are joined
    made = {column.name: column for column in encoders.columns}
    uses = []
    for name in [*table.columns, *table.ignored]:
        if name in roles:
            uses.append(ColumnUse(table.name, name, roles[name], 0))
        elif name in made:
            remark = _remark(name, choices[name].note, remarks[name])
            uses.append(ColumnUse(table.name, name, read_as(made[name]), len(made[name].feature_names), remark))
        else:
            uses.append(ColumnUse(table.name, name, LEFT_OUT, 0, _why_not(name, choices[name])))
    if not encoders.width:
        return Features(None, None, tuple(uses))
    return Features(encoders, _joined(encoders, parts, table.rows), tuple(uses))


def stack(old: SparseMatrix | Tensor, new: sp.csr_array) -> Any:
    """Append new rows `[new, features]` to old ones `[old, features]`; the result is dense if the old rows are."""
    if isinstance(old, Tensor):
        return np.concatenate([old.numpy(), new.toarray().astype(np.float32)])
    return sp.vstack([old.to_scipy(), new]).tocsr()


def _joined(encoders: Encoders, parts: list[Any], rows: int) -> sp.csr_array | NDArray[np.float32]:
    """Join the features of all columns, `[rows, features]`; they are dense if few of them are zero."""
    filled = sum(part.nnz if sp.issparse(part) else np.count_nonzero(part) for part in parts)
    join = encoders.join_dense if filled > _DENSE * rows * encoders.width else encoders.join
    return join(parts, rows)


def _remark(name: str, note: str, notes: Sequence[str]) -> str:
    """Put together what there is to say of a column, whose name stands beside it."""
    found = [each.removeprefix(f"column {quoted(name)}: ") for each in notes]
    # What is done about missing cells is the same for every column.
    found = [each.removesuffix(MEAN_USED).removesuffix(ALL_ZERO) for each in found]
    return "; ".join(each for each in (note, *found) if each)


def _why_not(name: str, choice: Choice) -> str:
    """Say why a column is left out, and how to use it all the same."""
    return f"{choice.why_not}; {named_in('keep', {name: choice.kind})} uses it" if choice.kind else choice.why_not
