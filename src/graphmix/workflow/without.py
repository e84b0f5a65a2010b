"""What a model would predict of a node if something were left out: nodes, columns, words, or all that is further away.

The prediction is that of the whole mixture, calibrated, by its own members: nothing is approximated but what
`Surroundings` and `LocalLabels` say.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphmix.baselines.tabular import TABULAR, Tabular
from graphmix.data import Graph
from graphmix.evaluation.calibration import apply_temperature
from graphmix.evaluation.heldout import ensemble
from graphmix.evaluation.selection import average
from graphmix.method import softmax
from graphmix.models.backbone import Backbone, linear
from graphmix.models.shifted import Mapped
from graphmix.sparse import SparseMatrix
from graphmix.workflow.local_labels import REACH, LocalLabels
from graphmix.workflow.members import Member
from graphmix.workflow.mixture import Mixture
from graphmix.workflow.row_parts import Features, RowPart
from graphmix.workflow.surroundings import Ints, Mask, Surroundings

Floats = NDArray[np.float64]

# Rows of all copies that are predicted in one pass.
_ROWS = 2**16


@dataclass(frozen=True, eq=False)
class Change:
    """What is left out.

    Attributes:
        gone: nodes, as if they were not in the graph.
        blank: parts of the node's own row.
        everywhere: parts of every row in the surroundings.
        within: how far away nodes may be; those further away are gone. None for no limit.
    """

    gone: tuple[int, ...] = ()
    blank: tuple[RowPart, ...] = ()
    everywhere: tuple[RowPart, ...] = ()
    within: int | None = None

    def __add__(self, other: "Change") -> "Change":
        limits = [each.within for each in (self, other) if each.within is not None]
        return Change(
            tuple(dict.fromkeys((*self.gone, *other.gone))),
            (*self.blank, *other.blank),
            (*self.everywhere, *other.everywhere),
            min(limits, default=None),
        )

    def gone_from(self, around: Surroundings) -> Mask:
        """Return the nodes of the surroundings that are gone: bool `[n]`; never the node itself."""
        gone = around.hops > (len(around) if self.within is None else self.within)
        places = around.places(np.array(self.gone, dtype=np.int64))
        gone[places[places > 0]] = True
        return gone

    def changed(self, around: Surroundings) -> tuple[Ints, Features]:
        """Return the places of the rows that change, increasing, and their features `[rows, features]`."""
        found = [part.rows_with(around.x) for part in self.everywhere]
        rows = np.unique(np.concatenate([*found, np.zeros(int(bool(self.blank)), dtype=np.int64)]).astype(np.int64))
        x, every = around.x[rows], np.arange(len(rows))
        for part in self.everywhere:
            x = part.without(x, every)
        for part in self.blank:
            x = part.without(x, every[:1])  # the node itself is the first of all
        return rows, x


@dataclass(frozen=True, eq=False)
class Without:
    """Predictions of a mixture on a graph with something left out.

    Attributes:
        mixture: the model.
        graph: the graph; its labels are those to learn from.
    """

    mixture: Mixture
    graph: Graph

    def probabilities(self, node: int, changes: Sequence[Change], most: int) -> tuple[Floats, bool]:
        """Predict a node after each of several changes.

        Args:
            node: its number.
            changes: what is left out each time.
            most: how many nodes around it are looked at, at most.

        Returns:
            Calibrated probabilities `[changes, classes]`, and whether all that matters was looked at.
        """
        cases: dict[int | None, _Case] = {}
        predicted, whole = {}, True
        for member in self.mixture.members:
            reach = REACH if member.is_transductive else member.reach
            if reach not in cases:
                cases[reach] = _Case(Surroundings.of(self.graph, node, reach, most), changes)
            whole &= cases[reach].around.whole
            predicted[member.name] = apply_temperature(self._of_member(member, cases[reach]), member.temperature)
        shares = {each.name: each.share for each in self.mixture.members}
        return self.mixture.calibrate(average(predicted, shares)), whole

    def _of_member(self, member: Member, case: "_Case") -> Floats:
        """Predict by one member, before its temperature: `[changes, classes]`."""
        if member.is_transductive:
            return self.graph.derived(LocalLabels.of).predict(case.around, case.gone)
        # Of a network that pools all nodes, copies in one graph would not be apart.
        size = 1 if member.reach is None else max(1, _ROWS // len(case.around))
        parts = [slice(start, start + size) for start in range(0, len(case.changes), size)]
        if member.method in TABULAR:
            model = self._models[member.name]
            return np.concatenate([model.predict(case.graph(part), case.firsts(part)) for part in parts])
        predict = _sums if _is_sum(member) else _network
        return np.concatenate([predict(member, case, part) for part in parts])

    @cached_property
    def _models(self) -> dict[str, Tabular]:
        """The members that are models of tables, by name; reading their tensors takes a while."""
        sizes = (self.graph.num_features, self.graph.num_classes)
        members = (each for each in self.mixture.members if each.method in TABULAR)
        return {each.name: TABULAR[each.method].from_tensors(each.tensors, *sizes) for each in members}


@dataclass(frozen=True, eq=False)
class _Case:
    """Changes to the surroundings of a node; what several members need is computed once."""

    around: Surroundings
    changes: Sequence[Change]
    _graphs: dict[int, Graph] = field(default_factory=dict)
    _bare: dict[int, Graph] = field(default_factory=dict)

    @cached_property
    def gone(self) -> Mask:
        """Which nodes are gone: bool `[changes, n]`."""
        return np.stack([change.gone_from(self.around) for change in self.changes])

    @cached_property
    def rows(self) -> tuple[Features, NDArray[np.int64]]:
        """All rows that occur: those of the surroundings, then the changed ones; and `[changes, n]`, which is where."""
        size = len(self.around)
        parts, places = [self.around.x], np.tile(np.arange(size), (len(self.changes), 1))
        for copy, change in enumerate(self.changes):
            if change.blank or change.everywhere:
                rows, x = change.changed(self.around)
                places[copy, rows] = size + np.arange(len(rows))
                parts.append(x)
                size += len(rows)
        dense = isinstance(self.around.x, np.ndarray)
        return np.concatenate(parts) if dense else sp.csr_array(sp.vstack(parts, format="csr")), places

    def firsts(self, part: slice) -> Ints:
        """Return where the node itself is in each copy: int64 `[copies]`."""
        return np.arange(len(self.changes[part])) * len(self.around)

    def graph(self, part: slice) -> Graph:
        """Return the copies of some changes, with what was computed from them."""
        if part.start not in self._graphs:
            x, places = self.rows
            self._graphs[part.start] = self.around.copies(self.gone[part], x[places[part].ravel()])
        return self._graphs[part.start]

    def bare(self, part: slice) -> Graph:
        """Return the copies of some changes without features; the first ones with what was computed from them."""
        if part.start in self._bare:
            return self._bare[part.start]
        gone = self.gone[part]
        made = self.around.copies(gone, np.empty((gone.size, 0), dtype=np.float32))
        if part.start == 0:  # most nodes have no others, and the memory of all would have no limit
            self._bare[part.start] = made
        return made


@torch.no_grad()
def _sums(member: Member, case: _Case, part: slice) -> Floats:
    """Predict by a network whose logits are weighted sums over nodes: only the weights need a pass over each copy."""
    network, firsts, size = member.network(), case.firsts(part), len(case.around)
    graph = case.bare(part)
    marks = torch.zeros(graph.num_nodes)
    marks[torch.from_numpy(firsts)] = 1
    weights = network.weights_at(marks, graph)[:, : len(firsts) * size].unflatten(1, (len(firsts), size))
    x, places = case.rows
    mapped = network.logits_of_hidden(network.encode(_tensor(x), graph))
    assert mapped is not None, "such a network has them"
    usual = mapped[:, :size]
    logits = weights @ usual
    for copy, place in enumerate(places[part]):
        other = torch.from_numpy(np.flatnonzero(place >= size))
        if len(other):
            differs = mapped[:, torch.from_numpy(place)[other]] - usual[:, other]
            logits[:, copy] += (weights[:, copy, None, other] @ differs)[:, 0]
    return ensemble(softmax(logits))


@torch.no_grad()
def _network(member: Member, case: _Case, part: slice) -> Floats:
    network, firsts = member.network(), case.firsts(part)
    if not network.reads_x_once or member.config.binarise:
        return member.uncalibrated(case.graph(part))[firsts]
    graph = case.bare(part)
    graph = graph if member.config.predicts_with_gnn else graph.null()
    node_wise = network.encode_hops == 0
    # Most rows are the same in all copies: each is mapped once.
    x, places = (_tensor(case.rows[0]), torch.from_numpy(case.rows[1][part].ravel()))
    mapped = network.encode(x, graph) if node_wise else linear(x, network.first_weight(graph), 0.0, None)
    values = torch.nn.functional.pad(mapped[:, places], (0, 0, 0, case.around.others))
    hidden = values if node_wise else network.encode(Mapped(values), graph)  # type: ignore[arg-type]
    return ensemble(softmax(network.decode(hidden, graph)[:, torch.from_numpy(firsts)]))


def _is_sum(member: Member) -> bool:
    """Whether the logits of a member are weighted sums over nodes of what each node's features give."""
    network = member.network()
    node_wise = network.encode_hops == 0 and member.config.predicts_with_gnn and not member.config.binarise
    return node_wise and type(network).weights_at is not Backbone.weights_at


def _tensor(x: Features) -> SparseMatrix | Tensor:
    return torch.from_numpy(x) if isinstance(x, np.ndarray) else SparseMatrix.from_scipy(x)
