"""LinkProblem: links to classify, from a table of edges with a column of classes (Taskar et al., 2004)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphmix.data import Graph
from graphmix.data.checks import UNKNOWN
from graphmix.data.dual_graph import SharedEnds
from graphmix.errors import ConfigError, DataError
from graphmix.storage.graphs import pack_csr, unpack_csr
from graphmix.tables.encoders import Encoders
from graphmix.tables.links import LinkTable, Spellings, place_users, read_labeled_links
from graphmix.tables.matching import alike_notes
from graphmix.tables.nodes import read_nodes
from graphmix.tables.reading import Tell, nothing
from graphmix.tables.stored import is_text
from graphmix.tables.table import Table, quoted
from graphmix.text import counted
from graphmix.workflow.columns import Columns
from graphmix.workflow.features import Features, encode, number_classes, stack
from graphmix.workflow.nodes import columns_in_use, refuse_known
from graphmix.workflow.problem import Grown, Problem, Source, Stage, given_split, graph_name, learned_from
from graphmix.workflow.roles import check_labels, giveaways, id_role, link_roles, unused_labels
from graphmix.workflow.rows import RowIds, Rows, heading_notes, headings, stored_columns

_USERS = "users"
_ENDS = ("source", "target")


@dataclass(frozen=True, eq=False, kw_only=True)
class LinkProblem(Problem):
    """Links to classify: the nodes of the dual graph, joined if they share a user.

    The features of a link are its two ends, one column per user as in the paper, its own columns, and the mean of the
    features of its ends.

    Attributes:
        link_encoders: what turned columns of the links into features; None if no column is a feature.
        user_encoders: what turned columns of the users into features; None without such columns.
        user_x: float32 `[users, width]`, the features of the users; None without such columns.
        spellings: for each end, the ids of links that are written differently from the user's, by the link's number.
    """

    task: ClassVar[str] = "links"

    link_encoders: Encoders | None = None
    user_encoders: Encoders | None = None
    user_x: sp.csr_array | None = None
    spellings: Spellings = ({}, {})

    @classmethod
    def read(
        cls,
        nodes: Source,
        edges: Source,
        columns: Columns,
        *,
        ignore_unknown: bool = False,
        stage: Stage,
        tell: Tell = nothing,
    ) -> Self:
        """Read a table of links, and a table of the users they join if there is one."""
        if columns.weight is not None or columns.no_weight or ignore_unknown:
            edges_only = "`weight`, `no_weight` and `ignore_unknown` are for edges"
            raise ConfigError(f"{edges_only}, and with `link_label` there are only links")
        links = _read_links(edges, columns, label=columns.link_label, split=columns.split, tell=tell)
        notes = [link_roles(links)]
        notes += check_labels(links.table, columns.link_label, links.labels)
        users = None if nodes is None else read_nodes(nodes, id=columns.id, reading=columns.reading("nodes", tell))
        notes += [] if users is None else [id_role(users)]
        placed = place_users(links, [] if users is None else users.ids, None if users is None else users.table.name)
        ids, ends = placed.ids, placed.ends
        stage("encoding")
        _check_columns(columns, [links.table, *([] if users is None else [users.table])])
        own = _encode_own(links.table, _roles(links, columns), columns)
        made = Features(None, None, ()) if users is None else _encode_own(users.table, {users.id_column: "id"}, columns)
        classes, y = number_classes(links.labels)
        renamed = heading_notes(tuple(links.ids), _ENDS)
        split, unused = given_split(links.table.name, links.split, y, classes)
        x = link_features(ends, len(ids), own.x, made.x)
        return cls(
            graph=_dual_graph(x, ends, y, classes, graph_name(links.table.name)),
            split=split,
            ids=ids,
            columns=columns if users is None else replace(columns, id=users.id_column),
            id_columns=_own_columns(links),
            spellings=placed.spellings,
            uses=(*own.uses, *made.uses),
            notes=tuple(dict.fromkeys([*notes, *alike_notes(ids), *placed.notes, *renamed, *unused])),
            warnings=giveaways(links.table, columns.link_label, links.labels, own, learned_from(y, split)),
            link_encoders=own.encoders,
            user_encoders=made.encoders,
            user_x=made.x,
        )

    def rows(self) -> Rows:
        """Return the ids of both ends of each link."""
        return _name_ends(self._ends, self.ids, self.spellings, self.id_columns)

    def grow(self, nodes: Source, edges: Source, *, ignore_unknown: bool = False) -> Grown:
        """Add new links, and the features of new users if there is a table of them."""
        if nodes is None and edges is None:
            return Grown(self.learned, self.rows())
        if edges is None:
            raise DataError("the model classifies links; give a table of new links, `edges`")
        if ignore_unknown:
            raise ConfigError("`ignore_unknown` is for edges, and this model has only links")
        taken = columns_in_use(self.columns, self.link_encoders)
        links = _read_links(edges, self.columns, taken=taken)
        ids, user_x, found = self._grow_users(nodes)
        notes = [link_roles(links), *found, *unused_labels(links.table, self.columns.link_label)]
        placed = place_users(links, ids, None)
        ends, new = placed.ends, len(placed.ids) - len(ids)
        notes += [*placed.notes, *alike_notes(placed.ids, since=len(self.ids))]
        if new:
            users = counted(new, "user is", "users are")
            notes.append(f"{users} new to the model; their links are predicted by what else is known")
        if user_x is not None:
            user_x = sp.csr_array(sp.vstack([user_x, sp.csr_array((new, user_x.shape[1]), dtype=np.float32)]))
        own = None
        if self.link_encoders is not None:
            encoded = self.link_encoders.encode(links.table)
            own, notes = encoded.x, [*notes, *encoded.notes]
        x = stack(self.graph.x, link_features(ends, len(self.ids), own, user_x))
        joined = np.concatenate([self._ends, ends], axis=1)
        y = np.concatenate([self.learned.y.numpy(), np.full(ends.shape[1], UNKNOWN)])
        graph = _dual_graph(x, joined, y, self.classes, self.graph.name)
        rows = _name_ends(ends, placed.ids, placed.spellings, _own_columns(links))
        return Grown(graph, self.rows(), rows, tuple(notes))

    def tensors(self) -> dict[str, Tensor]:
        """Return the graph, the given split and the features of the users as tensors by name."""
        return super().tensors() | ({} if self.user_x is None else pack_csr(_USERS, self.user_x))

    def ids_json(self) -> dict[str, Any]:
        """Return the ids of the users, and how links write them, as JSON values."""
        return super().ids_json() | {"spellings": [list(end.items()) for end in self.spellings]}

    def encoders_json(self) -> dict[str, Any]:
        """Return what made the features, as JSON values; "encoders" are those of the users."""
        made = {"encoders": self.user_encoders, "link_encoders": self.link_encoders}
        return {name: None if part is None else part.to_json() for name, part in made.items()}

    @classmethod
    def _from_parts(
        cls, shared: dict[str, Any], described: Any, tensors: dict[str, Tensor], encoders: Any, ids: Any
    ) -> Self:
        if "ends" not in tensors:
            raise ValueError("the stored graph is not one of links")
        if int(tensors["ends"].max()) >= len(shared["ids"]):
            raise ValueError(f"a link has an end beyond the {len(shared['ids'])} ids")
        users, links = (
            None if encoders[name] is None else Encoders.from_json(encoders[name])
            for name in ("encoders", "link_encoders")
        )
        user_x = unpack_csr(_USERS, tensors) if f"{_USERS}.shape" in tensors else None
        own = (shared["columns"].source, shared["columns"].target)
        return cls(
            **shared,
            id_columns=stored_columns(described, own, _ENDS),
            spellings=_stored_spellings(ids, tensors["ends"].shape[1]),
            user_encoders=users,
            link_encoders=links,
            user_x=user_x,
        )

    @property
    def _ends(self) -> NDArray[np.int64]:
        """The ends of the links, int64 `[2, links]`, numbers of `ids`."""
        return self.graph.structure.packed()["ends"].numpy()

    def _grow_users(self, nodes: Source) -> tuple[Sequence[str], sp.csr_array | None, list[str]]:
        """Return the users of the model and of a table, their features if the model uses any, and notes."""
        if nodes is None:
            return self.ids, self.user_x, []
        if self.user_encoders is None or self.user_x is None:
            return self.ids, None, ["the table of nodes is not used: the model was trained without features of users"]
        taken = columns_in_use(self.columns, self.user_encoders)
        table = read_nodes(nodes, id=self.columns.id, reading=self.columns.reading("nodes"), taken=taken)
        refuse_known(table, self.ids)
        encoded = self.user_encoders.encode(table.table)
        return (
            [*self.ids, *table.ids],
            sp.csr_array(sp.vstack([self.user_x, encoded.x])),
            [id_role(table), *encoded.notes],
        )


def link_features(ends: NDArray[np.int64], users: int, own: Any | None, user_x: sp.csr_array | None) -> sp.csr_array:
    """Put the features of links together: float32 `[links, users + own + width of user_x]`.

    Args:
        ends: int64 `[2, links]`; users from `users` on are new and have no column.
        users: number of users that have a column.
        own: `[links, own]`, features of the links themselves.
        user_x: `[all users, width]`, features of the users.
    """
    links = ends.shape[1]
    rows = np.tile(np.arange(links), 2)
    # Users of a table may have no link at all.
    every = max(users, int(ends.max(initial=-1)) + 1, 0 if user_x is None else user_x.shape[0])
    # 1/2 at each end, 1 at the only end of a link from a user to itself: a product with it is the mean of the ends.
    halves = sp.csr_array((np.full(rows.size, 0.5), (rows, ends.ravel())), shape=(links, every))
    parts = [halves[:, :users]]
    if own is not None:
        parts.append(sp.csr_array(own))
    if user_x is not None:
        parts.append(halves @ user_x)
    return sp.csr_array(sp.hstack(parts, format="csr", dtype=np.float32))


def _dual_graph(x: Any, ends: NDArray[np.int64], y: NDArray[np.int64], classes: tuple[str, ...], name: str) -> Graph:
    """Build the graph whose nodes are links, joined if they share a user."""
    bare = Graph.build(x, [[], []], y, len(classes), name, classes, normalise=False)
    return bare.with_structure(SharedEnds(torch.from_numpy(ends)))


def _read_links(edges: Source, columns: Columns, tell: Tell = nothing, **named: Any) -> LinkTable:
    ends = {name: getattr(columns, name) for name in _ENDS}
    return read_labeled_links(edges, **ends, **named, reading=columns.reading("edges", tell))


def _check_columns(columns: Columns, tables: list[Table]) -> None:
    """Raise a `DataError` if a column named as a feature or to be ignored is in none of the tables."""
    for name in (*columns.features, *columns.keep, *columns.ignore):
        if not any(table.has(name) for table in tables):
            raise DataError(f"no table has a column {quoted(name)}")


def _own_columns(links: LinkTable) -> dict[str, str]:
    """Return the type of the ids of each end, by its heading in outputs."""
    kinds = (ids.kind for ids in links.ids.values())
    return dict(zip(headings(tuple(links.ids), _ENDS), kinds, strict=True))


def _name_ends(
    ends: NDArray[np.int64], ids: Sequence[str], spellings: Spellings, columns: Mapping[str, str]
) -> dict[str, RowIds]:
    rows = {}
    for (heading, kind), end, written in zip(columns.items(), ends.tolist(), spellings, strict=True):
        rows[heading] = RowIds([written.get(link, ids[user]) for link, user in enumerate(end)], kind)
    return rows


def _stored_spellings(ids: Any, links: int) -> Spellings:
    """Return what `ids_json` wrote; an older version wrote none, and raise ValueError if it is damaged."""
    source, target = (dict(end) for end in ids.get("spellings", ({}, {})))
    for end in (source, target):
        if not all(type(link) is int and 0 <= link < links and is_text(name) for link, name in end.items()):
            raise ValueError("missing or invalid: spellings")
    return source, target


def _roles(links: LinkTable, columns: Columns) -> dict[str, str]:
    """Return what the columns of the links are that are not features."""
    named = {columns.link_label: "label", columns.split: "split"} | dict.fromkeys(links.ids, "end of a link")
    return {name: role for name, role in named.items() if name is not None}


def _encode_own(table: Table, roles: Mapping[str, str], columns: Columns) -> Features:
    """Encode the requested columns that this table has; all that can be features if none were requested."""
    asked, keep = (
        {name: kind for name, kind in wanted.items() if table.has(name)} for wanted in (columns.features, columns.keep)
    )
    ignore = tuple(name for name in columns.ignore if table.has(name))
    if columns.features and not asked:
        # None of its columns is named.
        ignore = tuple(name for name in (*table.columns, *table.ignored) if name not in roles)
    made = encode(table, roles, replace(columns, features=asked, keep=keep, ignore=ignore))
    return made if made.x is None else made._replace(x=sp.csr_array(made.x))
