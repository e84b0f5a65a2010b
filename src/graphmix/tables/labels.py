"""What a column of labels holds: names of classes, or something else; and columns that repeat it."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphmix.errors import DataError
from graphmix.tables.alike import looks
from graphmix.tables.cells import as_text, as_words, is_list, is_text, present
from graphmix.tables.table import Table, named_in, quoted, shortened
from graphmix.text import counted

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
_DATE = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ].*)?|[0-9]{1,2}[./][0-9]{1,2}[./][0-9]{2,4}|[0-9]{1,2}:[0-9]{2}(:.*)?"
)
_CODE = re.compile(r"-?[0-9]{1,9}")
# What people write where a label is missing, but what may be a class too.
_DOUBTFUL = ("?", "-", ".", "unknown", "unlabeled", "unlabelled", "missing", "n.a.", "none", "undefined")
_UNLABELED = "-1"
# With fewer rows a class, a column may agree with the labels by chance.
_ROWS_A_CLASS = 2
_FIRST = 1000


def label_notes(table: Table, name: str) -> list[str]:
    """Say what a column of labels holds besides names of classes.

    Raises:
        DataError: it holds dates or times, whose names as classes would be numbers of days.
    """
    from pyarrow import types

    kind = table.exact.get(name, table.column(name)).type
    if types.is_temporal(kind):
        holds = f"{table.name}: column {quoted(name)} holds dates or times ({kind})"
        raise DataError(f"{holds}, and classes are names; make text of them, for example the years")
    sizes = Counter(word for word in as_words(table.column(name)).to_pylist() if word is not None)
    notes = _missing_notes(table, name) + _doubtful_notes(name, sizes) + _alike_notes(name, sizes)
    found = kind_of_labels(sizes)
    if found and not _are_codes(sizes):
        notes.append(
            f"column {quoted(name)} holds {found}: each of the {len(sizes):,} different ones is a class by itself"
        )
    return notes


def _alike_notes(name: str, sizes: Counter[str]) -> list[str]:
    """Say which classes look alike: they are mostly one class that was typed in two ways."""
    alike: dict[str, list[str]] = {}
    for word in sizes:
        alike.setdefault(looks(word), []).append(word)
    several = [sorted(words) for words in alike.values() if len(words) > 1]
    if not several:
        return []
    shown = " and ".join(f"{shortened(word)} ({sizes[word]:,})" for word in several[0])
    only_case = len({word.casefold() for word in several[0]}) == 1
    how = "upper and lower case" if only_case else "case, spaces or forms of the same characters"
    more = f", and {len(several) - 1:,} more such" if len(several) > 1 else ""
    return [
        f"column {quoted(name)}: {shown} differ only in {how} and are classes of their own{more}; "
        "if they are one class, write them alike"
    ]


def missing_words(table: Table, name: str) -> Counter[str]:
    """Count the words such as `NA` in a column of labels that count as a missing label; not the empty cells."""
    import pyarrow.compute as pc

    column = table.column(name)
    if not is_text(column):
        return Counter()
    text = as_text(column)
    return Counter(word for word in text.filter(pc.is_null(present(text))).to_pylist() if word)


def kind_of_labels(labels: Iterable[str]) -> str:
    """Say what labels are if they are not names: `numbers from 1990 to 2020`; "" if they are names."""
    labels = list(labels)
    if labels and all(map(_NUMBER.fullmatch, labels)):
        ordered = sorted(labels, key=float)
        return f"numbers from {shortened(ordered[0])} to {shortened(ordered[-1])}".replace("'", "")
    if labels and all(map(_DATE.fullmatch, labels)):
        return f"dates or times such as {shortened(labels[0])}"
    return ""


def label_copies(table: Table, names: Iterable[str], labels: Sequence[str | None], label: str) -> dict[str, str]:
    """Warn of columns that say the same as the labels: a sentence for each.

    Args:
        table: the table.
        names: the columns to look at.
        labels: `[rows]`, None where there is none.
        label: the column of the labels.
    """
    names_of_classes = {name: number for number, name in enumerate(dict.fromkeys(labels))}
    labeled = np.flatnonzero([name is not None for name in labels])
    classes = np.array([names_of_classes[name] for name in labels if name is not None], dtype=np.int64)
    warnings = {}
    for name in names:
        rows = 0 if is_list(table.column(name)) else _agreeing(table.column(name), labeled, classes)
        if rows:
            same = f"column {quoted(name)} says the same as the label {quoted(label)}"
            each = "each of its values goes with one class, and each class with one value"
            hint = f"if it was made from the labels, leave it out with {named_in('ignore', [name])}"
            warnings[name] = f"{same}: on {counted(rows, 'labeled row')} {each}; {hint}."
    return warnings


def _agreeing(column: Any, labeled: NDArray[np.int64], classes: NDArray[np.int64]) -> int:
    """Return how many labeled rows have a value, if values and classes go with each other; else 0.

    Args:
        column: the cells `[rows]`.
        labeled: the rows with a label `[labeled]`.
        classes: their classes `[labeled]`.
    """
    rows = 0
    # Nearly every column disagrees within a few rows.
    for part in (slice(_FIRST), slice(None)):
        values = as_words(column.take(labeled[part])).combine_chunks().dictionary_encode().indices
        there = np.asarray(values.is_valid())
        found, known = np.asarray(values.drop_null(), dtype=np.int64), classes[part][there]
        pairs = len(np.unique(np.stack([found, known]), axis=1).T)
        if not pairs == len(np.unique(found)) == len(np.unique(known)):
            return 0
        rows = len(found)
    # A column that is empty in most labeled rows cannot give the labels away.
    return rows if pairs > 1 and rows >= _ROWS_A_CLASS * pairs and 2 * rows > len(labeled) else 0


def _missing_notes(table: Table, name: str) -> list[str]:
    """Note words such as `NA` that count as a missing label; empty cells need no note."""
    return [
        f"column {quoted(name)}: {counted(count, 'label')} {word!r} taken as missing; rename it if it is a class"
        for word, count in sorted(missing_words(table, name).items())
    ]


def _doubtful_notes(name: str, sizes: Counter[str]) -> list[str]:
    found = [word for word in sizes if word.lower() in _DOUBTFUL and not (word == "-" and "+" in sizes)]
    # Labels that are signs or -1, 0 and 1 are classes; otherwise -1 mostly means that there is none.
    if sizes.get(_UNLABELED) and len(sizes) > len({"-1", "0", "1"}) and _are_codes(sizes):
        found.append(_UNLABELED)
    return [
        f"column {quoted(name)}: {counted(sizes[word], 'label')} {word!r} taken as a class; leave a cell empty if it "
        "has no label"
        for word in found
    ]


def _are_codes(labels: Iterable[str]) -> bool:
    """Whether labels are the numbers of classes: whole, from -1, 0 or 1 on, with few gaps."""
    labels = list(labels)
    if not labels or not all(map(_CODE.fullmatch, labels)):
        return False
    numbers = sorted(map(int, labels))
    return -1 <= numbers[0] <= 1 and numbers[-1] <= 2 * len(numbers)
