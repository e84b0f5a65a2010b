"""GCNII against PyG's layer, its two rates of decay, and what it is without edges."""

import math

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from graphmix import Config, ConfigError, Graph, Streams, Task, build_model, build_optimizer, dual, synthetic
from graphmix.models import GCN2
from graphmix.streams import Purpose


def small(seed=0, *, weights=False):
    rng = np.random.default_rng(seed)
    edges, given = rng.integers(0, 11, (2, 24)), rng.random(24) + 0.1 if weights else None
    # Node 11 has no neighbours.
    return Graph.build(rng.random((12, 9)), edges, rng.integers(0, 3, 12), 3, weights=given)


def create(graph, trials=2, **options):
    model = GCN2.create(Streams.from_seeds(range(trials)), (graph.num_features, 5, graph.num_classes), **options)
    with torch.no_grad():
        for name, weight in model.weights.items():
            if name.endswith("bias"):
                weight.uniform_(-1, 1)
    return model


def by_pyg(model, trial, graph):
    """The network of PyG's layers with one trial's weights; gradients flow into the model's."""
    nn = pytest.importorskip("torch_geometric.nn")
    weights = {name: weight[trial] for name, weight in model.weights.items()}
    first = (graph.x @ weights["conv1.weight"] + weights.get("conv1.bias", 0)).relu()
    state = first
    for number, weight in enumerate(weights["layers.weight"], 1):
        layer = nn.GCN2Conv(5, model.teleport, model.layer_strength, number)
        del layer.weight1
        layer.weight1 = weight
        state = layer(state, first, graph.edge_index, graph.edge_weights).relu()
    return state @ weights["conv2.weight"] + weights.get("conv2.bias", 0)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("weights", [False, True])
def test_values_and_gradients_against_pyg(bias, weights):
    graph = small(weights=weights)
    model = create(graph, bias=bias, layers=4, teleport=0.2, layer_strength=0.7)
    upstream = torch.randn(2, graph.num_nodes, graph.num_classes)
    logits = model(graph.x, graph)
    ours = torch.autograd.grad((logits * upstream).sum(), list(model.parameters()))
    plain = torch.stack([by_pyg(model, trial, graph) for trial in range(2)])
    theirs = torch.autograd.grad((plain * upstream).sum(), list(model.parameters()))
    assert_close(logits, plain, rtol=1e-4, atol=1e-5)
    for one, two in zip(ours, theirs, strict=True):
        assert_close(one, two, rtol=1e-4, atol=1e-5)


def test_one_layer_by_hand():
    # Two nodes that are joined: Â is 1/2 everywhere. One hidden unit, H₀ = (1, 3), U = 4.
    graph = Graph.build(np.array([[1.0], [3.0]]), [[0], [1]], [0, 1], normalise=False)
    one = torch.ones(1, 1, 1)
    weights = {"conv1.weight": one, "conv2.weight": torch.tensor([[[1.0, -1.0]]]), "layers.weight": 4 * one[None]}
    logits = GCN2(weights, layers=1, teleport=0.25, layer_strength=math.e - 1)(graph.x, graph)
    # β = log(e) = 1, so the layer is U alone: 4 (3/4 · 2 + 1/4 · H₀).
    assert_close(logits[0], torch.tensor([[7.0, -7.0], [9.0, -9.0]]))


def test_without_edges_a_node_keeps_to_itself():
    graph = small()
    model = create(graph, bias=True, layers=3)
    # A node without neighbours is the same with the graph and without.
    assert_close(model(graph.x, graph)[:, 11], model(graph.x, graph.null())[:, 11])


def test_dropout_reaches_every_layer():
    graph = small()
    hidden = torch.rand(2, 12, 5)
    for layers in (1, 3):
        model = create(graph, layers=layers, hidden_dropout=0.5)
        noise = Streams.from_seeds(range(2)).at(Purpose.GNN_DROPOUT)
        assert not torch.equal(model.decode(hidden, graph, noise), model.decode(hidden, graph))
        assert noise._draws == layers + 1


def test_the_convolutions_decay_by_their_own_rate():
    graph, split = synthetic(nodes=120, features=30, labels_per_class=5, seed=1)
    config = Config(backbone="gcn2", trials=2, weight_decay=0.0, layer_decay=3.0, layers=2)
    model = build_model(Task.build(graph, split, config), config, Streams.from_seeds(range(2)))
    rates = {
        name: group["weight_decay"]
        for group in build_optimizer(model, config).param_groups
        for name, weight in model.weights.items()
        if any(weight is each for each in group["params"])
    }
    assert rates == {"conv1.weight": 0.0, "conv2.weight": 0.0, "layers.weight": 3.0}


def test_on_a_graph_of_links_no_edge_is_listed():
    rng = np.random.default_rng(3)
    graph = dual(rng.integers(0, 10, (2, 30)), 10, rng.integers(0, 2, 30), 2)
    create(graph, layers=2)(graph.x, graph)
    assert "edge_index" not in vars(graph.structure)


def test_the_settings_of_its_paper():
    def found(*names):
        return [
            tuple(getattr(Config.for_dataset(dataset, backbone="gcn2"), name) for name in names)
            for dataset in ("cora", "citeseer", "pubmed")
        ]

    assert found("layers", "hidden", "layer_strength") == [(64, 64, 0.5), (32, 256, 0.6), (16, 256, 0.4)]
    assert found("input_dropout", "hidden_dropout") == [(0.6, 0.6), (0.7, 0.7), (0.5, 0.5)]
    assert found("layer_decay", "weight_decay", "teleport") == [(0.01, 5e-4, 0.1)] * 2 + [(5e-4, 5e-4, 0.1)]
    for name in ("layers", "layer_strength"):
        with pytest.raises(ConfigError, match=f"`{name}` must be"):
            Config(backbone="gcn2", **{name: 0})
