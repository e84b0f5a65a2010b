"""Which columns become features, and of which kind: as the user says, or by what the cells hold."""

import re
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import numpy as np

from graphmix.errors import DataError
from graphmix.tables.cells import is_list, is_text, number_lists, present, separator_of, string_lists
from graphmix.tables.dates import Dates, as_dates, is_moment
from graphmix.tables.kinds import CATEGORY, DATE, EMBEDDING, KINDS, NUMBER, TEXT, TOKENS, column_class
from graphmix.tables.moments import are_dates
from graphmix.tables.nodes import PARTS
from graphmix.tables.notation import MARKS, WORDS
from graphmix.tables.numbers import Numbers, as_numbers
from graphmix.tables.numeric import are_numbers, differing_lengths
from graphmix.tables.scaling import are_marked
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
    """What was found for a column.

    Attributes:
        kind: one of `KINDS`; of a column that is left out, one that it could have, or empty.
        why_not: why it is left out; empty if it is used.
        note: what the user should know about it, or empty.
    """

    kind: str
    why_not: str = ""
    note: str = ""


def choose_columns(
    table: Table,
    exclude: Collection[str] = (),
    asked: Mapping[str, str | None] | None = None,
    ignore: Collection[str] = (),
    keep: Mapping[str, str | None] | None = None,
) -> dict[str, Choice]:
    """Choose the columns that become features, and their kinds.

    Args:
        table: the table.
        exclude: columns with another role: ids, labels, split, ends of edges.
        asked: columns the user chose, each with a kind or None to find it; if there are any, only these are used.
        ignore: columns the user wants left out.
        keep: columns the user wants besides those that are found, each with a kind or None to find it.

    Returns:
        What was found for each column without another role, in the table's order; those of a type that cannot be used
        come last.

    Raises:
        DataError: a column does not exist, or cannot be of the kind the user named.
    """
    for name in ignore:
        if not table.has(name):
            table.column(name)  # raises
    wanted = {**(asked or {}), **(keep or {})}
    for name in wanted:
        _check_wanted(table, name, exclude, ignore)
    free = [name for name in (*table.columns, *table.ignored) if name not in exclude]
    return {name: _choose(table, name, wanted, in_use=name not in ignore, only_wanted=bool(asked)) for name in free}


def used_kinds(choices: Mapping[str, Choice]) -> dict[str, str]:
    """Return the kinds of the columns that are used."""
    return {name: choice.kind for name, choice in choices.items() if not choice.why_not}


def _check_wanted(table: Table, name: str, exclude: Collection[str], ignore: Collection[str]) -> None:
    if "=" in name and name not in table.columns:
        raise DataError(f"{table.name} has no column {quoted(name)}; a kind after = must be one of {', '.join(KINDS)}")
    table.column(name)
    if name in exclude:
        raise DataError(f"column {quoted(name)} already holds ids, labels or the like, so it cannot also be a feature")
    if name in ignore:
        raise DataError(
            f"column {quoted(name)} is chosen as a feature, but also named in `ignore`; remove one of the two"
        )


def _choose(table: Table, name: str, wanted: Mapping[str, str | None], *, in_use: bool, only_wanted: bool) -> Choice:
    if not in_use:
        return Choice("", "`ignore` names it")
    if name in wanted:
        return _choose_wanted(table, name, wanted[name])
    if only_wanted:
        return Choice("", "`features` does not name it")
    return Choice("", table.ignored[name]) if name in table.ignored else _find(table, name)


def _choose_wanted(table: Table, name: str, kind: str | None) -> Choice:
    choice = _find(table, name) if kind is None else _check(table, name, kind)
    if not _filled(table, name):
        raise DataError(f"{table.name}: column {quoted(name)} is empty, so it cannot be a feature")
    if not choice.kind:
        raise DataError(f"{table.name}: column {quoted(name)} cannot be a feature: {choice.why_not}")
    return choice._replace(why_not="")


def _check(table: Table, name: str, kind: str) -> Choice:
    try:
        column = column_class(kind)
    except DataError as error:
        raise DataError(f"column {quoted(name)}: {error}") from error
    return Choice(kind, note=column.check(table, name))


def _find(table: Table, name: str) -> Choice:
    """Find the kind of a column by its cells."""
    if not _filled(table, name):
        return Choice("", "it is empty")
    if is_list(table.column(name)):
        return _find_list(table, name)
    if is_moment(table, name):
        return _find_dates(as_dates(table, name), table.rows)
    numbers = as_numbers(table, name)
    if are_numbers(numbers):
        return _find_numbers(numbers, name, table.rows)
    # Numbers alone are no dates, so nobody needs to look for them there.
    dates = as_dates(table, name) if is_text(table.column(name)) else None
    if dates is not None and are_dates(dates):
        return _find_dates(dates, table.rows)
    choice = _find_words(table, name)
    for kind, found in ((NUMBER, numbers), (DATE, dates)):
        if found is not None and 2 * len(found.wrong) < found.filled:
            return _mixed(table, name, choice, kind, found)
    return choice


def _find_numbers(numbers: Numbers, name: str, rows: int) -> Choice:
    values = numbers.values[~np.isnan(numbers.values)]
    if not len(values):
        return Choice(CATEGORY, "none of its numbers can be used")
    if not are_marked(rows - len(values), rows) and values.min() == values.max():
        what = "values" if numbers.notation in WORDS else "numbers"
        return Choice(NUMBER, f"all its {what} are the same")
    if _numbers_rows(values, name, rows):
        return Choice(NUMBER, "it looks like an id: every row has a different whole number")
    marked = numbers.notation in MARKS and numbers.notation != "1234.5"
    return Choice(NUMBER, note=numbers.doubt or (f"written like {numbers.notation}" if marked else ""))


def _find_dates(dates: Dates, rows: int) -> Choice:
    days = dates.days[~np.isnan(dates.days)]
    if not are_marked(rows - len(days), rows) and days.min() == days.max():
        return Choice(DATE, "all its dates are the same")
    return Choice(DATE, note=dates.doubt)


def _mixed(table: Table, name: str, choice: Choice, kind: str, found: Numbers | Dates) -> Choice:
    """Choose the kind of a column most of whose cells, but not nearly all, are numbers or dates."""
    if choice.why_not:
        # As words it would say nothing.
        return Choice(kind)
    first = table.quote(int(found.wrong[0]), name)
    count = counted(len(found.wrong), "cell is", "cells are")
    return Choice(choice.kind, note=f"mostly {kind}s, but {count} not (first {first})")


def _find_list(table: Table, name: str) -> Choice:
    lists = number_lists(table, name)
    if lists is None:
        return Choice(TOKENS)
    lengths = np.bincount(lists.rows, minlength=table.rows)[lists.filled]
    if lengths.min() == lengths.max():
        return Choice(EMBEDDING) if lengths[0] else Choice("", "its lists are empty")
    items = np.asarray(lists.items.drop_null())
    # Lists of whole numbers that differ in length are lists of word numbers.
    if (items == np.floor(items)).all():
        return Choice(TOKENS)
    return Choice(TOKENS, differing_lengths(table, lists))


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
        # Whether a cell is empty may say something, too.
        return Choice(
            CATEGORY, "" if are_marked(len(text) - filled, len(text)) and filled > 1 else "all its values are the same"
        )
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
