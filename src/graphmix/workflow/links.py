"""Links to classify: a table of edges with a column of classes becomes the dual graph (Taskar et al., 2004)."""

from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray

from graphmix.data import Graph
from graphmix.data.dual_graph import SharedEnds
from graphmix.errors import DataError
from graphmix.tables import Encoders, LinkTable, Table, check_class_names, read_labeled_links, read_nodes
from graphmix.workflow.problem import LINKS, Columns, Problem, encode, given_split, name_of, number_classes


def read_links(nodes: Path | None, edges: Path, columns: Columns, stage: Callable[[str], None]) -> Problem:
    """Read a table of links, and one of the users they join if there is one, and make the dual graph.

    A link's features are its two ends, one column per user as in the paper, its own columns, and the mean of its ends'
    features.

    Raises:
        DataError: something in a table is wrong; the message names it.
    """
    links = read_labeled_links(
        edges,
        label=columns.link_label,
        split=columns.split,
        source=columns.source,
        target=columns.target,
        encoding=columns.encoding,
    )
    notes = check_class_names(links.labels, f"{edges.name}: column {columns.link_label!r}")
    users = None if nodes is None else read_nodes(nodes, id=columns.id, encoding=columns.encoding)
    ids, ends = place_users(links, [] if users is None else users.ids, nodes)
    stage("encoding")
    tables = [links.table, *([] if users is None else [users.table])]
    for name in (*columns.features, *columns.ignore):
        if not any(name in table.columns for table in tables):
            raise DataError(f"no table has a column {name!r}")
    link_encoders, own, said = _encode_own(links.table, links.used, columns)
    encoders, user_x, found = (None, None, []) if users is None else _encode_own(users.table, users.used, columns)
    classes, y = number_classes(links.labels)
    x = link_features(ends, len(ids), own, user_x)
    graph = dual_graph(x, ends, y, classes, name_of(edges))
    split = None if links.split is None else given_split(edges, links.split, y)
    return Problem(
        LINKS,
        graph,
        split,
        ids,
        encoders,
        None,
        None,
        tuple(dict.fromkeys([*notes, *found, *said])),
        link_encoders,
        user_x,
        columns if users is None else replace(columns, id=users.id_column),
    )


def place_users(links: LinkTable, known: list[str], nodes: Path | None) -> tuple[list[str], NDArray[np.int64]]:
    """Number the links' ends among known users, which come first, and new ones: all users, and `[2, links]`.

    Raises:
        DataError: there is a table of nodes and it lacks a user.
    """
    place = {name: number for number, name in enumerate(known)}
    new = [name for name in links.users if name not in place]
    if nodes is not None and new:
        row = int((links.ends == links.users.index(new[0])).any(axis=0).argmax())
        raise DataError(f"{links.table.where(row)}: {new[0]!r} is not among the nodes of {nodes.name}")
    ids = [*known, *new]
    place |= {name: len(known) + number for number, name in enumerate(new)}
    return ids, np.array([place[name] for name in links.users], dtype=np.int64)[links.ends]


def link_features(ends: NDArray[np.int64], users: int, own: Any | None, user_x: sp.csr_array | None) -> sp.csr_array:
    """Put a link's features together: float32 `[links, users + own + width of user_x]`.

    Args:
        ends: int64 `[2, links]`; users from `users` on are new and have no column.
        users: how many users have a column.
        own: `[links, own]`, features of the links themselves.
        user_x: `[all users, width]`, features of the users.
    """
    links = ends.shape[1]
    rows = np.tile(np.arange(links), 2)
    # Users of a table may have no link at all.
    every = max(users, int(ends.max(initial=-1)) + 1, 0 if user_x is None else user_x.shape[0])
    # 1/2 at each end, 1 at the only end of a link to oneself: the mean of the two.
    halves = sp.csr_array((np.full(rows.size, 0.5), (rows, ends.ravel())), shape=(links, every))
    parts = [halves[:, :users]]
    if own is not None:
        parts.append(sp.csr_array(own))
    if user_x is not None:
        parts.append(halves @ user_x)
    return sp.csr_array(sp.hstack(parts, format="csr", dtype=np.float32))


def dual_graph(x: Any, ends: NDArray[np.int64], y: NDArray[np.int64], classes: tuple[str, ...], name: str) -> Graph:
    """The graph whose nodes are links, joined where they share a user."""
    bare = Graph.build(x, [[], []], y, len(classes), name, classes, normalise=False)
    return bare.with_structure(SharedEnds(torch.from_numpy(ends)))


def _encode_own(
    table: Table, used: Collection[str], columns: Columns
) -> tuple[Encoders | None, sp.csr_array | None, list[str]]:
    """Make features of those columns asked for that are this table's; of all that fit, if none were."""
    asked = {name: kind for name, kind in columns.features.items() if name in table.columns}
    if columns.features and not asked:
        return None, None, []
    own = replace(columns, features=asked, ignore=tuple(name for name in columns.ignore if name in table.columns))
    encoders, x, notes = encode(table, used, own)
    return encoders, None if x is None else sp.csr_array(x), notes
