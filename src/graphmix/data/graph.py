"""Graph: the features, edges and labels that a model is trained on; frozen, and validated when built."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import torch
from torch import Tensor

from graphmix.data.checks import as_features, check_labels, count_classes
from graphmix.data.features import Features, row_normalise
from graphmix.data.structure import Edges, Structure
from graphmix.errors import DataError
from graphmix.notebook import html_facts
from graphmix.sparse import Chain, SparseMatrix

Value = TypeVar("Value")


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """An undirected graph with node features and labels; `Graph.build` makes and validates one.

    Attributes:
        x: float32 `[nodes, features]`.
        structure: which nodes are joined: by a list of edges, or by the ends that links share.
        y: int64 `[nodes]`, in 0 … classes - 1, or -1 if the label is unknown.
        num_classes: number of classes; `y` need not have all of them.
        name: what to call the graph in messages and results.
        class_names: one name per class, if known.

    Example:
        >>> Graph.build(x=[[1.0], [2.0], [3.0]], edges=[[0, 1, 1], [1, 0, 2]], y=[0, 1, -1])
        Graph('graph': 3 nodes, 2 edges, 1 features, 2 classes)
    """

    x: Features
    structure: Structure
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
        weights: object = None,
        normalise: bool = True,
    ) -> "Graph":
        """Validate and clean a graph; the result is on the CPU.

        Args:
            x: `[nodes, features]` of finite numbers: scipy sparse, numpy, torch or `SparseMatrix`. An array of float32
                that is mapped from a file, such as `np.load(path, mmap_mode="r")`, stays there if `normalise` is False.
            edges: `[2, entries]` of node numbers, in either direction or both; loops and repeats are removed.
            y: `[nodes]` of class numbers, -1 for unknown.
            num_classes: number of classes; default: counted from `class_names`, or else from `y`.
            name: what to call the graph.
            class_names: `[classes]`.
            weights: `[entries]`, the weight of each edge; default: all 1. Self-loops weigh 1, and edges of weight 0 are
                left out. Repeats are summed, the two directions of an edge averaged.
            normalise: whether to scale every row of x so that its absolute values sum to 1, as the paper's models
                expect; pass False for features that are scaled already.

        Raises:
            DataError: the input is invalid; the message says where.
        """
        features = row_normalise(as_features(x)) if normalise else as_features(x)
        nodes = features.shape[0]
        names = None if class_names is None else tuple(class_names)
        labels = check_labels(y, nodes)
        classes = count_classes(labels, num_classes, names)
        structure = Edges.build(edges, nodes, weights)
        return cls(features, structure, torch.from_numpy(labels), classes, name, names)

    def __repr__(self) -> str:
        sizes = f"{self.num_nodes} nodes, {self.num_edges} edges, {self.num_features} features"
        return f"Graph({self.name!r}: {sizes}, {self.num_classes} classes)"

    def _repr_html_(self) -> str:
        labeled = int((self.y >= 0).sum())
        names = None if self.class_names is None else ", ".join(self.class_names)
        facts = [
            ("nodes", self.num_nodes),
            ("edges", self.num_edges),
            ("features", self.num_features),
            ("classes", self.num_classes),
            ("names of the classes", names),
            ("labeled nodes", labeled),
            ("edges have weights", "yes" if self.edge_weights is not None else None),
        ]
        return html_facts(f"Graph {self.name}", facts)

    @property
    def num_nodes(self) -> int:
        """Number of nodes."""
        return self.x.shape[0]

    @property
    def num_edges(self) -> int:
        """Number of undirected edges."""
        return self.structure.num_edges

    @property
    def num_features(self) -> int:
        """Number of features of a node."""
        return self.x.shape[1]

    @property
    def edge_index(self) -> Tensor:
        """Both directions of every edge: int64 `[2, 2 * edges]`, sorted, no self-loops, no repeats.

        Raises:
            DataError: the edges of a dual graph are too many to list.
        """
        return self.structure.edge_index

    @property
    def edge_weights(self) -> Tensor | None:
        """Weight of each direction of an edge: float32 `[2 * edges]`; None if they have none, and all count as 1."""
        return self.structure.weights

    @property
    def propagation(self) -> SparseMatrix | Chain | None:
        """D^-1/2 (A + I) D^-1/2 `[nodes, nodes]` of the GCN (Kipf and Welling, 2017); D has the degrees of A + I.

        None on a graph without edges: there it is the identity, and a layer can leave it out. For a dual graph it is a
        product of two smaller matrices and never written out.
        """
        return self.structure.propagation

    @property
    def neighbour_mean(self) -> SparseMatrix | Chain | None:
        """D^-1 A `[nodes, nodes]`: the mean of each node's neighbours, by the weights of its edges; None without edges.

        For a dual graph it is a product of two smaller matrices and never written out.
        """
        return self.structure.neighbour_mean

    @property
    def normalised_adjacency(self) -> SparseMatrix | Chain | None:
        """D^-1/2 A D^-1/2 `[nodes, nodes]`, with weights of edges but no self-loops; None without edges.

        For a dual graph it is a product of two smaller matrices and never written out.
        """
        return self.structure.normalised_adjacency

    @property
    def num_propagated(self) -> int:
        """Number of entries that a product with `propagation` reads."""
        return self.structure.num_propagated

    def derived(self, make: "Callable[[Graph], Value]") -> Value:
        """Return `make(graph)`, such as a matrix that a network needs; computed once and kept with the graph."""
        if make not in self._derived:
            self._derived[make] = make(self)
        made: Value = self._derived[make]
        return made

    def null(self) -> "Graph":
        """Return the same nodes without edges; the same object every time."""
        return self._null

    @cached_property
    def _null(self) -> "Graph":
        return self if self.num_edges == 0 else self.with_structure(Edges.none(self.num_nodes, self.y.device))

    def with_x(self, x: object) -> "Graph":
        """Return the graph with other features `[nodes, features]`, in any form that `build` takes, as they are.

        A `SparseMatrix` and a float32 tensor are taken without a look at their numbers.

        Raises:
            DataError: they are those of another number of nodes, or in another form, and invalid.
        """
        if not isinstance(x, SparseMatrix) and not (isinstance(x, Tensor) and _is_ready(x)):
            x = as_features(x).to(self.y.device)
        if x.shape[0] != self.num_nodes:
            raise DataError(f"x has {x.shape[0]} rows, but the graph has {self.num_nodes} nodes")
        return replace(self, x=x)

    def with_structure(self, structure: Structure) -> "Graph":
        """Return the same nodes with other edges."""
        return replace(self, structure=structure)

    def to(self, device: torch.device | str) -> "Graph":
        """Move to a device; a graph already there is returned itself, with everything it has computed."""
        # A tensor turns "cuda" into the "cuda:0" that tensors report.
        target = torch.empty(0, device=device).device
        if self.y.device == target:
            return self
        return replace(self, x=self.x.to(target), structure=self.structure.to(target), y=self.y.to(target))

    def permuted(self, order: Tensor) -> "Graph":
        """Relabel the nodes: node `order[i]` becomes node i.

        Args:
            order: int64 `[nodes]`, each node once.
        """
        order = torch.as_tensor(order, device=self.y.device)
        if not order.is_floating_point() and order.dtype != torch.bool:
            order = order.long()
        places = torch.arange(self.num_nodes, device=order.device)
        if order.dtype != places.dtype or order.shape != places.shape or not torch.equal(order.sort().values, places):
            raise DataError(f"an order of the nodes must name each of the {self.num_nodes} nodes once")
        if isinstance(self.x, Tensor):
            x: Features = self.x[order]
        else:
            x = SparseMatrix.from_scipy(self.x.to_scipy()[order.cpu().numpy()]).to(order.device)
        return replace(self, x=x, structure=self.structure.permuted(order), y=self.y[order])


def _is_ready(x: Tensor) -> bool:
    return x.dtype == torch.float32 and x.layout == torch.strided and x.dim() == 2
