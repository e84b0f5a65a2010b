"""Rules that choose the nodes to train on, select by and test on, from one seed or many.

A split depends only on its rule, its seed and the labels, and is the same on every machine. A node's place in the draw
comes from a word of PCG64, which numpy guarantees not to change, seeded with the seed and a hash of the rule's name.
"""

import hashlib
from collections.abc import Callable, Sequence
from operator import index
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphmix.data.checks import UNKNOWN
from graphmix.data.graph import Graph
from graphmix.data.split import Split
from graphmix.data.split_names import (
    BALANCED,
    BENCHMARK,
    DRAWN_NAMES,
    NODE_BYTES,
    PUBLIC,
    RANDOM,
    REDRAWN,
    Sizes,
    check_split_name,
    per_class_of,
    share_of,
)
from graphmix.errors import DataError
from graphmix.limits import as_size
from graphmix.machine import available_memory

# The benchmark's training and validation nodes per class, and the class size from which on these numbers apply.
TRAINED, VALIDATED, LARGE = 20, 30, 100
# How often to draw for training nodes of all classes.
MOST_DRAWS = 10_000


class Quotas(NamedTuple):
    """How many nodes of each group to train on, select by and test on.

    Attributes:
        group: int64 `[nodes]`, the group of a node, or -1 if it is not used.
        train: int64 `[groups]`.
        val: int64 `[groups]`.
        test: int64 `[groups]`.
    """

    group: NDArray[np.int64]
    train: NDArray[np.int64]
    val: NDArray[np.int64]
    test: NDArray[np.int64]


def make_split(
    name: str, graph: Graph, seeds: Sequence[int], sizes: Sizes | None = None, public: Split | None = None
) -> Split:
    """Split a graph's labeled nodes by a rule, once for each seed.

    `public`: the split that comes with the data; seeds do not matter.
    `random`: nodes drawn at random, as many as in the public split or as `sizes` says.
    `balanced`: the same, but equally many training nodes of each class.
    `5-per-class`, `10-per-class`, …: K nodes of each class to train on, K to select by, all others to test on.
    `5-per-class-500-validation`, `5-per-class-no-validation`, …: the training nodes of `5-per-class`, 500 or no others,
        of any class, to select by, and all others to test on.
    `0.5-percent`, `1-percent`, …: that share of the labeled nodes to train on, all classes among them, a tenth of the
        others to select by, and all others to test on, as Lee et al. (GraFN, 2022) draw them.
    `benchmark`: 20 and 30 nodes of each class, and all others; of a class with fewer than 100 nodes 20 % and 30 %,
        rounded down, but at least one node. At 100 nodes both give the same numbers.
    `public-redrawn`: the training and validation nodes of the public split, with other ones of them to train on, as
        many of each class; for choices that must not see its test nodes. Those stay the same.

    Nodes whose label is unknown are never used.

    Args:
        name: the rule.
        graph: the graph; only its labels are used.
        seeds: one per split, at least 0; equal seeds give equal splits.
        sizes: (train, val, test), for `random` and `balanced` only; default: those of `public`.
        public: the split that comes with the data, if any.

    Returns:
        Masks `[len(seeds), nodes]`, each drawn from its own seed; `[1, nodes]`, shared by all, for `public`.

    Raises:
        DataError: there is no such rule, or the graph has too few labeled nodes for it.
    """
    if name == PUBLIC:
        if public is None:
            raise DataError(f"{graph.name} has no public split; choose one of {DRAWN_NAMES}")
        return public
    _check_memory(_count(seeds), graph.num_nodes)
    drawn = tuple(_check_seed(seed) for seed in seeds)
    if not drawn:
        raise DataError("a split needs at least one seed")
    if sizes is None and public is not None:
        sizes = (int(public.train[0].sum()), int(public.val[0].sum()), int(public.test[0].sum()))
    quotas = _redrawn(graph, public) if name == REDRAWN else _quotas(name, graph, sizes)
    masks = {seed: _masks(name, graph, quotas, seed) for seed in sorted(set(drawn))}
    train, val, test = (np.stack([masks[seed][role] for seed in drawn]) for role in range(3))
    if name == REDRAWN and public is not None:
        test = np.broadcast_to(public.test[0].cpu().numpy(), train.shape)
    return Split.build(train, val, test, name, drawn)


def _quotas(name: str, graph: Graph, sizes: Sizes | None) -> Quotas:
    check_split_name(name)
    if name in RULES:
        return RULES[name](graph, sizes)
    return _percent(name, graph) if share_of(name) else _per_class(name, graph)


def _redrawn(graph: Graph, public: Split | None) -> Quotas:
    """The classes of the public training and validation nodes as groups; its test nodes are in none."""
    if public is None:
        raise DataError(f"{graph.name} has no public split to draw again; choose another split")
    trained, judged = public.train[0].cpu().numpy(), public.val[0].cpu().numpy()
    labels = _labels(graph)
    train, val = (np.bincount(labels[nodes], minlength=graph.num_classes) for nodes in (trained, judged))
    return Quotas(np.where(trained | judged, labels, UNKNOWN), train, val, np.zeros_like(train))


def _masks(name: str, graph: Graph, quotas: Quotas, seed: int) -> tuple[NDArray[np.bool_], ...]:
    each, val = per_class_of(name)
    if name == BALANCED or val is not None:
        # The first half of the keys is that of K-per-class, whatever the number of validation nodes.
        rule = name if name == BALANCED else f"{each}-per-class"
        return _draw_balanced(quotas, _random_keys(rule, seed, 2 * graph.num_nodes))
    if share_of(name):
        return _draw_with_all_classes(name, graph, quotas, seed)
    return _draw(quotas, _random_keys(name, seed, graph.num_nodes))


def _random(graph: Graph, sizes: Sizes | None) -> Quotas:
    """All labeled nodes as one group."""
    if sizes is None:
        raise DataError(
            f"{graph.name} has no public split to take sizes from; choose the split benchmark, K-per-class or R-percent"
        )
    if np.ndim(sizes) != 1 or len(sizes) != 3:
        raise DataError(f"`sizes` must be the numbers of training, validation and test nodes, not {sizes!r}")
    if min(sizes[:2]) < 1 or sizes[2] < 0:
        raise DataError(f"a random split needs training and validation nodes, but its sizes are {tuple(sizes)}")
    group = np.where(_labels(graph) == UNKNOWN, -1, 0)
    labeled = int((group == 0).sum())
    if sum(sizes) > labeled:
        raise DataError(
            f"a random split of {tuple(sizes)} needs {sum(sizes)} labeled nodes; {graph.name} has {labeled}"
        )
    train, val, test = (np.array([size]) for size in sizes)
    return Quotas(group, train, val, test)


def _balanced(graph: Graph, sizes: Sizes | None) -> Quotas:
    """Like `_random`, but with equally many training nodes of each class; other nodes are of any class."""
    total = _random(graph, sizes)
    train, val, test = (int(quota[0]) for quota in total[1:])
    each, left = divmod(train, graph.num_classes)
    if left:
        raise DataError(f"{train} training nodes cannot be divided equally among {graph.num_classes} classes")
    trained = np.full(graph.num_classes, each)
    _rest_to_test(BALANCED, graph, trained, np.zeros_like(trained))
    return Quotas(_labels(graph), trained, np.array([val]), np.array([test]))


def _benchmark(graph: Graph, sizes: Sizes | None) -> Quotas:
    """The larger datasets' rule (the paper's appendix)."""
    part = np.minimum(_class_sizes(graph), LARGE)
    train, val = (np.maximum(part * number // LARGE, 1) for number in (TRAINED, VALIDATED))
    return _rest_to_test(BENCHMARK, graph, train, val)


def _per_class(name: str, graph: Graph) -> Quotas:
    """The rule for very few labels (the paper's appendix), or the same with validation nodes of any class."""
    number, val = per_class_of(name)
    each = np.full(graph.num_classes, number)
    if val is None:
        return _rest_to_test(name, graph, each, each)
    quotas = _rest_to_test(name, graph, each, np.zeros_like(each))
    left = int(quotas.test.sum())
    if val > left:
        raise DataError(
            f"the split {name} of {graph.name} leaves {left} nodes to select by and test on; choose another split"
        )
    return quotas._replace(val=np.array([val]), test=np.array([left - val]))


def _percent(name: str, graph: Graph) -> Quotas:
    """A share of the labeled nodes, whatever their classes; a tenth of the others to select by."""
    group = np.where(_labels(graph) == UNKNOWN, -1, 0)
    labeled = int((group == 0).sum())
    train = int(labeled * share_of(name))
    val = (labeled - train) // 10
    if train < graph.num_classes or val == 0:
        raise DataError(
            f"the split {name} of {graph.name} has {train} training and {val} validation nodes of {labeled} labeled "
            f"ones, but there are {graph.num_classes} classes; choose a larger share or another split"
        )
    return Quotas(group, *(np.array([size]) for size in (train, val, labeled - train - val)))


def _rest_to_test(name: str, graph: Graph, train: NDArray[np.int64], val: NDArray[np.int64]) -> Quotas:
    count = _class_sizes(graph)
    short = np.flatnonzero(count < train + val)
    if len(short):
        label = int(short[0])
        which = f"class {label}" if graph.class_names is None else f"class {graph.class_names[label]!r}"
        needed = f"the split {name} needs {train[label] + val[label]}"
        raise DataError(f"{which} of {graph.name} has {count[label]} labeled nodes, but {needed}; choose another split")
    return Quotas(_labels(graph), train, val, count - train - val)


def _draw(quotas: Quotas, keys: NDArray[np.uint64]) -> tuple[NDArray[np.bool_], ...]:
    """Assign every group's nodes, in the order of their keys `[nodes]`, to training, validation and test."""
    order = np.lexsort((keys, quotas.group))
    order = order[quotas.group[order] != UNKNOWN]
    group = quotas.group[order]
    # A node's rank in its group: its place in the order minus the place where its group begins.
    turn = np.arange(len(order)) - np.searchsorted(group, group)
    masks = []
    for quota in quotas[1:]:
        mask = np.zeros(len(keys), dtype=np.bool_)
        mask[order] = (turn >= 0) & (turn < quota[group])
        turn = turn - quota[group]
        masks.append(mask)
    return tuple(masks)


def _draw_with_all_classes(
    name: str, graph: Graph, quotas: Quotas, seed: int
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
    """Draw until the training nodes have all classes; all such draws are equally likely."""
    labels = _labels(graph)
    present = np.count_nonzero(_class_sizes(graph))
    for attempt in range(MOST_DRAWS):
        rule = name if attempt == 0 else f"{name} {attempt}"
        train, val, test = _draw(quotas, _random_keys(rule, seed, graph.num_nodes))
        if len(np.unique(labels[train])) == present:
            return train, val, test
    raise DataError(
        f"none of {MOST_DRAWS:,} draws of the split {name} of {graph.name} had training nodes of all {present} "
        "classes; choose a larger share or another split"
    )


def _draw_balanced(quotas: Quotas, keys: NDArray[np.uint64]) -> tuple[NDArray[np.bool_], ...]:
    """Draw training nodes class by class, then validation and test nodes from all others: keys `[2 * nodes]`."""
    # New keys for the second draw: the first has used up the low keys of small classes.
    keys, fresh = keys.reshape(2, -1)
    none = np.zeros_like(quotas.train)
    train, *_ = _draw(Quotas(quotas.group, quotas.train, none, none), keys)
    left = np.where((quotas.group == UNKNOWN) | train, UNKNOWN, 0)
    _, val, test = _draw(Quotas(left, np.array([0]), quotas.val, quotas.test), fresh)
    return train, val, test


def _random_keys(name: str, seed: int, nodes: int) -> NDArray[np.uint64]:
    rule = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little")
    keys: NDArray[np.uint64] = np.random.PCG64(np.random.SeedSequence((rule, seed))).random_raw(nodes)
    return keys


def _labels(graph: Graph) -> NDArray[np.int64]:
    labels: NDArray[np.int64] = graph.y.cpu().numpy()
    return labels


def _class_sizes(graph: Graph) -> NDArray[np.int64]:
    labels = _labels(graph)
    return np.bincount(labels[labels != UNKNOWN], minlength=graph.num_classes)


def _check_memory(splits: int, nodes: int) -> None:
    needed, free = NODE_BYTES * splits * nodes, available_memory()
    if needed > free:
        raise DataError(
            f"{splits:,} splits of {nodes:,} nodes need at least {as_size(needed)} of memory ({as_size(free)} are free)"
            "; lower `trials`, or use a public or saved split"
        )


def _count(seeds: Sequence[int]) -> int:
    try:
        return len(seeds)
    except TypeError as error:
        raise DataError(f"`seeds` must be a list with a seed for each split, not {seeds!r}") from error


def _check_seed(seed: int) -> int:
    try:
        number = index(seed)
    except TypeError:
        number = -1
    if not 0 <= number < 2**63:
        raise DataError(f"the seed of a split must be a whole number of at least 0, not {seed!r}")
    return number


RULES: dict[str, Callable[[Graph, Sizes | None], Quotas]] = {
    RANDOM: _random,
    BALANCED: _balanced,
    BENCHMARK: _benchmark,
}
