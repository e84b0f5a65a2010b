"""Which kind of feature a column is: found by what its cells hold, or as the user says."""

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphmix.errors import DataError
from graphmix.tables.cells import (
    Lists,
    as_numbers,
    is_list,
    is_text,
    number_lists,
    present,
    separator_of,
    string_lists,
    to_bools,
)
from graphmix.tables.table import Table, counted, shortened

NUMBER, CATEGORY, TEXT, EMBEDDING, TOKENS = "number", "category", "text", "embedding", "tokens"
KINDS = (NUMBER, CATEGORY, TEXT, EMBEDDING, TOKENS)
# At least this share of a number column's cells are numbers; the others are then taken as missing.
NUMERIC = 0.95
# A column with more different values than this share is an id, a name or text.
DISTINCT = 0.9
MOST_CATEGORIES = 100
# On average over a column: names have fewer words than text, and ids fewer letters.
WORDS_OF_A_NAME = 2.5
LETTERS_OF_A_NAME = 64
WORDS_OF_A_KEYWORD = 4
_PARTS = {"train", "training", "val", "valid", "validation", "dev", "test", "testing"}
_ID_NAME = re.compile(r"(?i:(^|[_ .-])(id|uuid|guid|key|index|idx)$|^unnamed)|[a-z]I[dD]$")


class Choice(NamedTuple):
    """What a column is taken for.

    Attributes:
        kind: one of `KINDS`.
        why_not: why it is left out unless the user names it; empty when it is used.
        note: what the user should know of it, or nothing.
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
    """Choose the columns that become features, and how.

    Args:
        table: the file.
        exclude: columns with another part to play: ids, labels, split, ends of edges.
        asked: columns the user named, each with a kind or None to find it; if there are any, only these are used.
        ignore: columns the user wants left out.

    Returns:
        A kind for each column used, in the file's order; and notes on what was left out or looks odd.

    Raises:
        DataError: a column is not there, or cannot be what the user says it is.
    """
    for name in ignore:
        if name not in table.ignored:
            table.column(name)
    if asked:
        return _named(table, exclude, asked, ignore)
    kinds: dict[str, str] = {}
    notes = [f"column {name!r} is left out: {why}" for name, why in table.ignored.items() if name not in ignore]
    for name in table.columns:
        if name in exclude or name in ignore:
            continue
        choice = _find(table, name)
        if choice.why_not:
            notes.append(f"column {name!r} is left out: {choice.why_not}")
            continue
        kinds[name] = choice.kind
        if choice.note:
            notes.append(choice.note)
    return kinds, notes


def taken_as_missing(table: Table, name: str, rows: NDArray[np.int64], why: str) -> str:
    """Say which cells are treated as if they were not there."""
    cell, where = shortened(table.column(name)[int(rows[0])]), table.where(int(rows[0]))
    return f"column {name!r}: {counted(len(rows), 'cell')} taken as missing, {why} (first {cell}, {where})"


def _named(
    table: Table, exclude: Collection[str], asked: Mapping[str, str | None], ignore: Collection[str]
) -> tuple[dict[str, str], list[str]]:
    kinds, notes = {}, []
    for name, kind in asked.items():
        table.column(name)
        if name in exclude:
            raise DataError(f"column {name!r} already holds ids, labels or the like, so it cannot be a feature as well")
        if name in ignore:
            raise DataError(f"column {name!r} is both asked for and to be ignored")
        if kind is None:
            choice = _find(table, name)
        elif kind in _TESTS:
            choice = Choice(kind, note=_TESTS[kind](table, name))
        else:
            raise DataError(f"there is no kind {kind!r} of feature (column {name!r}); there are {', '.join(KINDS)}")
        if not _filled(table, name):
            raise DataError(f"{table.name}: column {name!r} is empty, so it cannot be a feature")
        kinds[name] = choice.kind
        if choice.note:
            notes.append(choice.note)
    return {name: kinds[name] for name in table.columns if name in kinds}, notes


def _find(table: Table, name: str) -> Choice:
    """Find what a column holds."""
    column = table.column(name)
    if not _filled(table, name):
        return Choice(CATEGORY, "it is empty")
    if is_list(column):
        return _find_list(table, name)
    numbers = as_numbers(table, name)
    if len(numbers.wrong) <= (1 - NUMERIC) * numbers.filled:
        values = numbers.values[~np.isnan(numbers.values)]
        if not len(values):
            return Choice(NUMBER, "none of its numbers can be used")
        if values.min() == values.max():
            return Choice(NUMBER, "all its numbers are the same")
        if _counts_rows(values, name, table.rows):
            return Choice(NUMBER, "it looks like an id: a whole number of its own for every row")
        return Choice(NUMBER, note=_missing_words(table, name, numbers.wrong))
    choice = _find_words(table, name)
    if 2 * len(numbers.wrong) > numbers.filled:
        return choice
    row = int(numbers.wrong[0])
    mixed = f"mostly numbers, but {counted(len(numbers.wrong), 'cell is', 'cells are')} not (first "
    mixed += f"{shortened(column[row])}, {table.where(row)})"
    if choice.why_not:
        return Choice(choice.kind, mixed)
    return Choice(choice.kind, note=f"column {name!r} is taken as {choice.kind}: {mixed}")


def _find_list(table: Table, name: str) -> Choice:
    lists = number_lists(table, name)
    if lists is None:
        return Choice(TOKENS)
    lengths = np.bincount(lists.rows, minlength=table.rows)[lists.filled]
    if lengths.min() == lengths.max():
        return Choice(EMBEDDING) if lengths[0] else Choice(EMBEDDING, "its lists are empty")
    whole = np.asarray(lists.items.drop_null())
    if (whole == np.floor(whole)).all():
        return Choice(TOKENS)
    return Choice(EMBEDDING, _uneven(table, lists))


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
    if different <= len(_PARTS) and {word.lower() for word in pc.unique(pc.drop_null(text)).to_pylist()} <= _PARTS:
        return Choice(CATEGORY, f"it says train, val or test; to split by it, say --split {name}")
    words = _mean(pc.count_substring_regex(text, r"\S+"))
    letters = _mean(pc.utf8_length(text))
    separator = separator_of(text)
    if separator is not None and words <= WORDS_OF_A_KEYWORD * (_mean(pc.count_substring(text, separator)) + 1):
        return Choice(TOKENS)
    if words < WORDS_OF_A_NAME and letters <= LETTERS_OF_A_NAME:
        if different > DISTINCT * filled and different > 2:
            return Choice(CATEGORY, "it looks like an id or a name: nearly every row has its own")
        return Choice(CATEGORY)
    # A long name that comes again and again is still a category.
    return Choice(CATEGORY if different <= MOST_CATEGORIES and 2 * different <= filled else TEXT)


def _counts_rows(values: Any, name: str, rows: int) -> bool:
    """Whether numbers `[filled]` only number the rows: 1, 2, 3 …, or all different under a name like `author_id`."""
    if len(values) < max(rows, 3) or (values != np.floor(values)).any() or len(np.unique(values)) < len(values):
        return False
    return bool(values.max() - values.min() == len(values) - 1) or _ID_NAME.search(name) is not None


def _filled(table: Table, name: str) -> int:
    column = table.column(name)
    held = present(column) if is_text(column) else column
    return int(table.rows - held.null_count)


def _mean(counts: Any) -> float:
    import pyarrow.compute as pc

    return float(pc.mean(counts).as_py())


def _missing_words(table: Table, name: str, wrong: NDArray[np.int64]) -> str:
    return taken_as_missing(table, name, wrong, "not being numbers") if len(wrong) else ""


def _uneven(table: Table, lists: Lists) -> str:
    lengths = np.bincount(lists.rows, minlength=table.rows)
    filled = np.flatnonzero(lists.filled)
    usual = lengths[filled[0]]
    odd = filled[lengths[filled] != usual][0]
    return f"its lists are not of one length: {usual} at first, {lengths[odd]} at {table.where(int(odd))}"


def _test_number(table: Table, name: str) -> str:
    numbers = None if is_list(table.column(name)) else as_numbers(table, name)
    if numbers is None:
        raise DataError(f"{table.name}: column {name!r} holds lists, so it cannot be of kind number")
    if len(numbers.wrong) > (1 - NUMERIC) * numbers.filled:
        row = int(numbers.wrong[0])
        raise DataError(_cannot(table, name, row, "a number"))
    return _missing_words(table, name, numbers.wrong)


def _test_words(table: Table, name: str) -> str:
    if is_list(table.column(name)):
        raise DataError(f"{table.name}: column {name!r} holds lists; it can be of kind tokens or embedding")
    return ""


def _test_embedding(table: Table, name: str) -> str:
    lists = number_lists(table, name)
    if lists is None or not lists.filled.any():
        row = _first_unlike(table, name, r"^\[[-+0-9.,eEinfaNIy\s]*\]$")
        raise DataError(_cannot(table, name, row, "a list of numbers like [0.1, 0.2]"))
    lengths = np.bincount(lists.rows, minlength=table.rows)[lists.filled]
    if lengths.min() != lengths.max():
        raise DataError(f"column {name!r} cannot be an embedding: {_uneven(table, lists)}")
    return ""


def _test_tokens(table: Table, name: str) -> str:
    if not is_list(table.column(name)) and not is_text(table.column(name)):
        raise DataError(_cannot(table, name, 0, "a list of words"))
    return ""


def _first_unlike(table: Table, name: str, pattern: str) -> int:
    import pyarrow.compute as pc

    column = table.column(name)
    if not is_text(column):
        return 0
    unlike = to_bools(pc.invert(pc.match_substring_regex(present(pc.utf8_trim_whitespace(column)), pattern)))
    return int(unlike.argmax())


def _cannot(table: Table, name: str, row: int, what: str) -> str:
    cell = shortened(table.column(name)[row])
    return f"{table.where(row)}: {cell} in column {name!r} is not {what}; give the column another kind"


_TESTS: dict[str, Callable[[Table, str], str]] = {
    NUMBER: _test_number,
    CATEGORY: _test_words,
    TEXT: _test_words,
    EMBEDDING: _test_embedding,
    TOKENS: _test_tokens,
}
