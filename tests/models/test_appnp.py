"""APPNP against PyG and a dense formula, with dropout of the propagation matrix."""

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from graphmix import Config, Graph, Streams, Task, build_model, build_optimizer, dual, synthetic
from graphmix.models import APPNP
from graphmix.sparse.ops import unpack
from graphmix.streams import Purpose

QUIET = {"input_dropout": 0.0, "hidden_dropout": 0.0}


def small(seed=0, *, weights=False):
    rng = np.random.default_rng(seed)
    edges, given = rng.integers(0, 11, (2, 24)), rng.random(24) + 0.1 if weights else None
    # Node 11 has no neighbours.
    return Graph.build(rng.random((12, 9)), edges, rng.integers(0, 3, 12), 3, weights=given)


def create(graph, trials=2, **options):
    model = APPNP.create(Streams.from_seeds(range(trials)), (graph.num_features, 5, graph.num_classes), **options)
    with torch.no_grad():
        for name, weight in model.weights.items():
            if name.endswith("bias"):
                weight.uniform_(-1, 1)
    return model


def start_of(model, trial, x):
    weights = {name: weight[trial] for name, weight in model.weights.items()}
    hidden = (x @ weights["conv1.weight"] + weights.get("conv1.bias", 0)).relu()
    return hidden @ weights["conv2.weight"] + weights.get("conv2.bias", 0)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("weights", [False, True])
def test_values_and_gradients_against_pyg(bias, weights):
    nn = pytest.importorskip("torch_geometric.nn")
    graph = small(weights=weights)
    model = create(graph, bias=bias, hops=6, teleport=0.2)
    upstream = torch.randn(2, graph.num_nodes, graph.num_classes)
    logits = model(graph.x, graph)
    ours = torch.autograd.grad((logits * upstream).sum(), list(model.parameters()))
    walk = nn.APPNP(K=6, alpha=0.2)
    plain = torch.stack(
        [walk(start_of(model, trial, graph.x), graph.edge_index, graph.edge_weights) for trial in range(2)]
    )
    theirs = torch.autograd.grad((plain * upstream).sum(), list(model.parameters()))
    assert_close(logits, plain, rtol=1e-4, atol=1e-5)
    for one, two in zip(ours, theirs, strict=True):
        assert_close(one, two, rtol=1e-4, atol=1e-5)


def test_every_step_drops_other_entries_of_the_propagation_matrix():
    graph = small()
    model = create(graph, hops=3, teleport=0.3, propagation_dropout=0.4, **QUIET)
    streams = Streams.from_seeds(range(2))
    logits = model(graph.x, graph, streams.at(Purpose.GNN_DROPOUT, 4))
    noise, matrix = streams.at(Purpose.GNN_DROPOUT, 4), graph.propagation.to_scipy()
    start = torch.stack([start_of(model, trial, graph.x) for trial in range(2)])
    walked, masks = start, []
    for _ in range(3):
        keep = noise.keep(matrix.nnz, 0.4)
        masks.append(unpack(keep.words, matrix.nnz))
        dropped = torch.zeros(2, 12, 12)
        row = np.repeat(np.arange(12), np.diff(matrix.indptr))
        dropped[:, row, matrix.indices] = masks[-1] * torch.from_numpy(matrix.data) * keep.scale
        walked = 0.7 * (dropped @ walked) + 0.3 * start
    assert_close(logits, walked, rtol=1e-4, atol=1e-5)
    assert not torch.equal(masks[0], masks[1])
    assert not torch.equal(masks[0][0], masks[0][1])


def test_without_edges_nothing_walks_and_nothing_of_the_matrix_is_dropped():
    graph = small()
    model = create(graph, bias=True, **QUIET)
    logits = model(graph.x, graph.null(), Streams.from_seeds(range(2)).at(Purpose.FCN_DROPOUT, 1))
    assert_close(logits[1], start_of(model, 1, graph.x))
    # A node without neighbours walks to itself.
    assert_close(model(graph.x, graph)[:, 11], logits[:, 11])


def test_only_the_first_layer_decays():
    graph, split = synthetic(nodes=120, features=30, labels_per_class=5, seed=1)
    config = Config(backbone="appnp", trials=2, weight_decay=100.0, bias=True)
    model = build_model(Task.build(graph, split, config), config, Streams.from_seeds(range(2)))
    before = {name: weight.detach().clone() for name, weight in model.weights.items()}
    optimizer = build_optimizer(model, config)
    for weight in model.parameters():
        weight.grad = torch.zeros_like(weight)
    optimizer.step()
    moved = {name for name, weight in model.weights.items() if not torch.equal(weight, before[name])}
    assert moved == {"conv1.weight"}


def test_a_graph_of_links_lists_its_edges_only_to_drop_them():
    rng = np.random.default_rng(3)
    graph = dual(rng.integers(0, 10, (2, 30)), 10, rng.integers(0, 2, 30), 2)
    model = create(graph, hops=3, propagation_dropout=0.5, **QUIET)
    model(graph.x, graph)
    assert "edge_index" not in vars(graph.structure)
    # Nearly nothing is dropped: the matrix that is written out equals the product.
    near = create(graph, hops=3, propagation_dropout=1e-9, **QUIET)
    noise = Streams.from_seeds(range(2)).at(Purpose.GNN_DROPOUT, 0)
    assert_close(near(graph.x, graph, noise), near(graph.x, graph), rtol=1e-2, atol=1e-2)


def test_the_settings_of_its_paper():
    config = Config.for_dataset("cora", backbone="appnp")
    assert (config.hidden, config.weight_decay, config.learning_rate, config.hops) == (64, 5e-3, 0.01, 10)
    assert (config.input_dropout, config.hidden_dropout, config.propagation_dropout) == (0.5, 0.5, 0.5)
    assert (config.teleport, Config.for_dataset("coauthor-cs", backbone="appnp").teleport) == (0.1, 0.2)
