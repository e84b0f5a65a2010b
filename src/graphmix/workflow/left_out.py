"""What is worth leaving out to explain a prediction: nodes nearby, columns and words."""

from collections.abc import Sequence

import numpy as np

from graphmix.data import Graph
from graphmix.data.structure import Edges
from graphmix.workflow.row_parts import RowPart
from graphmix.workflow.surroundings import Surroundings

# At most so many of each are tried.
_NEAR, _SECOND, _COLUMNS, _WORDS, _WORDS_AROUND = 100, 30, 60, 40, 20


def nodes_nearby(graph: Graph, around: Surroundings) -> list[int]:
    """Return the places of the nodes to leave out: neighbours, and those two hops away by how many paths lead there."""
    first, second = (np.flatnonzero(around.hops == hops) for hops in (1, 2))
    if len(first) > _NEAR:
        # Neighbours of few nodes count most to those.
        first = first[np.argsort(graph.structure.degrees[around.nodes[first]], kind="stable")[:_NEAR]]
    if len(second) > _SECOND:
        # Links that share an end may be too many to list.
        listed = isinstance(graph.structure, Edges)
        joins = around.edges.tocsr()[second][:, np.flatnonzero(around.hops == 1)].sum(axis=1) if listed else -second
        second = second[np.argsort(-joins, kind="stable")[:_SECOND]]
    return [*first.tolist(), *second.tolist()]


def own_parts(parts: Sequence[RowPart], around: Surroundings) -> list[RowPart]:
    """Return the columns, and the words that the node's row has, the largest first."""
    words = [word for part in parts for word in part.words_of(around.x, 0)]
    row = around.x[[0]]
    dense = np.asarray(row.todense() if not isinstance(row, np.ndarray) else row)[0]
    words.sort(key=lambda part: -abs(float(dense[part.first + (part.word or 0)])))
    away = [np.abs(dense[part.first : part.last] - (0 if part.usual is None else part.usual)).max() for part in parts]
    columns = sorted(range(len(parts)), key=lambda place: -away[place])
    chosen = [parts[place] for place in columns[:_COLUMNS] if away[place] > 0]
    return [*_beside_words(chosen, parts), *words[:_WORDS]]


def parts_nearby(parts: Sequence[RowPart], around: Surroundings) -> list[RowPart]:
    """Return the columns, and the words that the node and its neighbours have most of."""
    rows = np.flatnonzero(around.hops <= 1)
    weights = np.asarray(np.abs(around.x[rows]).sum(axis=0)).ravel()
    # Its own words first: they count as much as those of all neighbours.
    weights = weights + len(rows) * np.asarray(np.abs(around.x[[0]]).sum(axis=0)).ravel()
    found: list[tuple[float, RowPart]] = []
    for part in (each for each in parts if each.words):
        strongest = np.argsort(-weights[part.first : part.last], kind="stable")[:_WORDS_AROUND]
        found += [(weights[part.first + place], part.only(int(place))) for place in strongest]
    found = sorted((each for each in found if each[0] > 0), key=lambda each: -each[0])[:_WORDS_AROUND]
    return [*_beside_words(parts[:_COLUMNS], parts), *(part for _, part in found)]


def _beside_words(chosen: Sequence[RowPart], parts: Sequence[RowPart]) -> Sequence[RowPart]:
    """Leave a column of words out if it is the only one: that is all that the row has, and the steps say it."""
    return [] if len(parts) == 1 and parts[0].words else chosen
