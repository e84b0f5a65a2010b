"""MoNet against PyG's layer, its kernels by hand, and what it is without edges."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch.testing import assert_close

from graphmix import Config, ConfigError, Graph, Streams
from graphmix.models import MoNet
from graphmix.streams import Purpose

FEATURES, HIDDEN, CLASSES = 9, 5, 3


def small(seed=0):
    rng = np.random.default_rng(seed)
    x = sp.random(12, FEATURES, density=0.5, format="csr", random_state=rng)
    # Node 11 has no neighbours.
    return Graph.build(x, rng.integers(0, 11, (2, 24)), rng.integers(0, CLASSES, 12), CLASSES)


def create(trials=2, **options):
    model = MoNet.create(Streams.from_seeds(range(trials)), (FEATURES, HIDDEN, CLASSES), **options)
    with torch.no_grad():
        for name, weight in model.weights.items():
            if name.endswith(("bias", "shift", "precision")):
                weight.uniform_(-1, 1)
    return model


def by_pyg(model, trial, graph):
    """The network of PyG's layers with one trial's weights; gradients flow into the model's."""
    nn, utils = pytest.importorskip("torch_geometric.nn"), pytest.importorskip("torch_geometric.utils")
    edges, _ = utils.add_self_loops(graph.edge_index, num_nodes=graph.num_nodes)
    scale = utils.degree(edges[1], graph.num_nodes) ** -0.5
    # In PyG an edge leads from the neighbour to the node.
    ends = torch.stack([scale[edges[1]], scale[edges[0]]], dim=1)
    x = graph.x.to_dense()
    for number, sizes in ((1, (FEATURES, HIDDEN)), (2, (HIDDEN, CLASSES))):
        weights = {
            name.removeprefix(f"conv{number}."): weight[trial]
            for name, weight in model.weights.items()
            if name.startswith(f"conv{number}.")
        }
        layer = nn.GMMConv(*sizes, model.coordinates, model.kernels, aggr="mean", bias=False)
        # The node itself is among its neighbours.
        layer.root.weight.data.zero_()
        for name, value in {"g": weights["weight"], "mu": weights["mean"], "sigma": 1 / weights["precision"]}.items():
            delattr(layer, name)
            setattr(layer, name, value)
        x = layer(x, edges, torch.tanh(ends @ weights["map"] + weights["shift"])) + weights["bias"]
        x = x.relu() if number == 1 else x
    return x


@pytest.mark.parametrize(("kernels", "coordinates"), [(1, 2), (3, 2), (2, 3)])
def test_values_and_gradients_against_pyg(kernels, coordinates):
    graph = small()
    model = create(bias=True, kernels=kernels, coordinates=coordinates)
    upstream = torch.randn(2, graph.num_nodes, CLASSES, generator=torch.Generator().manual_seed(0))
    logits = model(graph.x, graph)
    ours = torch.autograd.grad((logits * upstream).sum(), list(model.parameters()))
    plain = torch.stack([by_pyg(model, trial, graph) for trial in range(2)])
    theirs = torch.autograd.grad((plain * upstream).sum(), list(model.parameters()))
    assert_close(logits, plain, rtol=1e-4, atol=1e-4)
    for one, two in zip(ours, theirs, strict=True):
        assert_close(one, two, rtol=1e-3, atol=1e-3)


def test_one_kernel_by_hand():
    # Nodes 0 and 1 are joined, node 2 is alone: degrees 2, 2 and 1 with self-loops.
    graph = Graph.build(np.array([[1.0], [3.0], [5.0]]), [[0], [1]], [0, 1, 0], normalise=False)
    one = torch.ones(1, 1, 1)
    layer = {"weight": one, "map": torch.ones(1, 2, 1), "shift": -one, "mean": 0 * one, "precision": 2 * one}
    model = MoNet({f"conv1.{name}": weight for name, weight in layer.items()}, kernels=1, coordinates=1)
    # ũ = tanh(2 / √2 - 1) on both edges and both self-loops, and tanh(1) on that of node 2.
    joined, alone = (math.exp(-2 * math.tanh(value) ** 2) for value in (math.sqrt(2) - 1, 1.0))
    assert_close(model.encode(graph.x, graph)[0, :, 0], torch.tensor([2 * joined, 2 * joined, 5 * alone]))


def test_without_edges_every_kernel_has_one_weight():
    graph = small()
    model = create(bias=True)
    logits = model(graph.x, graph.null())
    # A node without neighbours is the same with the graph and without.
    assert_close(model(graph.x, graph)[:, 11], logits[:, 11], rtol=1e-4, atol=1e-5)
    logits.sum().backward()
    assert all(weight.grad is not None for weight in model.parameters())


def test_copies_of_a_trial_have_its_weights():
    graph = small()
    model = create(hidden_dropout=0.5)
    streams = Streams.from_seeds(range(2))
    for place in (graph, graph.null()):
        together = model(graph.x, place, streams.copies(0, 3).at(Purpose.TARGET_DROPOUT, 1))
        for copy in range(3):
            alone = model(graph.x, place, streams.copies(copy, copy + 1).at(Purpose.TARGET_DROPOUT, 1))
            assert_close(together.unflatten(0, (2, 3))[:, copy], alone)


def test_its_settings():
    cora, pubmed = (Config.for_dataset(name, backbone="monet") for name in ("cora", "pubmed"))
    assert (cora.kernels, cora.coordinates, pubmed.coordinates) == (3, 2, 3)
    assert (cora.hidden, cora.learning_rate, cora.weight_decay, cora.hidden_dropout) == (16, 0.01, 5e-4, 0.5)
    for name in ("kernels", "coordinates"):
        with pytest.raises(ConfigError, match=f"`{name}` must be at least 1"):
            Config(backbone="monet", **{name: 0})
