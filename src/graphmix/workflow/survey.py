"""Survey: a graph and its labels in numbers, and warnings where GraphMix is not likely to help."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from graphmix.data import Graph
from graphmix.data.structure import EdgeCounts
from graphmix.errors import DataError
from graphmix.results.survey import Survey

# With fewer edges between labeled nodes, the share that joins one class is not known well enough.
FEWEST_EDGES = 20
# Adjusted homophily: Cora has 0.8; graphs on which a GCN is no better than a network without edges have less than 0.2
# (Platonov et al., 2023).
LEAST_HOMOPHILY = 0.2
FEWEST_LABELS = 5
MOST_UNEQUAL = 5
LEAST_REACHED = 0.3
MOST_LABELED = 0.5
MOST_ISOLATED = 0.5
_NAMED = 3


def survey(graph: Graph, labeled: Tensor | NDArray[np.bool_], *, balanced: bool = False) -> Survey:
    """Survey a graph; only the labels of the given nodes are read, and the edges of a dual graph are not listed.

    Args:
        graph: the graph.
        labeled: bool `[nodes]`, the nodes to learn from; their labels must be known.
        balanced: whether classes will count the same; a warning about unequal classes need not suggest it then.

    Raises:
        DataError: the mask has another size, or contains a node without a label.
    """
    mask = labeled.cpu().numpy() if isinstance(labeled, Tensor) else np.asarray(labeled)
    labels = graph.y.cpu().numpy()
    _check(graph, mask, labels)
    structure = graph.structure
    degree = structure.degrees
    between = structure.edges_between(mask, labels, graph.num_classes)
    homophily, chance, adjusted = _homophily(between)
    reached = structure.with_neighbours(structure.with_neighbours(mask))[~mask]
    found = Survey(
        nodes=graph.num_nodes,
        labeled=int(mask.sum()),
        class_names=graph.class_names or tuple(str(label) for label in range(graph.num_classes)),
        class_counts=tuple(np.bincount(labels[mask], minlength=graph.num_classes).tolist()),
        edges=graph.num_edges,
        isolated=int((degree == 0).sum()),
        components=structure.count_components(),
        features=graph.num_features,
        mean_degree=float(degree.mean()),
        labeled_edges=between.edges,
        homophily=homophily,
        chance=chance,
        adjusted_homophily=adjusted,
        reached=float(reached.mean()) if len(reached) else None,
    )
    return replace(found, warnings=tuple(_warn(found, balanced)))


def _homophily(between: EdgeCounts) -> tuple[float | None, float | None, float | None]:
    if not between.edges:
        return None, None, None
    homophily = between.same / between.edges
    chance = float(((between.ends / between.ends.sum()) ** 2).sum())
    one_class = int((between.ends > 0).sum()) == 1
    return homophily, chance, None if one_class else (homophily - chance) / (1 - chance)


def _warn(found: Survey, balanced: bool) -> list[str]:
    return [*_edges(found), *_neighbours(found), *_labels(found, balanced), *_reach(found)]


def _edges(found: Survey) -> list[str]:
    if not found.edges:
        return ["The graph has no edges: GraphMix can only learn from the features."]
    if found.isolated > MOST_ISOLATED * found.nodes:
        isolated = f"{found.isolated:,} of {found.nodes:,} nodes have no edge"
        return [f"{isolated}: they are predicted by their features alone, and the graph cannot help."]
    if found.mean_degree < 1:
        return [f"A node has {found.mean_degree:.1f} neighbours on average: so few edges carry little information."]
    return []


def _neighbours(found: Survey) -> list[str]:
    if not found.edges:
        return []
    if found.labeled_edges < FEWEST_EDGES or found.adjusted_homophily is None:
        edges = f"{found.labeled_edges:,} edge{'s join' if found.labeled_edges != 1 else ' joins'} two labeled nodes"
        many = found.labeled_edges >= FEWEST_EDGES
        reason = "all of one class, which does not tell" if many else "too few to tell"
        return [f"{edges}: {reason} whether neighbours tend to have the same class, as GraphMix assumes."]
    if found.adjusted_homophily < LEAST_HOMOPHILY:
        share = f"{found.homophily:.0%} of the {found.labeled_edges:,} edges between labeled nodes join one class"
        expected = "neighbours say little about a node's class, and features alone may do as well"
        return [f"{share}, and {found.chance:.0%} would by chance: {expected}."]
    return []


def _labels(found: Survey, balanced: bool) -> list[str]:
    counts = dict(zip(found.class_names, found.class_counts, strict=True))
    said = []
    none = [name for name, count in counts.items() if count == 0]
    if none:
        said.append(f"No label to learn from is {_listed(none)}: a class without labels is not learned.")
    few = [f"{name} ({count})" for name, count in counts.items() if 0 < count < FEWEST_LABELS]
    if few:
        said.append(f"Fewer than {FEWEST_LABELS} labels: {_listed(few)}; such a class is hard to learn and to check.")
    largest = max(counts, key=counts.__getitem__)
    smallest = min(counts, key=lambda name: counts[name] or found.nodes)
    if counts[largest] > MOST_UNEQUAL * counts[smallest] > 0:
        unequal = f"{largest} has {counts[largest]:,} labels and {smallest} {counts[smallest]:,}"
        hint = "" if balanced else "; try `balanced`"
        said.append(f"{unequal}: with labels so unequal GraphMix can do worse than a plain GNN{hint}.")
    if found.labeled > MOST_LABELED * found.nodes:
        known = f"{found.labeled:,} of {found.nodes:,} nodes are labeled"
        said.append(f"{known}: GraphMix gains from unlabeled nodes, and few are left.")
    return said


def _reach(found: Survey) -> list[str]:
    if not found.edges or found.reached is None or found.reached >= LEAST_REACHED:
        return []
    return [f"Labels reach {found.reached:.0%} of the unlabeled nodes in two steps: most nodes learn little from them."]


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def _check(graph: Graph, mask: NDArray[Any], labels: NDArray[np.int64]) -> None:
    if mask.shape != (graph.num_nodes,) or mask.dtype != np.bool_:
        form = f"{mask.dtype} {list(mask.shape)}"
        raise DataError(f"the labeled nodes must be a mask, bool [{graph.num_nodes}], but they are {form}")
    unknown = np.flatnonzero(mask & (labels < 0))
    if len(unknown):
        raise DataError(f"node {unknown[0]} is among the labeled nodes, but its label is unknown (-1)")
