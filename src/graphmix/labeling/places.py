"""A map of the graph: each node's place in a plane, by hidden states or by the features of its surroundings."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphmix.analysis.plane import sketch
from graphmix.data import Graph
from graphmix.models import BACKBONES
from graphmix.sparse import SparseMatrix
from graphmix.training.task import prepare
from graphmix.workflow.model import TableModel

# Time and memory of a layout grow with the square of the points.
MOST_POINTS = 1000
_WIDTH = 32
_SEED = 0


def lay_out(
    graph: Graph, model: TableModel | None, keep: list[int], most: int = MOST_POINTS
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Lay nodes out in a plane: their numbers `[points]`, and places `[points, 2]` between -1 and 1.

    Args:
        graph: the graph.
        model: its network with the largest share gives the hidden states; without one, the features of a node and its
            surroundings do.
        keep: nodes that must be on the map; of the others as many as there is room for are drawn.
        most: the number of points.
    """
    states = _hidden(graph, model)
    states = _surroundings(graph) if states is None else states
    nodes = _drawn(graph.num_nodes, keep, most)
    with one_thread():
        places = sketch(states[torch.from_numpy(nodes)].double().numpy())
    reach = np.abs(places).max()
    return nodes, (places / (reach if reach > 0 else 1.0)).astype(np.float32)


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute on one core: the many small steps of a layout spend more time waiting for each other on several."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _drawn(nodes: int, keep: list[int], most: int) -> NDArray[np.int64]:
    if nodes <= most:
        return np.arange(nodes)
    first = np.array(list(dict.fromkeys(keep))[:most], dtype=np.int64)
    others = np.setdiff1d(np.arange(nodes), first)
    rest = np.random.default_rng(_SEED).choice(others, most - len(first), replace=False)
    return np.sort(np.concatenate([first, rest]))


@torch.no_grad()
def _hidden(graph: Graph, model: TableModel | None) -> Tensor | None:
    """Return the hidden states `[nodes, hidden]` of the first network of a model; None if it has none."""
    members = () if model is None else model.mixture.members
    member = next((each for each in members if each.is_network), None)
    if member is None:
        return None
    weights = {name: weight[:1] for name, weight in member.tensors.items()}
    network = BACKBONES[member.config.backbone](weights, **member.config.options())
    graph = prepare(graph, member.config)
    return network.encode(graph.x, graph if member.config.predicts_with_gnn else graph.null())[0]


def _surroundings(graph: Graph) -> Tensor:
    """Return features averaged twice over neighbours, in their main directions: `[nodes, width]`."""
    import scipy.sparse as sp
    from sklearn.decomposition import TruncatedSVD

    x = sp.csr_array(graph.x.to_scipy() if isinstance(graph.x, SparseMatrix) else graph.x.numpy())
    pairs = graph.edge_index.numpy()
    ones = np.ones(pairs.shape[1], dtype=np.float32)
    joined = sp.csr_array((ones, (pairs[0], pairs[1])), shape=(graph.num_nodes, graph.num_nodes))
    joined = joined + sp.eye_array(graph.num_nodes, format="csr")
    mean = sp.diags_array(1 / np.asarray(joined.sum(axis=1)).ravel()) @ joined
    width = min(_WIDTH, x.shape[1] - 1, graph.num_nodes - 1)
    if width < 2:
        return torch.from_numpy(np.asarray((mean @ (mean @ x)).todense()))
    narrow = TruncatedSVD(width, random_state=_SEED).fit_transform(x)
    return torch.from_numpy(mean @ (mean @ narrow))
