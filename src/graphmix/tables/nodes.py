"""The table of nodes: their ids, their labels, and their parts of the split."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from graphmix.errors import DataError
from graphmix.tables.cells import as_words, is_list
from graphmix.tables.files import TableSource, read_table
from graphmix.tables.headers import ID_NAMES, looks_like_cell
from graphmix.tables.ids import TEXT, read_ids
from graphmix.tables.labels import kind_of_labels
from graphmix.tables.reading import USUAL, Reading
from graphmix.tables.table import NAMED, Table, has_header, no_header, quoted, shortened, some_of
from graphmix.tables.texts import Texts
from graphmix.text import counted

TRAIN, VAL, TEST = "train", "val", "test"
PARTS = {
    "train": TRAIN,
    "training": TRAIN,
    "val": VAL,
    "valid": VAL,
    "validation": VAL,
    "dev": VAL,
    "test": TEST,
    "testing": TEST,
}
# A column with fewer labels per class than this, on average, holds ids or measurements.
_LABELS_A_CLASS = 2


@dataclass(frozen=True, eq=False)
class NodeTable:
    """Nodes as they are in the user's table.

    Attributes:
        table: all columns.
        ids: `[nodes]`, all different; numbers as text.
        labels: `[nodes]`, class names, or None for an unlabeled node.
        split: `[nodes]`, train, val, test or None; None altogether if no column was named.
        id_column: the column of the ids.
        id_kind: the type of the ids; see `Ids`.
        used: the columns that cannot be features.
    """

    table: Table
    ids: Sequence[str]
    labels: list[str | None]
    split: list[str | None] | None
    id_column: str
    used: frozenset[str]
    id_kind: str = TEXT

    def drop_cells(self) -> None:
        """Drop the cells of the columns, which take much memory, for whoever holds the table; ids and labels stay."""
        columns = self.table.columns
        assert isinstance(columns, dict)
        columns.update(dict.fromkeys(columns))


def read_nodes(
    nodes: TableSource,
    *,
    id: str | None = None,
    label: str | None = None,
    split: str | None = None,
    reading: Reading = USUAL,
    taken: Collection[str | None] = (),
) -> NodeTable:
    """Read a table with one node in each row.

    Args:
        nodes: a CSV, TSV or Parquet file, a pyarrow Table or a pandas DataFrame.
        id: the column of ids; by default one called id, node or similar, otherwise the first.
        label: the column of labels; an empty cell is an unlabeled node.
        split: a column of train, val or test; a node with an empty cell is in no part.
        reading: how the table is read.
        taken: columns that are known not to be ids.

    Raises:
        DataError: the table, an id or a part of the split is invalid; the message names the line.
    """
    table = read_table(nodes, "nodes", reading)
    id_column = _id_column(table, label, {label, split, *taken}) if id is None else id
    used = check_roles(table, id_column, label, split)
    ids = read_ids(table, id_column)
    _check_different(table, ids.texts, id_column)
    if table.lacks_names and str(ids.texts[0]).lower() in ID_NAMES:
        raise DataError(has_header(table, [str(ids.texts[0])]))
    labels = [None] * table.rows if label is None else as_words(table.column(label)).to_pylist()
    parts = None if split is None else read_parts(table, split)
    # The exact cells of ids take much memory, and are read now; those of labels and dates are looked at later.
    table = replace(table, exact={name: cells for name, cells in table.exact.items() if name != id_column})
    return NodeTable(table, Texts(ids.texts.combine_chunks()), labels, parts, id_column, used, ids.kind)


def check_roles(table: Table, *columns: str | None) -> frozenset[str]:
    """Return the named columns.

    Raises:
        DataError: one of them does not exist, is named twice, or holds lists.
    """
    named = [name for name in columns if name is not None]
    for name in named:
        if is_list(table.column(name)):
            raise DataError(
                f"{table.name}: column {quoted(name)} holds lists; ids, labels and weights are single values"
            )
        if named.count(name) > 1:
            roles = "ids, labels, split, ends, weights"
            raise DataError(
                f"{table.name}: column {quoted(name)} cannot have two roles; name a column for each of {roles}"
            )
    return frozenset(named)


def check_classes(labels: Sequence[str | None], where: str, missing: Collection[str] = ()) -> list[str]:
    """Check that a classifier can learn from labels `[rows]`, None where unlabeled; messages begin with `where`.

    Args:
        labels: the labels.
        where: their place.
        missing: words such as `NA` that were taken as missing, though one may be a class.

    Returns:
        Notes on classes with a single label.

    Raises:
        DataError: there are no labels, only one class, or so many classes that the column must hold something else.
    """
    sizes = Counter(label for label in labels if label is not None)
    labeled = sum(sizes.values())
    hint = "".join(f"; {word!r} is taken as missing: rename it if it is a class" for word in sorted(missing)[:1])
    if not labeled:
        raise DataError(f"{where} has no label at all; label some nodes of every class{hint}")
    if len(sizes) == 1:
        raise DataError(f"{where} has one class only, {shortened(next(iter(sizes)))}; at least two are needed{hint}")
    if _LABELS_A_CLASS * len(sizes) > labeled and labeled > _LABELS_A_CLASS**2:
        kind = kind_of_labels(sizes)
        raise DataError(
            f"{where} has {len(sizes):,} classes for {counted(labeled, 'labeled row')}; it looks like an id or a "
            f"number, not a class{kind and f': it holds {kind}'}"
        )
    single = sorted(name for name, size in sizes.items() if size == 1)
    if not single:
        return []
    classes = "class has" if len(single) == 1 else "classes have"
    return [
        f"{len(single):,} {classes} a single label, too few to train and validate on: "
        + some_of([shortened(name) for name in single], NAMED)
    ]


def _id_column(table: Table, label: str | None, taken: set[str | None]) -> str:
    free = [name for name in table.columns if name not in taken]
    # A column of ids that cannot be used must not be replaced by another without a word.
    called = {name.lower(): name for name in reversed([*free, *table.ignored]) if name not in taken}
    if not free and not table.ignored:
        raise DataError(f"{table.name} has no column left for the nodes' ids")
    found = next((called[name] for name in ID_NAMES if name in called), None)
    if found is not None:
        return found
    if label is not None and label.lower() in ID_NAMES:
        where = f"{table.name}: column {quoted(label)}"
        raise DataError(f"{where} is the `label`, but its name is that of ids; give the column of ids as `id`")
    first = (free or list(table.ignored))[0]
    if table.has_header and first in table.columns and looks_like_cell(first, table.column(first)):
        raise DataError(no_header(table, [first], "a node"))
    return first


def _check_different(table: Table, ids: Any, name: str) -> None:
    codes = ids.combine_chunks().dictionary_encode().indices.to_numpy()
    # Codes are given in order of appearance, so a new id has a higher code than all before it.
    repeats = np.flatnonzero(np.diff(np.maximum.accumulate(codes), prepend=-1) == 0)
    if len(repeats):
        row = int(repeats[0])
        first = int(np.flatnonzero(codes == codes[row])[0])
        again = f"{table.where(row)}: id {shortened(ids[row])} in column {quoted(name)}"
        raise DataError(
            f"{again} is also the id of {table.where(first)}; ids must be unique, or `id` must name another column"
        )


def read_parts(table: Table, name: str) -> list[str | None]:
    """Read a column of train, val or test; None where a cell is missing.

    Raises:
        DataError: a cell holds something else; the message names its line.
    """
    words = as_words(table.column(name)).to_pylist()
    parts = [None if word is None else PARTS.get(word.lower()) for word in words]
    for row, (word, part) in enumerate(zip(words, parts, strict=True)):
        if word is not None and part is None:
            raise DataError(f"{table.where(row)}: {shortened(word)} in column {quoted(name)} is not train, val or test")
    return parts
