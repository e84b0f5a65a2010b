"""Chebyshev filters against PyG and the polynomials written out."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch.testing import assert_close

from graphmix import Config, ConfigError, Graph, Streams, dual
from graphmix.models import Chebyshev
from graphmix.streams import Purpose


def small(seed=0, *, weights=False):
    rng = np.random.default_rng(seed)
    edges, given = rng.integers(0, 11, (2, 20)), rng.random(20) + 0.1 if weights else None
    x = sp.random(12, 9, density=0.5, format="csr", random_state=rng)
    # Node 11 has no neighbours.
    return Graph.build(x, edges, rng.integers(0, 3, 12), 3, weights=given)


def create(graph, trials=2, **options):
    model = Chebyshev.create(Streams.from_seeds(range(trials)), (graph.num_features, 5, graph.num_classes), **options)
    with torch.no_grad():
        for name, weight in model.weights.items():
            if name.endswith("bias"):
                weight.uniform_(-1, 1)
    return model


def laplacian_of(graph):
    """-D^-1/2 A D^-1/2 from the list of edges, dense."""
    adjacency = torch.zeros(graph.num_nodes, graph.num_nodes)
    adjacency[tuple(graph.edge_index)] = 1.0 if graph.edge_weights is None else graph.edge_weights
    scale = adjacency.sum(dim=1).clamp_min(1e-9) ** -0.5
    return -scale[:, None] * adjacency * scale


def written_out(model, trial, x, laplacian):
    """The network by its formula, from dense tensors."""
    terms = [torch.eye(len(laplacian)), laplacian]
    while len(terms) <= model.order:
        terms.append(2 * laplacian @ terms[-1] - terms[-2])
    for layer in ("conv1", "conv2"):
        weights = model.weights[f"{layer}.weight"][trial].chunk(model.order + 1, dim=1)
        x = sum(term @ x @ weight for term, weight in zip(terms, weights, strict=False))
        x = x + (model.weights[f"{layer}.bias"][trial] if f"{layer}.bias" in model.weights else 0)
        x = x.relu() if layer == "conv1" else x
    return x


@pytest.mark.parametrize("order", [1, 2, 3, 5])
@pytest.mark.parametrize("weights", [False, True])
def test_values_and_gradients_against_the_formula(order, weights):
    graph = small(weights=weights)
    model = create(graph, bias=True, order=order)
    upstream = torch.randn(2, graph.num_nodes, graph.num_classes)
    logits = model(graph.x, graph)
    ours = torch.autograd.grad((logits * upstream).sum(), list(model.parameters()))
    laplacian = laplacian_of(graph)
    plain = torch.stack([written_out(model, trial, graph.x.to_dense(), laplacian) for trial in range(2)])
    theirs = torch.autograd.grad((plain * upstream).sum(), list(model.parameters()))
    assert_close(logits, plain, rtol=1e-4, atol=1e-4)
    for one, two in zip(ours, theirs, strict=True):
        assert_close(one, two, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("weights", [False, True])
def test_against_pyg(weights):
    nn = pytest.importorskip("torch_geometric.nn")
    graph = small(weights=weights)
    model = create(graph, bias=True, order=3)
    x = graph.x.to_dense()
    for number, sizes in ((1, (9, 5)), (2, (5, 3))):
        layer = nn.ChebConv(*sizes, K=4)
        terms = model.weights[f"conv{number}.weight"][1].detach().chunk(4, dim=1)
        for theirs, ours in zip(layer.lins, terms, strict=True):
            theirs.weight.data = ours.T.clone()
        layer.bias.data = model.weights[f"conv{number}.bias"][1, 0].detach().clone()
        x = layer(x, graph.edge_index, graph.edge_weights, lambda_max=2.0)
        x = x.relu() if number == 1 else x
    assert_close(model(graph.x, graph)[1], x, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("order", [1, 2, 4, 7])
def test_without_edges_every_second_polynomial_is_plus_or_minus_one(order):
    graph = small()
    model = create(graph, bias=True, order=order)
    logits = model(graph.x, graph.null())
    nothing = torch.zeros(graph.num_nodes, graph.num_nodes)
    assert_close(logits[0], written_out(model, 0, graph.x.to_dense(), nothing), rtol=1e-4, atol=1e-5)
    # A node without neighbours is the same with the graph and without.
    assert_close(model(graph.x, graph)[:, 11], logits[:, 11], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("links", [[[0, 1, 2, 2, 5, 7], [1, 2, 3, 2, 6, 7]], [[0, 0, 1], [1, 1, 0]]])
def test_on_a_graph_of_links_no_edge_is_listed(links):
    graph = dual(links, 8, [0, 1] * (len(links[0]) // 2) + [0] * (len(links[0]) % 2), 2)
    model = create(graph)
    logits = model(graph.x, graph)
    assert "edge_index" not in vars(graph.structure)
    assert_close(-graph.normalised_adjacency.to_dense(), laplacian_of(graph))
    assert_close(logits[1], written_out(model, 1, graph.x.to_dense(), laplacian_of(graph)), rtol=1e-4, atol=1e-5)


def test_copies_of_a_trial_have_its_weights():
    graph = small()
    model = create(graph, hidden_dropout=0.5)
    streams = Streams.from_seeds(range(2))
    together = model(graph.x, graph, streams.copies(0, 3).at(Purpose.TARGET_DROPOUT, 1))
    for copy in range(3):
        alone = model(graph.x, graph, streams.copies(copy, copy + 1).at(Purpose.TARGET_DROPOUT, 1))
        assert_close(together.unflatten(0, (2, 3))[:, copy], alone)


def test_initial_weights_have_the_bounds_of_one_order():
    weight = create(small(), trials=3, order=4).weights["conv1.weight"]
    bound = (6 / 14) ** 0.5
    assert weight.shape == (3, 9, 25)
    assert 0.8 * bound < weight.abs().max() <= bound
    assert weight.is_leaf


def test_the_settings_of_its_source():
    found = [Config.for_dataset(name, backbone="chebyshev") for name in ("cora", "citeseer", "pubmed", "")]
    assert [config.order for config in found] == [2, 3, 3, 2]
    assert {(config.hidden, config.weight_decay, config.hidden_dropout) for config in found} == {(16, 5e-4, 0.5)}
    with pytest.raises(ConfigError, match="`order` must be at least 1"):
        Config(backbone="chebyshev", order=0)
