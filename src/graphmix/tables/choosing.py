"""Which columns become features, and of which kind: as the user says, or by what the cells hold."""

import re
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import numpy as np

from graphmix.errors import DataError
from graphmix.tables.cells import as_numbers, is_list, is_text, number_lists, present, separator_of, string_lists
from graphmix.tables.kinds import CATEGORY, EMBEDDING, KINDS, NUMBER, TEXT, TOKENS, column_class
from graphmix.tables.nodes import PARTS
from graphmix.tables.numeric import are_numbers, differing_lengths, missing_words
from graphmix.tables.table import Table, quoted
from graphmix.tables.words import MOST_CATEGORIES
from graphmix.text import counted

# If more than this share of a column's values are different, it holds ids, names or text.
DISTINCT = 0.9
# Column averages: names have fewer words than text, and ids have fewer letters.
WORDS_OF_A_NAME = 2.5
LETTERS_OF_A_NAME = 64
WORDS_OF_A_KEYWORD = 4
_ID_NAME = re.compile(r"(?i:(^|[_ .-])(id|uuid|guid|key|index|idx)$|^unnamed)|[a-z]I[dD]$")


class Choice(NamedTuple):
    """The kind found for a column.

    Attributes:
        kind: one of `KINDS`.
        why_not: why it is left out unless the user names it; empty if it is used.
        note: what the user should know about it, or empty.
    """

    kind: str
    why_not: str = ""
    note: str = ""


def choose_kinds(
    table: Table,
    exclude: Collection[str] = (),
    asked: Mapping[str, str | None] | None = None,
    ignore: Collection[str] = (),
) -> tuple[dict[str, str], list[str]]:
    """Choose the columns that become features, and their kinds.

    Args:
        table: the table.
        exclude: columns with another role: ids, labels, split, ends of edges.
        asked: columns the user chose, each with a kind or None to find it; if there are any, only these are used.
        ignore: columns the user wants left out.

    Returns:
        A kind for each column used, in the table's order; and notes on what was left out or looks unusual.

    Raises:
        DataError: a column does not exist, or cannot be of the kind the user named.
    """
    for name in ignore:
        if not table.has(name):
            table.column(name)  # raises
    if asked:
        return _choose_asked(table, exclude, asked, ignore)
    kinds: dict[str, str] = {}
    notes = [f"column {quoted(name)} is left out: {why}" for name, why in table.ignored.items() if name not in ignore]
    for name in table.columns:
        if name in exclude or name in ignore:
            continue
        choice = _find(table, name)
        if choice.why_not:
            notes.append(f"column {quoted(name)} is left out: {choice.why_not}")
            continue
        kinds[name] = choice.kind
        if choice.note:
            notes.append(choice.note)
    return kinds, notes


def _choose_asked(
    table: Table, exclude: Collection[str], asked: Mapping[str, str | None], ignore: Collection[str]
) -> tuple[dict[str, str], list[str]]:
    kinds, notes = {}, []
    for name, kind in asked.items():
        if "=" in name and name not in table.columns:
            raise DataError(
                f"{table.name} has no column {quoted(name)}; a kind after = must be one of {', '.join(KINDS)}"
            )
        table.column(name)
        if name in exclude:
            raise DataError(
                f"column {quoted(name)} already holds ids, labels or the like, so it cannot also be a feature"
            )
        if name in ignore:
            raise DataError(
                f"column {quoted(name)} is chosen as a feature, but also named in `ignore`; remove one of the two"
            )
        choice = _find(table, name) if kind is None else _check(table, name, kind)
        if not _filled(table, name):
            raise DataError(f"{table.name}: column {quoted(name)} is empty, so it cannot be a feature")
        kinds[name] = choice.kind
        if choice.note:
            notes.append(choice.note)
    return {name: kinds[name] for name in table.columns if name in kinds}, notes


def _check(table: Table, name: str, kind: str) -> Choice:
    try:
        column = column_class(kind)
    except DataError as error:
        raise DataError(f"column {quoted(name)}: {error}") from error
    return Choice(kind, note=column.check(table, name))


def _find(table: Table, name: str) -> Choice:
    """Find the kind of a column by its cells."""
    if not _filled(table, name):
        return Choice(CATEGORY, "it is empty")
    if is_list(table.column(name)):
        return _find_list(table, name)
    numbers = as_numbers(table, name)
    if are_numbers(numbers):
        values = numbers.values[~np.isnan(numbers.values)]
        if not len(values):
            return Choice(NUMBER, "none of its numbers can be used")
        if values.min() == values.max():
            return Choice(NUMBER, "all its numbers are the same")
        if _numbers_rows(values, name, table.rows):
            return Choice(NUMBER, "it looks like an id: every row has a different whole number")
        return Choice(NUMBER, note=missing_words(table, name, numbers))
    choice = _find_words(table, name)
    if 2 * len(numbers.wrong) > numbers.filled:
        return choice
    first = table.quote(int(numbers.wrong[0]), name)
    mixed = f"mostly numbers, but {counted(len(numbers.wrong), 'cell is', 'cells are')} not (first {first})"
    if choice.why_not:
        return Choice(choice.kind, mixed)
    return Choice(choice.kind, note=f"column {quoted(name)} is used as {choice.kind}: {mixed}")


def _find_list(table: Table, name: str) -> Choice:
    lists = number_lists(table, name)
    if lists is None:
        return Choice(TOKENS)
    lengths = np.bincount(lists.rows, minlength=table.rows)[lists.filled]
    if lengths.min() == lengths.max():
        return Choice(EMBEDDING) if lengths[0] else Choice(EMBEDDING, "its lists are empty")
    items = np.asarray(lists.items.drop_null())
    # Lists of whole numbers that differ in length are lists of word numbers.
    if (items == np.floor(items)).all():
        return Choice(TOKENS)
    return Choice(EMBEDDING, differing_lengths(table, lists))


def _find_words(table: Table, name: str) -> Choice:
    import pyarrow.compute as pc

    text = present(pc.utf8_trim_whitespace(table.column(name)))
    first = pc.drop_null(text)[0].as_py()
    if first.startswith("["):
        if number_lists(table, name) is not None:
            return _find_list(table, name)
        if string_lists(table, name, None) is not None:
            return Choice(TOKENS)
    filled = len(text) - text.null_count
    different = pc.count_distinct(text).as_py()
    if different == 1:
        return Choice(CATEGORY, "all its values are the same")
    if different <= len(PARTS) and {word.lower() for word in pc.unique(pc.drop_null(text)).to_pylist()} <= set(PARTS):
        return Choice(CATEGORY, "it holds train, val or test; to split by it, name it as `split`")
    words = _mean(pc.count_substring_regex(text, r"\S+"))
    letters = _mean(pc.utf8_length(text))
    separator = separator_of(text)
    if separator is not None and words <= WORDS_OF_A_KEYWORD * (_mean(pc.count_substring(text, separator)) + 1):
        return Choice(TOKENS)
    if words < WORDS_OF_A_NAME and letters <= LETTERS_OF_A_NAME:
        if different > DISTINCT * filled and different > 2:
            return Choice(CATEGORY, "it looks like an id or a name: nearly every row has a different value")
        return Choice(CATEGORY)
    # Long names that are repeated often are still categories.
    return Choice(CATEGORY if different <= MOST_CATEGORIES and 2 * different <= filled else TEXT)


def _numbers_rows(values: Any, name: str, rows: int) -> bool:
    """Whether numbers `[filled]` only number the rows: 1, 2, 3 …, or all different under a name like `author_id`."""
    if len(values) < max(rows, 3) or (values != np.floor(values)).any() or len(np.unique(values)) < len(values):
        return False
    return bool(values.max() - values.min() == len(values) - 1) or _ID_NAME.search(name) is not None


def _filled(table: Table, name: str) -> int:
    """Return how many cells of a column are not missing."""
    column = table.column(name)
    held = present(column) if is_text(column) else column
    return int(table.rows - held.null_count)


def _mean(counts: Any) -> float:
    import pyarrow.compute as pc

    return float(pc.mean(counts).as_py())
