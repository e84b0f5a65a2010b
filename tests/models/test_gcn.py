import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from graphmix.data import Graph
from graphmix.models import BACKBONES, GCN
from graphmix.streams import Purpose, Streams


def random_graph(seed, nodes=12, features=9, classes=3, *, dense=False):
    rng = np.random.default_rng(seed)
    x = sp.random(nodes, features, density=0.4, format="csr", dtype=np.float32, random_state=rng)
    edges = rng.integers(0, nodes, (2, 2 * nodes))
    return Graph.build(x.toarray() if dense else x, edges, rng.integers(0, classes, nodes), classes)


def create(name, graph, trials=2, **options):
    sizes = (graph.num_features, 5, graph.num_classes)
    return BACKBONES[name].create(Streams.from_seeds(range(trials)), sizes, **options)


@pytest.mark.parametrize("bias", [False, True])
def test_gcn_against_pyg_values_and_gradients(bias):
    nn = pytest.importorskip("torch_geometric.nn")
    graph = random_graph(0)
    model = create("gcn", graph, bias=bias)
    if bias:
        with torch.no_grad():
            model.weights["conv1.bias"].uniform_(-1, 1)
            model.weights["conv2.bias"].uniform_(-1, 1)
    upstream = torch.randn(2, graph.num_nodes, graph.num_classes)
    logits = model(graph.x, graph)
    logits.backward(upstream)
    for trial in range(2):
        layers = nn.GCNConv(9, 5, bias=bias), nn.GCNConv(5, 3, bias=bias)
        for number, layer in enumerate(layers, 1):
            layer.lin.weight.data = model.weights[f"conv{number}.weight"][trial].detach().T.clone()
            if bias:
                layer.bias.data = model.weights[f"conv{number}.bias"][trial, 0].detach().clone()
        hidden = layers[0](graph.x.to_dense(), graph.edge_index).relu()
        theirs = layers[1](hidden, graph.edge_index)
        assert_close(logits[trial], theirs, rtol=1e-4, atol=1e-5)
        theirs.backward(upstream[trial])
        for number, layer in enumerate(layers, 1):
            ours = model.weights[f"conv{number}.weight"].grad[trial]
            assert_close(ours, layer.lin.weight.grad.T, rtol=1e-4, atol=1e-5)
            if bias:
                assert_close(model.weights[f"conv{number}.bias"].grad[trial, 0], layer.bias.grad, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", BACKBONES)
@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 10_000), node=st.integers(0, 11), dense=st.booleans(), noisy=st.booleans())
def test_node_wise_on_the_null_graph(name, seed, node, dense, noisy):
    graph = random_graph(seed, dense=dense)
    model = create(name, graph)
    changed = graph.x.to_dense() if not dense else graph.x.clone()
    changed[node] += 1.0
    # Dense in both, so that the bits of the dropout mask fall on the same entries.
    before = graph.x.to_dense() if not dense else graph.x
    streams = Streams.from_seeds(range(2))
    first, second = (
        model(x, graph.null(), streams.at(Purpose.FCN_DROPOUT) if noisy else None) for x in (before, changed)
    )
    others = torch.arange(graph.num_nodes) != node
    assert torch.equal(first[:, others], second[:, others])


@pytest.mark.parametrize("name", BACKBONES)
@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 10_000))
def test_the_two_halves_are_the_whole_network(name, seed):
    graph = random_graph(seed)
    model = create(name, graph)
    for place in (graph, graph.null()):
        assert torch.equal(model.decode(model.encode(graph.x, place), place), model(graph.x, place))


@pytest.mark.parametrize("name", BACKBONES)
@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 10_000))
def test_permuting_the_nodes_permutes_the_predictions(name, seed):
    graph = random_graph(seed)
    model = create(name, graph)
    order = torch.randperm(graph.num_nodes, generator=torch.Generator().manual_seed(seed))
    moved = graph.permuted(order)
    assert_close(model(moved.x, moved), model(graph.x, graph)[:, order], rtol=1e-4, atol=1e-5)


def test_sparse_and_dense_features_agree_without_dropout():
    graph = random_graph(3)
    model = create("gcn", graph)
    assert_close(model(graph.x, graph), model(graph.x.to_dense(), graph))


def test_select_sends_gradients_back_to_the_right_trials():
    graph = random_graph(1)
    model = create("gcn", graph, trials=4)
    model.select(torch.tensor([2, 0]))(graph.x, graph)[0].sum().backward()
    touched = model.weights["conv2.weight"].grad.abs().sum((1, 2)) > 0
    assert touched.tolist() == [False, False, True, False]


def test_initial_weights_depend_on_the_seed_alone():
    graph = random_graph(1)
    batch, alone = create("gcn", graph, trials=3), GCN.create(Streams.from_seeds([2]), (9, 5, 3))
    assert torch.equal(batch.weights["conv1.weight"][2], alone.weights["conv1.weight"][0])
    bound = (6 / 14) ** 0.5
    assert batch.weights["conv1.weight"].abs().max() <= bound
    assert batch.weights["conv1.weight"].std().item() == pytest.approx(bound / 3**0.5, rel=0.15)


def test_hidden_dropout_drops_at_the_hidden_layer_only():
    graph = random_graph(1)
    model = create("gcn", graph, input_dropout=0.0, hidden_dropout=0.5)
    noise = Streams.from_seeds(range(2)).at(Purpose.GNN_DROPOUT)
    hidden = model.encode(graph.x, graph, noise)
    assert torch.equal(hidden, model.encode(graph.x, graph))
    assert not torch.equal(model.decode(hidden, graph, noise), model.decode(hidden, graph))


def test_features_of_zeros_only_are_no_error():
    graph = Graph.build(sp.csr_array((6, 4)), [[0, 1], [1, 2]], [0, 1, 0, 1, 0, 1])
    streams = Streams.from_seeds(range(2)).copies(0, 3)
    logits = create("gcn", graph)(graph.x, graph, streams.at(Purpose.GNN_DROPOUT))
    assert torch.equal(logits, torch.zeros(6, 6, 2))


def test_predicting_on_other_features_is_refused():
    from graphmix import Config, DataError, fit, synthetic

    graph, split = synthetic(nodes=100, features=30, seed=1)
    done = fit(graph, split, Config(trials=3, epochs=3, rampup_start=0, rampup_end=1), device="cpu")
    narrower, _ = synthetic(nodes=100, features=20, seed=1)
    with pytest.raises(DataError, match="20 features; these networks were trained on 30"):
        done.predict(narrower)
    assert_close(done.predict_proba(graph).sum(-1), torch.ones(3, 100))
