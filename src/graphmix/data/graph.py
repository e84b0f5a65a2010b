"""Graph and Split: frozen containers for what a model is trained on, validated when they are built."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from graphmix.data.checks import UNKNOWN, as_features, check_edges, check_labels, count_classes, undirected
from graphmix.data.features import Features, binarise, row_normalise
from graphmix.errors import DataError
from graphmix.sparse import SparseMatrix

__all__ = ["Features", "Graph", "Split", "binarise", "row_normalise"]

Value = TypeVar("Value")


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """An undirected graph with node features and labels; `Graph.build` makes and validates one.

    Attributes:
        x: float32 `[nodes, features]`.
        edge_index: int64 `[2, 2 * edges]`: both directions of every edge, sorted, no self-loops, no repeats.
        y: int64 `[nodes]`, in 0 … classes - 1, or -1 where the label is unknown.
        num_classes: how many classes there are, seen in `y` or not.
        name: what to call the graph in messages and results.
        class_names: one name per class, where known.

    Example:
        >>> Graph.build(x=[[1.0], [2.0], [3.0]], edges=[[0, 1, 1], [1, 0, 2]], y=[0, 1, -1])
        Graph('graph': 3 nodes, 2 edges, 1 features, 2 classes)
    """

    x: Features
    edge_index: Tensor
    y: Tensor
    num_classes: int
    name: str = "graph"
    class_names: tuple[str, ...] | None = None
    _derived: dict[Any, Any] = field(default_factory=dict, init=False)

    @classmethod
    def build(
        cls,
        x: object,
        edges: object,
        y: object,
        num_classes: int | None = None,
        name: str = "graph",
        class_names: Sequence[str] | None = None,
        *,
        normalise: bool = True,
    ) -> "Graph":
        """Validate and clean a graph; the result is on the CPU.

        Args:
            x: `[nodes, features]` of finite numbers: scipy sparse, numpy, torch or `SparseMatrix`.
            edges: `[2, entries]` of node numbers, in either direction or both; loops and repeats are removed.
            y: `[nodes]` of class numbers, -1 for unknown.
            num_classes: counted from `class_names`, or else from `y`, when not given.
            name: what to call the graph.
            class_names: `[classes]`.
            normalise: whether to scale every row of x so that its absolute values sum to 1, as the paper's models
                expect; leave it out for features that are scaled already.

        Raises:
            DataError: something in the input is wrong; the message names it.
        """
        features = row_normalise(as_features(x)) if normalise else as_features(x)
        nodes = features.shape[0]
        names = None if class_names is None else tuple(class_names)
        labels = check_labels(y, nodes)
        classes = count_classes(labels, num_classes, names)
        edge_index = undirected(check_edges(edges, nodes), nodes)
        return cls(features, edge_index, torch.from_numpy(labels), classes, name, names)

    def __repr__(self) -> str:
        sizes = f"{self.num_nodes} nodes, {self.num_edges} edges, {self.num_features} features"
        return f"Graph({self.name!r}: {sizes}, {self.num_classes} classes)"

    @property
    def num_nodes(self) -> int:
        """How many nodes there are."""
        return self.x.shape[0]

    @property
    def num_edges(self) -> int:
        """How many undirected edges there are."""
        return self.edge_index.shape[1] // 2

    @property
    def num_features(self) -> int:
        """How many features a node has."""
        return self.x.shape[1]

    @cached_property
    def propagation(self) -> SparseMatrix | None:
        """D^-1/2 (A + I) D^-1/2 `[nodes, nodes]`, the GCN's (Kipf and Welling, 2017), D the degrees of A + I.

        None on a graph without edges: there it is the identity, and a layer can leave it out.
        """
        if self.num_edges == 0:
            return None
        row, col = self.edge_index.cpu().numpy()
        own = np.arange(self.num_nodes)
        row, col = np.concatenate([row, own]), np.concatenate([col, own])
        # Float64 until the end: hubs have degrees whose roots float32 would round twice.
        scale = np.bincount(row, minlength=self.num_nodes).astype(np.float64) ** -0.5
        matrix = sp.csr_array((scale[row] * scale[col], (row, col)), shape=(self.num_nodes, self.num_nodes))
        return SparseMatrix.from_scipy(matrix).to(self.edge_index.device)

    def derived(self, make: "Callable[[Graph], Value]") -> Value:
        """What a function makes of this graph, say a matrix a network needs: computed once, kept with the graph."""
        if make not in self._derived:
            self._derived[make] = make(self)
        made: Value = self._derived[make]
        return made

    def null(self) -> "Graph":
        """Return the same nodes without edges; the same object every time."""
        return self._null

    @cached_property
    def _null(self) -> "Graph":
        return self if self.num_edges == 0 else replace(self, edge_index=self.edge_index[:, :0])

    def with_x(self, x: Features) -> "Graph":
        """Return the graph with other features, float32 `[nodes, features]`."""
        if x.shape[0] != self.num_nodes:
            raise DataError(f"x has {x.shape[0]} rows, but the graph has {self.num_nodes} nodes")
        return replace(self, x=x)

    def to(self, device: torch.device | str) -> "Graph":
        """Move to a device; a graph already there is returned as it is, with what it has computed."""
        # Asking a tensor turns "cuda" into the "cuda:0" that tensors report.
        target = torch.empty(0, device=device).device
        if self.edge_index.device == target:
            return self
        return replace(self, x=self.x.to(target), edge_index=self.edge_index.to(target), y=self.y.to(target))

    def permuted(self, order: Tensor) -> "Graph":
        """Relabel the nodes: node `order[i]` becomes node i.

        Args:
            order: int64 `[nodes]`, each node once.
        """
        order = order.to(self.y.device)
        places = torch.arange(self.num_nodes, device=order.device)
        if order.shape != places.shape or not torch.equal(order.sort().values, places):
            raise DataError(f"an order of the nodes must name each of the {self.num_nodes} nodes once")
        inverse = torch.empty_like(places).scatter_(0, order, places)
        moved = undirected(inverse[self.edge_index].cpu().numpy(), self.num_nodes).to(order.device)
        if isinstance(self.x, Tensor):
            x: Features = self.x[order]
        else:
            x = SparseMatrix.from_scipy(self.x.to_scipy()[order.cpu().numpy()]).to(order.device)
        return replace(self, x=x, edge_index=moved, y=self.y[order])


@dataclass(frozen=True, eq=False, repr=False)
class Split:
    """Which nodes are trained on, selected by, and tested on. `Split.build` takes plain `[nodes]` masks too.

    Attributes:
        train: bool `[splits, nodes]`; splits is 1, shared by all trials, or one per trial.
        val: bool `[splits, nodes]`.
        test: bool `[splits, nodes]`; may be empty, for who has no test labels.
        name: "public", say.

    Raises:
        DataError: on construction, when masks overlap, differ in shape, or leave nothing to train on.
    """

    train: Tensor
    val: Tensor
    test: Tensor
    name: str = "custom"

    def __post_init__(self) -> None:
        roles = {"training": self.train, "validation": self.val, "test": self.test}
        for role, mask in roles.items():
            if mask.dtype != torch.bool or mask.dim() != 2:
                form = f"{str(mask.dtype).removeprefix('torch.')} {list(mask.shape)}"
                raise DataError(f"the {role} mask must be bool [splits, nodes] or [nodes], but it is {form}")
        if not self.train.shape == self.val.shape == self.test.shape:
            shapes = ", ".join(f"{role} {list(mask.shape)}" for role, mask in roles.items())
            raise DataError(f"the masks of a split must have one shape, but they are {shapes}")
        for role in ("training", "validation"):
            empty = (~roles[role].any(dim=1)).nonzero()
            if len(empty):
                raise DataError(f"{self._owner(int(empty[0]))} has no {role} nodes")
        for first, second in combinations(roles, 2):
            both = (roles[first] & roles[second]).nonzero()
            if len(both):
                trial, node = both[0].tolist()
                where = f"node {node} is in both the {first} and the {second} mask"
                raise DataError(f"{self._owner(trial)} overlaps: {where}")

    @classmethod
    def build(cls, train: object, val: object, test: object, name: str = "custom") -> "Split":
        """Make a split from bool masks, `[nodes]` or `[splits, nodes]`, torch or numpy."""
        return cls(_as_mask(train), _as_mask(val), _as_mask(test), name)

    def __repr__(self) -> str:
        # Counted in the first split: the others of a family have the same sizes, or nearly.
        sizes = " / ".join(str(int(mask[:1].sum())) for mask in (self.train, self.val, self.test))
        return f"Split({self.name!r}: {self.num_splits} x {sizes} of {self.train.shape[1]} nodes)"

    @property
    def num_splits(self) -> int:
        """How many splits there are: 1, or one per trial."""
        return self.train.shape[0]

    @property
    def unlabeled(self) -> Tensor:
        """Every node but the training nodes: bool `[splits, nodes]`."""
        return ~self.train

    def check(self, graph: Graph) -> None:
        """Raise a `DataError` unless this split fits the graph and has a label for every node it uses."""
        nodes = self.train.shape[1]
        if nodes != graph.num_nodes:
            raise DataError(f"the split has {nodes} nodes, but the graph has {graph.num_nodes}")
        used = self.train | self.val | self.test
        unknown = (used & (graph.y == UNKNOWN).to(used.device)).nonzero()
        if len(unknown):
            trial, node = unknown[0].tolist()
            raise DataError(f"{self._owner(trial)} uses node {node}, whose label is unknown (-1)")

    def to(self, device: torch.device | str) -> "Split":
        """Move to a device."""
        return replace(self, train=self.train.to(device), val=self.val.to(device), test=self.test.to(device))

    def select(self, first: int, last: int) -> "Split":
        """Return the splits of trials first … last - 1; one split is shared by all, and returned as it is."""
        if self.num_splits == 1:
            return self
        if not 0 <= first < last <= self.num_splits:
            raise DataError(f"trials {first} to {last - 1} were asked of a split for {self.num_splits} trials")
        part = slice(first, last)
        return replace(self, train=self.train[part], val=self.val[part], test=self.test[part])

    def _owner(self, trial: int) -> str:
        return "the split" if self.num_splits == 1 else f"trial {trial}"


def _as_mask(mask: object) -> Tensor:
    if isinstance(mask, Tensor):
        tensor = mask.detach().clone()
    else:
        array = np.array(mask)
        if array.dtype.kind not in "biu":
            raise DataError(f"a mask must be bool [splits, nodes] or [nodes], but its type is {array.dtype}")
        tensor = torch.from_numpy(array)
    return tensor[None] if tensor.dim() == 1 else tensor
