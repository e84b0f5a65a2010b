"""GraphSAGE against PyG, a dense formula, and what it is on graphs of links and without edges."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch.testing import assert_close

from graphmix import Graph, Streams, dual
from graphmix.models import SAGE
from graphmix.streams import Purpose


def small(seed=0, *, weights=False):
    rng = np.random.default_rng(seed)
    edges, given = rng.integers(0, 11, (2, 20)), rng.random(20) + 0.1 if weights else None
    x = sp.random(12, 9, density=0.5, format="csr", random_state=rng)
    # Node 11 has no neighbours.
    return Graph.build(x, edges, rng.integers(0, 3, 12), 3, weights=given)


def create(graph, trials=2, **options):
    model = SAGE.create(Streams.from_seeds(range(trials)), (graph.num_features, 5, graph.num_classes), **options)
    with torch.no_grad():
        for name, weight in model.weights.items():
            if name.endswith("bias"):
                weight.uniform_(-1, 1)
    return model


def mean_of(graph):
    """D⁻¹A from the list of edges, dense."""
    adjacency = torch.zeros(graph.num_nodes, graph.num_nodes)
    adjacency[tuple(graph.edge_index)] = 1.0 if graph.edge_weights is None else graph.edge_weights
    return adjacency / adjacency.sum(dim=1, keepdim=True).clamp_min(1e-9)


def written_out(model, trial, x, mean):
    """The network by its formula, from dense tensors."""
    weights = {name: weight[trial] for name, weight in model.weights.items()}
    for layer in ("conv1", "conv2"):
        own, others = x @ weights[f"{layer}.weight"], mean @ x @ weights[f"{layer}.neighbours"]
        x = own + others + weights.get(f"{layer}.bias", 0)
        x = x.relu() if layer == "conv1" else x
    return x


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("weights", [False, True])
def test_values_and_gradients_against_the_formula(bias, weights):
    graph = small(weights=weights)
    model = create(graph, bias=bias)
    upstream = torch.randn(2, graph.num_nodes, graph.num_classes)
    logits = model(graph.x, graph)
    ours = torch.autograd.grad((logits * upstream).sum(), list(model.parameters()))
    plain = torch.stack([written_out(model, trial, graph.x.to_dense(), mean_of(graph)) for trial in range(2)])
    theirs = torch.autograd.grad((plain * upstream).sum(), list(model.parameters()))
    assert_close(logits, plain, rtol=1e-4, atol=1e-5)
    for one, two in zip(ours, theirs, strict=True):
        assert_close(one, two, rtol=1e-4, atol=1e-5)


def test_against_pyg():
    nn = pytest.importorskip("torch_geometric.nn")
    graph = small()
    model = create(graph, bias=True)
    x = graph.x.to_dense()
    for number, sizes in ((1, (9, 5)), (2, (5, 3))):
        layer = nn.SAGEConv(*sizes, aggr="mean")
        # theirs: lin_l for the neighbours, with the bias, lin_r for the node itself
        layer.lin_l.weight.data = model.weights[f"conv{number}.neighbours"][1].detach().T.clone()
        layer.lin_r.weight.data = model.weights[f"conv{number}.weight"][1].detach().T.clone()
        layer.lin_l.bias.data = model.weights[f"conv{number}.bias"][1, 0].detach().clone()
        x = layer(x, graph.edge_index)
        x = x.relu() if number == 1 else x
    assert_close(model(graph.x, graph)[1], x, rtol=1e-4, atol=1e-5)


def test_sparse_and_dense_features_agree():
    graph = small()
    model = create(graph)
    assert_close(model(graph.x, graph), model(graph.x.to_dense(), graph))


def test_without_edges_the_neighbours_weights_are_unused():
    graph = small()
    model = create(graph, bias=True)
    logits = model(graph.x, graph.null())
    nothing = torch.zeros(graph.num_nodes, graph.num_nodes)
    assert_close(logits[0], written_out(model, 0, graph.x.to_dense(), nothing), rtol=1e-4, atol=1e-5)
    logits.sum().backward()
    assert model.weights["conv1.neighbours"].grad is None
    # A node without neighbours is the same with the graph and without.
    assert_close(model(graph.x, graph)[:, 11], logits[:, 11])


@pytest.mark.parametrize("links", [[[0, 1, 2, 2, 5, 7], [1, 2, 3, 2, 6, 7]], [[0, 0, 1], [1, 1, 0]]])
def test_on_a_graph_of_links_no_edge_is_listed(links):
    # A self-loop beside other links, one alone, a pair that no other link meets; then links between the same two users.
    graph = dual(links, 8, [0, 1] * (len(links[0]) // 2) + [0] * (len(links[0]) % 2), 2)
    model = create(graph)
    logits = model(graph.x, graph)
    assert "edge_index" not in vars(graph.structure)
    assert_close(graph.neighbour_mean.to_dense(), mean_of(graph))
    assert_close(logits[1], written_out(model, 1, graph.x.to_dense(), mean_of(graph)), rtol=1e-4, atol=1e-5)


def test_copies_of_a_trial_have_its_weights():
    graph = small()
    model = create(graph, hidden_dropout=0.5)
    streams = Streams.from_seeds(range(2))
    together = model(graph.x, graph, streams.copies(0, 3).at(Purpose.TARGET_DROPOUT, 1))
    for copy in range(3):
        alone = model(graph.x, graph, streams.copies(copy, copy + 1).at(Purpose.TARGET_DROPOUT, 1))
        assert_close(together.unflatten(0, (2, 3))[:, copy], alone)


@pytest.mark.gpu
def test_cuda_gives_what_the_cpu_gives():
    graph = small(weights=True)
    model = create(graph)
    moved = SAGE({name: weight.detach().cuda() for name, weight in model.weights.items()})
    there = graph.to("cuda")
    assert_close(moved(there.x, there).cpu(), model(graph.x, graph), rtol=1e-4, atol=1e-5)
