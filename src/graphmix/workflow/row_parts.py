"""What can be left out of a row: a column, or one word of a column of words."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from torch import Tensor

from graphmix.data import Graph
from graphmix.tables.encoders import Encoders
from graphmix.tables.kinds import TEXT, TOKENS
from graphmix.workflow.links import LinkProblem
from graphmix.workflow.nodes import NodeProblem
from graphmix.workflow.problem import Problem

Ints = NDArray[np.int64]
Features = Any  # float32 `[rows, features]`, a numpy array or a scipy sparse array


@dataclass(frozen=True, eq=False)
class RowPart:
    """A column, or a word of it, as features.

    Attributes:
        column: what people call the column.
        first: its first feature.
        last: the feature after its last one.
        words: the names of its features, if each is a word that can be left out by itself; empty otherwise.
        rescales: whether the other words get larger when one is left out, because a row's words have a fixed sum.
        usual: float32 `[last - first]`, what stands for the features that are left out; None for zeros.
        word: the place of one word, if only that is meant; None for the whole column.
    """

    column: str
    first: int
    last: int
    words: Sequence[str] = ()
    rescales: bool = False
    usual: NDArray[np.float32] | None = None
    word: int | None = None

    @property
    def name(self) -> str:
        """The word, or else the column."""
        return self.column if self.word is None else self.words[self.word]

    def words_of(self, x: Features, row: int) -> "list[RowPart]":
        """Return the words that a row has, as parts of their own."""
        if not self.words:
            return []
        cells = x[[row], self.first : self.last]
        there = np.flatnonzero(cells.toarray() if sp.issparse(cells) else cells)
        return [self.only(int(place)) for place in there]

    def only(self, word: int) -> "RowPart":
        """Return one of its words, by its place, as a part of its own."""
        return replace(self, word=word)

    def rows_with(self, x: Features) -> Ints:
        """Return the rows that change without it: int64."""
        first, last = self._range
        if self.usual is not None:
            return np.arange(x.shape[0])
        if isinstance(x, np.ndarray):
            return np.flatnonzero((x[:, first:last] != 0).any(axis=1))
        there = np.flatnonzero((x.indices >= first) & (x.indices < last))
        return np.unique(np.searchsorted(x.indptr, there, side="right") - 1)

    @property
    def _range(self) -> tuple[int, int]:
        """Its first feature, and the one after its last."""
        if self.word is None:
            return self.first, self.last
        return self.first + self.word, self.first + self.word + 1

    def without(self, x: Features, rows: Ints) -> Features:
        """Return features `[rows, features]` without this part in the given rows.

        A column that is left out has the features of a missing cell: the mean, no category, no words. Without a word a
        row is what it would be if its cell did not have the word.
        """
        first, last = self._range
        if isinstance(x, np.ndarray):
            return self._dense(x, rows, first, last)
        made = x.copy()
        row = np.repeat(np.arange(made.shape[0]), np.diff(made.indptr))
        here = np.isin(np.arange(made.shape[0]), rows)[row]
        before = self._sums(made, row) if self.rescales else None
        made.data[here & (made.indices >= first) & (made.indices < last)] = 0
        if before is not None:
            after = self._sums(made, row)
            factor = np.divide(before, after, out=np.ones_like(before), where=after > 0)
            column = here & (made.indices >= self.first) & (made.indices < self.last)
            made.data[column] *= factor[row[column]].astype(made.dtype)
        return made

    def _dense(self, x: NDArray[np.float32], rows: Ints, first: int, last: int) -> NDArray[np.float32]:
        made = x.copy()
        own = np.ix_(rows, np.arange(self.first, self.last))
        before = np.abs(made[own]).sum(axis=1, dtype=np.float64)
        made[rows, first:last] = 0 if self.usual is None else self.usual[first - self.first : last - self.first]
        if self.rescales:
            after = np.abs(made[own]).sum(axis=1, dtype=np.float64)
            factor = np.divide(before, after, out=np.ones_like(before), where=after > 0)
            made[own] *= factor[:, None].astype(np.float32)
        return made

    def _sums(self, x: sp.csr_array, row: Ints) -> NDArray[np.float64]:
        own = (x.indices >= self.first) & (x.indices < self.last)
        return np.bincount(row[own], np.abs(x.data[own]), minlength=x.shape[0]).astype(np.float64)


def row_parts(problem: Problem, names: Sequence[str] | None = None, *, normalised: bool = False) -> list[RowPart]:
    """Return the columns of a problem that are features, in the order of its features.

    Args:
        problem: the graph and what made its features.
        names: the names of the features, for a problem made from arrays; None if they have none.
        normalised: whether the rows of a problem made from arrays were scaled to sum 1.
    """
    if isinstance(problem, LinkProblem):
        return _of_links(problem)
    assert isinstance(problem, NodeProblem)
    if problem.encoders is not None:
        return _of_encoders(problem.encoders, 0)
    if problem.structural is not None:
        return [RowPart("place in the graph", 0, problem.graph.num_features)]
    return _of_arrays(problem.graph, names, normalised)


def _of_encoders(encoders: Encoders, start: int, suffix: str = "") -> list[RowPart]:
    parts = []
    for column in encoders.columns:
        last = start + len(column.feature_names)
        worded = column.kind in (TEXT, TOKENS)
        words: Sequence[str] = getattr(column, "words", ()) if worded else ()
        parts.append(RowPart(column.name + suffix, start, last, words, rescales=worded))
        start = last
    return [part for part in parts if part.last > part.first]


def _of_links(problem: LinkProblem) -> list[RowPart]:
    users = len(problem.ids)
    parts = [RowPart("who is at its ends", 0, users)]
    if problem.link_encoders is not None:
        parts += _of_encoders(problem.link_encoders, users)
    if problem.user_encoders is not None:
        # A mean of two rows of words is not a row of words: whole columns only.
        made = _of_encoders(problem.user_encoders, parts[-1].last, " of its ends")
        parts += [RowPart(each.column, each.first, each.last) for each in made]
    return parts


def _of_arrays(graph: Graph, names: Sequence[str] | None, normalised: bool) -> list[RowPart]:
    width = graph.num_features
    called = [f"feature {place}" for place in range(width)] if names is None else [str(name) for name in names]
    if not isinstance(graph.x, Tensor):
        return [RowPart("features", 0, width, called, rescales=normalised)]
    usual = graph.x.mean(dim=0, dtype=graph.x.double().dtype).float().numpy()
    return [RowPart(name, place, place + 1, usual=usual[place : place + 1]) for place, name in enumerate(called)]
