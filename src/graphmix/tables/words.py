"""Columns of words as features: categories, lists of keywords, and text."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphmix.errors import DataError
from graphmix.tables.alike import written_otherwise
from graphmix.tables.cells import (
    Lists,
    as_text,
    as_words,
    is_list,
    is_text,
    present,
    separator_of,
    string_lists,
    to_bools,
)
from graphmix.tables.kinds import ALL_ZERO, CATEGORY, EMBEDDING, TEXT, TOKENS, Encoded
from graphmix.tables.stored import boolean, distinct, numbers, text
from graphmix.tables.table import Table, quoted
from graphmix.text import counted

MOST_CATEGORIES = 100
MOST_WORDS = 20_000
# A category or word that occurs once says nothing about any other row.
FEWEST = 2
# Categories with a smaller share of the cells are pooled.
RARE = 0.001
SEPARATORS = ";|, "
# What is between words: anything but letters, digits and the underscore, as Python's \w has it.
_BETWEEN_WORDS = r"[^\pL\pN_]+"


@dataclass(frozen=True)
class Category:
    """A column of categories: a feature for each frequent category, and one for all others.

    Attributes:
        name: the column.
        values: the frequent categories, most frequent first.
        has_other: whether there were others, which share one feature.
    """

    kind: ClassVar[str] = CATEGORY
    name: str
    values: tuple[str, ...]
    has_other: bool

    @classmethod
    def check(cls, table: Table, name: str) -> str:
        """Check that the cells are single values."""
        return _check_single(table, name)

    @classmethod
    def fit(cls, table: Table, name: str) -> "Category":
        """Learn the frequent categories."""
        import pyarrow.compute as pc

        words = as_words(table.column(name))
        found = pc.value_counts(words.drop_null())
        values, counts = found.field("values").to_pylist(), found.field("counts").to_numpy()
        fewest = max(FEWEST, math.ceil(RARE * counts.sum()))
        kept = _most_frequent(values, counts, MOST_CATEGORIES, counts >= fewest)
        return cls(name, tuple(kept), len(kept) < len(values))

    @property
    def feature_names(self) -> list[str]:
        """One name per feature."""
        return [f"{self.name}={value}" for value in self.values] + [f"{self.name}=(other)"] * self.has_other

    def encode(self, table: Table) -> Encoded:
        """Return float32 `[rows, categories]`: a 1 in each row; only zeros where the cell is missing."""
        column = table.column(self.name)
        if is_list(column):
            raise DataError(f"{table.name}: column {quoted(self.name)} holds lists, but held categories in training")
        words = as_words(column)
        codes = _codes(words, self.values)
        there = to_bools(words.is_valid())
        new = there & (codes < 0)
        codes = np.where(new, len(self.values), codes)
        rows = np.flatnonzero(there & (codes < len(self.feature_names)))
        entries = np.ones(len(rows), dtype=np.float32)
        x = sp.csr_array((entries, (rows, codes[rows])), shape=(table.rows, len(self.feature_names)))
        return Encoded(x, self._notes(words, new, int((~there).sum())))

    def _notes(self, words: Any, new: NDArray[np.bool_], missing: int) -> list[str]:
        notes = []
        if new.any():
            result = "pooled as (other)" if self.has_other else "all features 0"
            meant = written_otherwise(words.take(np.flatnonzero(new)).unique().to_pylist(), self.values)
            cells = counted(int(new.sum()), "cell")
            notes.append(
                f"column {quoted(self.name)}: {cells} with a rare or new category; {result}{meant and f'; {meant}'}"
            )
        if missing:
            notes.append(f"column {quoted(self.name)}: {counted(missing, 'cell is', 'cells are')} missing{ALL_ZERO}")
        return notes

    @classmethod
    def from_json(cls, value: Any) -> "Category":
        """Read the stored fields; raises DataError if they are damaged."""
        return cls(text(value, "name"), distinct(value, "values", MOST_CATEGORIES), boolean(value, "has_other"))


@dataclass(frozen=True)
class Tokens:
    """A column of keyword lists: which of the known words a row has, scaled to sum 1, like the paper's citation data.

    Attributes:
        name: the column.
        words: the most frequent words, most frequent first; empty if no word occurs in two rows.
        separator: the character between words, in text that is not a list in brackets.
    """

    kind: ClassVar[str] = TOKENS
    name: str
    words: tuple[str, ...]
    separator: str

    @classmethod
    def check(cls, table: Table, name: str) -> str:
        """Check that the cells are lists or text."""
        column = table.column(name)
        if not is_list(column) and not is_text(column):
            raise DataError(f"{table.locate(0, name)} is not a list of words; choose another kind for the column")
        return ""

    @classmethod
    def fit(cls, table: Table, name: str) -> "Tokens":
        """Learn the words, and for text the separator."""
        column = table.column(name)
        separator = separator_of(present(as_text(column)), SEPARATORS) if is_text(column) else None
        # Without a separator, every cell is one word.
        separator = separator or SEPARATORS[0]
        counts, words = _count_all(_split(table, name, separator), table.rows)
        rows_with = np.bincount(counts.indices, minlength=len(words))
        # A word that only one row has still counts in the row's sum, as two of Cora's do. If all words are such, they
        # are ids.
        allowed = np.full(len(words), rows_with.max(initial=0) >= FEWEST)
        return cls(name, tuple(_most_frequent(words, rows_with, MOST_WORDS, allowed)), separator)

    @property
    def feature_names(self) -> list[str]:
        """One name per feature."""
        return [f"{self.name}: {word}" for word in self.words]

    def encode(self, table: Table) -> Encoded:
        """Return float32 `[rows, words]`; a row without known words is 0."""
        counts, new = _count_known(_split(table, self.name, self.separator), self.words, table.rows)
        counts.data[:] = 1
        return Encoded(_rows_to_one(counts), _word_notes(self.name, self.words, new))

    @classmethod
    def from_json(cls, value: Any) -> "Tokens":
        """Read the stored fields; raises DataError if they are damaged."""
        separator = text(value, "separator")
        if len(separator) != 1 or separator not in SEPARATORS:
            raise DataError("separator is invalid")
        return cls(text(value, "name"), distinct(value, "words", MOST_WORDS), separator)


@dataclass(frozen=True)
class Text:
    """A column of text: its words, weighted by how rare they are (TF-IDF), scaled to sum 1.

    A word is two or more letters, digits or underscores, in lower case. Its weight is (count in the text) *
    (ln((1 + rows) / (1 + rows with the word)) + 1), as in scikit-learn's TfidfVectorizer.

    Attributes:
        name: the column.
        words: the words that at least two rows have, most frequent first.
        idf: `[words]`, the second factor of the weight.
    """

    kind: ClassVar[str] = TEXT
    name: str
    words: tuple[str, ...]
    idf: tuple[float, ...]

    @classmethod
    def check(cls, table: Table, name: str) -> str:
        """Check that the cells are single values."""
        return _check_single(table, name)

    @classmethod
    def fit(cls, table: Table, name: str) -> "Text":
        """Learn the words and their weights."""
        counts, words = _count_all(_words(table, name), table.rows)
        rows_with = np.bincount(counts.indices, minlength=len(words))
        times = np.bincount(counts.indices, weights=counts.data, minlength=len(words))
        kept = _most_frequent(words, times, MOST_WORDS, rows_with >= FEWEST)
        having = dict(zip(words, rows_with.tolist(), strict=True))
        idf = tuple(math.log((1 + table.rows) / (1 + having[word])) + 1 for word in kept)
        return cls(name, tuple(kept), idf)

    @property
    def feature_names(self) -> list[str]:
        """One name per feature."""
        return [f"{self.name}: {word}" for word in self.words]

    def encode(self, table: Table) -> Encoded:
        """Return float32 `[rows, words]`; a row without known words is 0."""
        counts, new = _count_known(_words(table, self.name), self.words, table.rows)
        counts.data *= np.array(self.idf)[counts.indices]
        return Encoded(_rows_to_one(counts), _word_notes(self.name, self.words, new))

    @classmethod
    def from_json(cls, value: Any) -> "Text":
        """Read the stored fields; raises DataError if they are damaged."""
        words, idf = distinct(value, "words", MOST_WORDS), numbers(value, "idf")
        # Real weights are between 1 and 50; far outside, float32 would overflow or round to 0.
        if len(words) != len(idf) or not all(1e-6 <= weight <= 1e6 for weight in idf):
            raise DataError("words and idf do not match")
        return cls(text(value, "name"), words, idf)


def _check_single(table: Table, name: str) -> str:
    if is_list(table.column(name)):
        raise DataError(f"{table.name}: column {quoted(name)} holds lists; its kind can be {TOKENS} or {EMBEDDING}")
    return ""


def _most_frequent(values: list[str], counts: NDArray[Any], most: int, allowed: NDArray[np.bool_]) -> list[str]:
    """Return the most frequent allowed values, most frequent first, ties in alphabetical order."""
    ranked = sorted((-int(counts[place]), values[place]) for place in np.flatnonzero(allowed))
    return [value for _, value in ranked[:most]]


def _split(table: Table, name: str, separator: str) -> Lists:
    lists = string_lists(table, name, separator)
    assert lists is not None, "with a separator, any text is a list"
    return lists


def _words(table: Table, name: str) -> Lists:
    """Split a column's text into words."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = table.column(name)
    if is_list(column):
        raise DataError(f"{table.name}: column {quoted(name)} holds lists, not text")
    lowered = pc.utf8_lower(present(as_text(column)).cast(pa.large_string())).combine_chunks()
    parts = pc.split_pattern_regex(lowered, _BETWEEN_WORDS)
    rows, items = pc.list_parent_indices(parts), pc.list_flatten(parts)
    long = pc.greater_equal(pc.utf8_length(items), 2)
    return Lists(rows.filter(long).to_numpy(), items.filter(long), lowered.is_valid().to_numpy(zero_copy_only=False))


def _count_all(lists: Lists, rows: int) -> tuple[sp.csr_array, list[str]]:
    """Count every word in every row: float64 `[rows, words]`, and the words."""
    encoded = lists.items.dictionary_encode()
    words = encoded.dictionary.to_pylist()
    return _counts(lists.rows, encoded.indices.to_numpy(), (rows, len(words))), words


def _count_known(lists: Lists, words: tuple[str, ...], rows: int) -> tuple[sp.csr_array, int]:
    """Count the known words in every row: float64 `[rows, words]`; and all occurrences of other words."""
    codes = _codes(lists.items, words)
    known = codes >= 0
    return _counts(lists.rows[known], codes[known], (rows, len(words))), int((~known).sum())


def _counts(rows: NDArray[Any], columns: NDArray[Any], shape: tuple[int, int]) -> sp.csr_array:
    counts = sp.csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)
    counts.sum_duplicates()
    return counts


def _codes(words: Any, known: tuple[str, ...]) -> NDArray[np.int64]:
    """Replace words `[rows]` by their place among the known words; -1 for others."""
    import pyarrow as pa
    import pyarrow.compute as pc

    codes = pc.fill_null(pc.index_in(words, value_set=pa.array(known, words.type)), -1)
    return np.asarray(codes.to_numpy(), dtype=np.int64)


def _rows_to_one(x: sp.csr_array) -> sp.csr_array:
    """Scale every row to sum 1; a row of zeros stays as it is."""
    sums = x.sum(axis=1)
    rows = np.repeat(np.arange(x.shape[0]), np.diff(x.indptr))
    return sp.csr_array(((x.data / sums[rows]).astype(np.float32), x.indices, x.indptr), shape=x.shape)


def _word_notes(name: str, words: tuple[str, ...], new: int) -> list[str]:
    if not words:
        return [f"column {quoted(name)}: no word occurs in two rows, so the column gives no features"]
    return [f"column {quoted(name)}: {counted(new, 'word is', 'words are')} rare or new and left out"] if new else []
