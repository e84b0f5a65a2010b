"""A table of links to classify: their ends, their labels, and their parts of the split."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphmix.errors import DataError
from graphmix.tables.alike import likely_meant
from graphmix.tables.cells import as_words
from graphmix.tables.edges import check_not_end, find_ends
from graphmix.tables.files import TableSource, read_table
from graphmix.tables.ids import Ids, read_ids
from graphmix.tables.matching import Finder
from graphmix.tables.nodes import check_roles, read_parts
from graphmix.tables.reading import USUAL, Reading
from graphmix.tables.table import Table, shortened

# For each end, ids by the number of the link.
Spellings = tuple[Mapping[int, str], Mapping[int, str]]


@dataclass(frozen=True, eq=False)
class LinkTable:
    """Links as they are in the user's table.

    Attributes:
        table: all columns.
        users: the ids of the nodes that the links join, each once, in order of appearance.
        ends: int64 `[2, links]`, places in `users`.
        labels: `[links]`, class names, or None for an unlabeled link.
        split: `[links]`, train, val, test or None; None altogether if no column was named.
        used: the columns that cannot be features.
        ids: the ids `[links]` of both ends, by their columns.
    """

    table: Table
    users: list[str]
    ends: NDArray[np.int64]
    labels: list[str | None]
    split: list[str | None] | None
    used: frozenset[str]
    ids: dict[str, Ids]


def read_labeled_links(
    links: TableSource,
    *,
    label: str | None = None,
    split: str | None = None,
    source: str | None = None,
    target: str | None = None,
    reading: Reading = USUAL,
    taken: Collection[str | None] = (),
) -> LinkTable:
    """Read a table with one link in each row; repeated links, reverse links and loops are separate links.

    Args:
        links: a CSV, TSV or Parquet file, a pyarrow Table or a pandas DataFrame.
        label: the column of labels; an empty cell is an unlabeled link.
        split: a column of train, val or test.
        source: the column of one end's ids; by default found as in `read_edges`.
        target: the column of the other end's ids.
        reading: how the table is read.
        taken: columns that are known not to be ends.

    Raises:
        DataError: the table, an id or a part of the split is invalid; the message names the line.
    """
    import pyarrow as pa

    table = read_table(links, "edges", reading)
    named = source is not None and target is not None
    source, target = find_ends(table, source, target, {label, split, *taken})
    if not named:
        check_not_end(table, label, "link_label", (source, target))
    used = check_roles(table, source, target, label, split)
    read = {name: read_ids(table, name) for name in (source, target)}
    chunks = [chunk for ids in read.values() for chunk in ids.texts.chunks]
    both = pa.chunked_array(chunks).combine_chunks().dictionary_encode()
    ends = both.indices.to_numpy().astype(np.int64).reshape(2, table.rows)
    labels = [None] * table.rows if label is None else as_words(table.column(label)).to_pylist()
    parts = None if split is None else read_parts(table, split)
    return LinkTable(table, both.dictionary.to_pylist(), ends, labels, parts, used, read)


class Placed(NamedTuple):
    """The ends of links as numbers of users.

    Attributes:
        ids: the ids of all users: known ones first, then new ones.
        ends: int64 `[2, links]`, places in `ids`.
        spellings: for each end, the ids of links that are written differently from `ids`, by the link's number.
        notes: sentences for the user.
    """

    ids: list[str]
    ends: NDArray[np.int64]
    spellings: Spellings
    notes: list[str]


def place_users(links: LinkTable, known: Sequence[str], nodes: str | None) -> Placed:
    """Number the ends of links.

    Args:
        links: the links.
        known: ids of users that have numbers already.
        nodes: the name of the table that must have every user; None if new users are allowed.

    Raises:
        DataError: the table lacks a user, or the id of a link may mean two users.
    """
    known = known or _plain_users(links)
    place = np.full(len(links.users), -1)
    notes: list[str] = []
    finder = Finder(known)
    for (column, ids), end in zip(links.ids.items(), links.ends, strict=True):
        found = finder.find(ids, links.table, column)
        place[end], notes = found.numbers, [*notes, *found.notes]
    new = np.flatnonzero(place < 0)
    if nodes is not None and len(new):
        row = int((links.ends == new[0]).any(axis=0).argmax())
        name = links.users[new[0]]
        meant = likely_meant([name], known)
        raise DataError(f"{links.table.where(row)}: {shortened(name)} is not among the nodes of {nodes}{meant}")
    every = [*known, *(links.users[user] for user in new)]
    place[new] = len(known) + np.arange(len(new))
    respelled = np.array([name != every[user] for name, user in zip(links.users, place.tolist(), strict=True)], bool)
    source, target = (
        {link: links.users[end[link]] for link in np.flatnonzero(respelled[end]).tolist()} for end in links.ends
    )
    return Placed(every, place[links.ends], (source, target), list(dict.fromkeys(notes)))


def _plain_users(links: LinkTable) -> list[str]:
    """Return the users of one end if every id of the other end, and none of this one, has outer spaces.

    Then the spaces belong to the layout of the file, as after `, `, and the ids of the other end are read without them.
    """
    is_spaced = np.array([name != name.strip() for name in links.users], bool)[links.ends]
    for end, other in ((0, 1), (1, 0)):
        if is_spaced[other].all() and not is_spaced[end].any():
            return list(dict.fromkeys(links.users[user] for user in links.ends[end]))
    return []
