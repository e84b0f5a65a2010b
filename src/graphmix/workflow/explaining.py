"""Explain predictions: what of a node, its neighbours and its labels they come from, by leaving things out."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from graphmix.data import Graph
from graphmix.tables.ids import id_text
from graphmix.workflow.explanation import Cell, Explanation, Flip, LabelShare, Neighbour, Step, percent
from graphmix.workflow.explanations import Explanations
from graphmix.workflow.left_out import nodes_nearby, own_parts, parts_nearby
from graphmix.workflow.mixture import Mixture
from graphmix.workflow.row_parts import RowPart
from graphmix.workflow.supports import supports
from graphmix.workflow.surroundings import Surroundings
from graphmix.workflow.without import Change, Without

Floats = NDArray[np.float64]

# So many nodes around a node are looked at; more, if the prediction by these alone is off by more than _CLOSE.
SIZES = (256, 1024, 4096, 16_384)
_CLOSE = 0.005
# On a larger graph the labels that count are looked for near the node only.
_MANY_NODES = 50_000
# How many effects are kept of each kind, and how many things are left out together.
_KEPT, _TOGETHER = 12, 6
_TINY = 1e-12
# Nodes whose labels are looked for side by side.
_AT_ONCE = 32

Tell = Callable[[int, int], None]
Thing = TypeVar("Thing")
# How much something matters to the log odds, what it is, and the change that leaves it out.
Tried = tuple[float, Thing, Change]
# What is used, how far away it is, and the change that leaves the rest out.
Stage = tuple[str, int, Change]


class Effect(NamedTuple):
    """What a change does to the predicted class.

    Attributes:
        share: its probability then.
        points: by how much it fell.
        odds: by how much its log odds fell.
    """

    share: float
    points: float
    odds: float


@dataclass(frozen=True, eq=False)
class Explainer:
    """Explains predictions of a mixture on one graph.

    Attributes:
        mixture: the model.
        graph: the graph; its labels are those that the model learned from.
        names: the ids of the nodes by heading.
        parts: the columns.
        labels: the given labels `[nodes]`, those of a test set too; None where there is none.
        probabilities: calibrated, of every node `[nodes, classes]`.
    """

    mixture: Mixture
    graph: Graph
    names: Mapping[str, Sequence[Any]]
    parts: Sequence[RowPart]
    labels: Sequence[str | None]
    probabilities: Floats
    _without: Without = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_without", Without(self.mixture, self.graph))

    def explain(self, nodes: Sequence[int], tell: Tell = lambda done, total: None) -> Explanations:
        """Explain the predictions of nodes; `tell` is called with what is done, of how much."""
        made: list[Explanation] = []
        for start in range(0, len(nodes), _AT_ONCE):
            tell(len(made), len(nodes))
            part = nodes[start : start + _AT_ONCE]
            for node, rests in zip(part, self._rests_on(np.array(part, dtype=np.int64)), strict=True):
                made.append(self._explain(node, rests))
                tell(len(made), len(nodes))
        return Explanations(self.graph.name, tuple(made))

    def _explain(self, node: int, rests: list[tuple[int, float]]) -> Explanation:
        whole = self.probabilities[node]
        chosen, second = (int(each) for each in np.argsort(-whole, kind="stable")[:2])
        size, drift = self._size(node, whole)
        around = Surroundings.of(self.graph, node, 2, size)
        trial = _Trial(self._without, node, size, chosen)
        steps, neighbours, cells = self._try(around, trial)
        own = [each for each in cells if each[1].own is not None]
        flips = [self._flip(trial, "the graph", neighbours), self._flip(trial, "its row", own)]
        classes = self.mixture.classes
        if self._reads_edges and (int(around.hops.max()) > 2 or (self._pools and len(around) < self.graph.num_nodes)):
            steps.append(Step("all that is further away", None, float(whole[chosen])))
        return Explanation(
            names={heading: values[node] for heading, values in self.names.items()},
            label=self.labels[node],
            predicted=classes[chosen],
            probability=float(whole[chosen]),
            second=classes[second],
            second_probability=float(whole[second]),
            steps=tuple(steps),
            neighbours=tuple(sorted((each for _, each, _ in neighbours), key=_shown_first)),
            cells=tuple(sorted((each for _, each, _ in cells), key=_shown_first)),
            labels=self._label_shares(around, rests),
            flips=tuple(each for each in flips if each is not None),
            notes=_say_drift(size, drift, whole[chosen]),
        )

    def _try(
        self, around: Surroundings, trial: "_Trial"
    ) -> tuple[list[Step], list[Tried[Neighbour]], list[Tried[Cell]]]:
        """Leave everything out that is worth it, all in one batch; return what that does, the strongest first."""
        stages = self._stages(around)
        near = nodes_nearby(self.graph, around) if self._reads_edges else []
        owns = own_parts(self.parts, around)
        nearby = parts_nearby(self.parts, around) if self._reads_edges else []
        found = trial.effects(
            [change for *_, change in stages],
            [Change(gone=(int(around.nodes[place]),)) for place in near],
            [Change(blank=(part,)) for part in owns],
            [Change(everywhere=(part,)) for part in nearby],
        )
        steps = [Step(name, hops, effect.share) for (name, hops, _), effect in zip(stages, found[0], strict=True)]
        return steps, self._neighbours(around, near, found[1])[:_KEPT], _cells((owns, nearby), found[2:])[:_KEPT]

    @property
    def _reads_edges(self) -> bool:
        return any(each.reach != 0 for each in self.mixture.members)

    @property
    def _pools(self) -> bool:
        """Whether a network pools all nodes, also those that no path leads to."""
        return any(each.reach is None and not each.is_transductive for each in self.mixture.members)

    def _size(self, node: int, whole: Floats) -> tuple[int, float]:
        """Return how many nodes to look at, and by how much a prediction from these alone is off."""
        for size in SIZES:
            found, complete = self._without.probabilities(node, [Change()], size)
            drift = float(np.abs(found[0] - whole).max())
            if complete or drift <= _CLOSE:
                break
        return size, drift

    def _stages(self, around: Surroundings) -> list[Stage]:
        """Return what is used step by step, how far away it is, and the change that leaves the rest out."""
        own = "its own columns" if len(self.parts) > 1 else f"its own {self.parts[0].column}"
        stages: list[Stage] = [
            ("nothing", 0, Change(blank=tuple(self.parts), within=0)),
            (own, 0, Change(within=0)),
            ("its neighbours", 1, Change(within=1)),
            ("nodes two hops away", 2, Change(within=2)),
        ]
        farthest = int(around.hops.max()) if self._reads_edges else 0
        return [stage for stage in stages if stage[1] <= farthest]

    def _neighbours(self, around: Surroundings, near: list[int], found: list[Effect]) -> list[Tried[Neighbour]]:
        """Describe the nodes nearby that were left out; the strongest first."""
        tried = []
        for place, effect in zip(near, found, strict=True):
            node = int(around.nodes[place])
            predicted = self.mixture.classes[int(self.probabilities[node].argmax())]
            one = Neighbour(self.name_of(node), int(around.hops[place]), self._label(node), predicted, effect.points)
            tried.append((effect.odds, one, Change(gone=(node,))))
        return sorted(tried, key=lambda each: -abs(each[0]))

    def _flip(self, trial: "_Trial", where: str, tried: Sequence[Tried[Any]]) -> Flip | None:
        """Leave out ever more of what speaks for the prediction, until it changes."""
        speaking = sorted((each for each in tried if each[0] > 0), key=lambda each: -each[0])[:_TOGETHER]
        if not speaking:
            return None
        together, changes = Change(), []
        for _, _, change in speaking:
            together = together + change
            changes.append(together)
        rows = trial.rows(changes)
        changed = np.flatnonzero(rows.argmax(axis=1) != trial.chosen)
        last = int(changed[0]) if len(changed) else len(changes) - 1
        best = int(rows[last].argmax())
        names = tuple(each.name for _, each, _ in speaking[: last + 1])
        return Flip(names, where, self.mixture.classes[best], float(rows[last, best]), bool(len(changed)))

    def _rests_on(self, nodes: NDArray[np.int64]) -> list[list[tuple[int, float]]]:
        """Return the labeled nodes that predictions rest on, with their shares, the largest first."""
        chosen = self.probabilities[nodes].argmax(axis=1)
        if self.graph.num_nodes <= _MANY_NODES:
            shares = supports(self.mixture, self.graph, nodes, chosen)
            labeled = np.flatnonzero(self.graph.y.numpy() >= 0)
            return [_largest(labeled, row) for row in shares]
        found = []
        for node, label in zip(nodes.tolist(), chosen.tolist(), strict=True):
            around = Surroundings.of(self.graph, node, None, SIZES[-1])
            part = around.copies(np.zeros((1, len(around)), dtype=np.bool_), around.x)
            labeled = np.flatnonzero(part.y.numpy() >= 0)
            row = supports(self.mixture, part, np.array([0]), np.array([label]))[0]
            found.append(_largest(around.nodes[labeled], row))
        return found

    def _label_shares(self, around: Surroundings, rests: list[tuple[int, float]]) -> tuple[LabelShare, ...]:
        places = around.places(np.array([node for node, _ in rests], dtype=np.int64))
        hops = [None if place < 0 else int(around.hops[place]) for place in places]
        return tuple(
            LabelShare(self.name_of(node), self._label(node) or "", far, share)
            for (node, share), far in zip(rests, hops, strict=True)
        )

    def name_of(self, node: int) -> str:
        """Return the id of a node; of a link both ends."""
        return " → ".join(id_text(values[node]) for values in self.names.values())

    def _label(self, node: int) -> str | None:
        label = int(self.graph.y[node])
        return None if label < 0 else self.mixture.classes[label]


@dataclass(frozen=True, eq=False)
class _Trial:
    """One node whose prediction is tried with changes.

    Attributes:
        without: the model.
        node: the node.
        size: how many nodes are looked at.
        chosen: the predicted class.
    """

    without: Without
    node: int
    size: int
    chosen: int

    def rows(self, changes: Sequence[Change]) -> Floats:
        """Predict after each change: `[changes, classes]`."""
        return self.without.probabilities(self.node, changes, self.size)[0]

    def effects(self, *groups: Sequence[Change]) -> list[list[Effect]]:
        """Try groups of changes, all in one batch; return their effects group by group."""
        # The unchanged one among the same nodes, to compare like with like.
        shares = self.rows([Change(), *(change for group in groups for change in group)])[:, self.chosen]
        clipped = shares.clip(_TINY, 1 - _TINY)
        odds = np.log(clipped) - np.log1p(-clipped)
        columns = (shares[1:], shares[0] - shares[1:], odds[0] - odds[1:])
        each = iter(zip(*(column.tolist() for column in columns), strict=True))
        return [[Effect(*next(each)) for _ in group] for group in groups]


def _cells(groups: Sequence[Sequence[RowPart]], effects: Sequence[Sequence[Effect]]) -> list[Tried[Cell]]:
    """Put together the effects of columns and words in the node's row and in all rows nearby; the strongest first."""
    found: dict[tuple[str, str | None], tuple[RowPart, list[Effect | None]]] = {}
    for place, (parts, tried) in enumerate(zip(groups, effects, strict=True)):
        for part, effect in zip(parts, tried, strict=True):
            key = (part.column, None if part.word is None else part.name)
            found.setdefault(key, (part, [None, None]))[1][place] = effect
    cells = []
    for (column, word), (part, both) in found.items():
        own, around = (None if each is None else each.points for each in both)
        weight = max((each.odds for each in both if each is not None), key=abs)
        cells.append((weight, Cell(column, word, own, around), Change(blank=(part,))))
    return sorted(cells, key=lambda each: -abs(each[0]))


def _shown_first(each: Neighbour | Cell) -> float:
    """The largest effect first; of effects that look alike, the one with the larger effect on the log odds stays."""
    return -round(abs(each.effect), 3)


def _largest(nodes: NDArray[np.int64], shares: Floats) -> list[tuple[int, float]]:
    order = np.argsort(-shares, kind="stable")[:_KEPT]
    return [(int(nodes[place]), float(shares[place])) for place in order if shares[place] > 0]


def _say_drift(size: int, drift: float, share: float) -> tuple[str, ...]:
    if drift <= _CLOSE:
        return ()
    return (
        f"Effects are those among the {size:,} nearest nodes, by which alone the prediction would be off by "
        f"{100 * drift:.1f} points from {percent(share)}.",
    )
