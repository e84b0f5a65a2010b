"""A table of links to classify: their ends, their labels, and their parts of the split."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphmix.tables.cells import as_words
from graphmix.tables.edges import find_ends
from graphmix.tables.files import TableSource, read_table
from graphmix.tables.nodes import check_roles, read_ids, read_parts
from graphmix.tables.reading import USUAL, Reading
from graphmix.tables.table import Table


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
    """

    table: Table
    users: list[str]
    ends: NDArray[np.int64]
    labels: list[str | None]
    split: list[str | None] | None
    used: frozenset[str]


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
    source, target = find_ends(table, source, target, {label, split, *taken})
    used = check_roles(table, source, target, label, split)
    both = pa.chunked_array([read_ids(table, source), read_ids(table, target)]).combine_chunks().dictionary_encode()
    ends = both.indices.to_numpy().astype(np.int64).reshape(2, table.rows)
    labels = [None] * table.rows if label is None else as_words(table.column(label)).to_pylist()
    parts = None if split is None else read_parts(table, split)
    return LinkTable(table, both.dictionary.to_pylist(), ends, labels, parts, used)
