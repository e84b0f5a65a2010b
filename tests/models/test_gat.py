from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from graphmix.data import Graph
from graphmix.models import GAT
from graphmix.sparse.ops import unpack
from graphmix.streams import Purpose, Streams

FEATURES, HIDDEN, CLASSES, HEADS = 9, 5, 3, 4


def random_graph(seed, nodes=12, *, dense=False):
    rng = np.random.default_rng(seed)
    x = sp.random(nodes, FEATURES, density=0.4, format="csr", dtype=np.float32, random_state=rng)
    edges = rng.integers(0, nodes, (2, 2 * nodes))
    return Graph.build(x.toarray() if dense else x, edges, rng.integers(0, CLASSES, nodes), CLASSES)


def create(trials=2, **options):
    model = GAT.create(Streams.from_seeds(range(trials)), (FEATURES, HIDDEN, CLASSES), heads=HEADS, **options)
    with torch.no_grad():
        for name, weight in model.weights.items():
            if name.endswith("bias"):
                weight.copy_(torch.linspace(-1, 1, weight.numel()).view_as(weight))
    return model


def noise_of(seeds, first=0, last=None):
    streams = Streams.from_seeds(seeds)
    return (streams if last is None else streams.copies(first, last)).at(Purpose.GNN_DROPOUT, 3)


def their_layers(model, trial):
    """PyG's layers with one trial's weights, and (our name, their parameter, ours in their shape) for each."""
    nn = pytest.importorskip("torch_geometric.nn")
    bias = "conv1.bias" in model.weights
    layers = (
        nn.GATConv(FEATURES, HIDDEN, HEADS, bias=bias),
        nn.GATConv(HEADS * HIDDEN, CLASSES, model.output_heads, concat=False, bias=bias),
    )
    pairs = []
    for number, layer in enumerate(layers, 1):
        pairs += [
            (f"conv{number}.weight", layer.lin.weight, lambda weight: weight.T),
            (f"conv{number}.source", layer.att_src, lambda vector: vector[None]),
            (f"conv{number}.target", layer.att_dst, lambda vector: vector[None]),
        ]
        if bias:
            pairs.append((f"conv{number}.bias", layer.bias, lambda bias: bias[0]))
    for name, theirs, shaped in pairs:
        theirs.data = shaped(model.weights[name][trial].detach()).clone()
    return layers, pairs


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("output_heads", [1, 3])
def test_both_layers_and_the_network_against_pyg(bias, output_heads):
    graph = random_graph(0)
    model = create(bias=bias, output_heads=output_heads)
    upstream = torch.randn(2, graph.num_nodes, CLASSES, generator=torch.Generator().manual_seed(0))
    hidden = model.encode(graph.x, graph)
    logits = model.decode(hidden, graph)
    logits.backward(upstream)
    for trial in range(2):
        layers, pairs = their_layers(model, trial)
        first = F.elu(layers[0](graph.x.to_dense(), graph.edge_index))
        second = layers[1](first, graph.edge_index)
        assert_close(hidden[trial], first, rtol=1e-4, atol=1e-5)
        assert_close(logits[trial], second, rtol=1e-4, atol=1e-5)
        second.backward(upstream[trial])
        for name, theirs, shaped in pairs:
            assert_close(shaped(model.weights[name].grad[trial]), theirs.grad, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("bias", [False, True])
def test_on_the_null_graph_a_layer_is_its_linear_map(bias):
    graph = random_graph(1, dense=True)
    model = create(bias=bias, output_heads=2)
    weights = model.weights
    hidden = graph.x @ weights["conv1.weight"]
    hidden = hidden + weights["conv1.bias"] if bias else hidden
    hidden = torch.where(hidden > 0, hidden, hidden.expm1())
    logits = (hidden @ weights["conv2.weight"]).unflatten(2, (2, CLASSES)).mean(dim=2)
    logits = logits + weights["conv2.bias"] if bias else logits
    assert torch.equal(model.encode(graph.x, graph.null()), hidden)
    assert torch.equal(model(graph.x, graph.null()), logits)


def test_attention_dropout_is_none_on_the_null_graph():
    graph = random_graph(2)
    first, second = (create(attention_dropout=rate, hidden_dropout=0.5) for rate in (0.9, 0.0))
    assert torch.equal(
        first(graph.x, graph.null(), noise_of(range(2))), second(graph.x, graph.null(), noise_of(range(2)))
    )


def test_attention_vectors_play_no_part_on_the_null_graph():
    graph = random_graph(2)
    model = create()
    model(graph.x, graph.null(), noise_of(range(2))).sum().backward()
    for name, weight in model.weights.items():
        assert (weight.grad is not None) == name.endswith("weight"), name


def test_attention_dropout_equals_the_formula_with_the_same_mask():
    graph = random_graph(3)
    model = create(input_dropout=0.0, attention_dropout=0.3)
    linked = torch.eye(graph.num_nodes, dtype=torch.bool)
    linked[graph.edge_index[0], graph.edge_index[1]] = True
    row, col = linked.nonzero().T
    # The first draw of a step without input dropout: a bit per edge and head, edges in the order of rows.
    keep = noise_of(range(2)).keep(len(row) * HEADS, 0.3)
    factor = torch.zeros(2, graph.num_nodes, graph.num_nodes, HEADS)
    factor[:, row, col] = unpack(keep.words, len(row) * HEADS).view(2, len(row), HEADS) * keep.scale
    mapped = (graph.x.to_dense() @ model.weights["conv1.weight"]).unflatten(2, (HEADS, HIDDEN))
    source, target = (
        torch.einsum("tnhw,thw->tnh", mapped, model.weights[f"conv1.{side}"]) for side in ("source", "target")
    )
    score = F.leaky_relu(target[:, :, None] + source[:, None], 0.2)
    weight = score.masked_fill(~linked[..., None], -torch.inf).softmax(dim=2)
    expected = F.elu(torch.einsum("tijh,tjhw->tihw", weight * factor, mapped).flatten(2))
    assert_close(model.encode(graph.x, graph, noise_of(range(2))), expected, rtol=1e-4, atol=1e-5)
    assert not torch.equal(model.encode(graph.x, graph, noise_of(range(2))), model.encode(graph.x, graph))


@pytest.mark.parametrize("null", [False, True])
def test_a_batch_of_trials_equals_each_alone(null):
    graph = random_graph(4, nodes=61)
    place = graph.null() if null else graph
    model = create(trials=5, bias=True, hidden_dropout=0.5)
    logits = model(graph.x, place, noise_of(range(5)))
    logits.square().sum().backward()
    for trial in range(5):
        alone = model.select(torch.tensor([trial]))
        own = alone(graph.x, place, noise_of([trial]))
        assert torch.equal(own[0], logits[trial])
        used = {name: weight for name, weight in alone.weights.items() if model.weights[name].grad is not None}
        gradients = torch.autograd.grad(own.square().sum(), list(used.values()))
        for name, gradient in zip(used, gradients, strict=True):
            assert torch.equal(gradient[0], model.weights[name].grad[trial]), name


@pytest.mark.parametrize("rate", [0.0, 0.5])
def test_copies_equal_passes_one_after_the_other(rate):
    graph = random_graph(5)
    model = create(input_dropout=rate, bias=True)
    together = model(graph.x, graph, noise_of(range(2), 0, 3)).unflatten(0, (2, 3))
    for number in range(3):
        assert torch.equal(together[:, number], model(graph.x, graph, noise_of(range(2), number, number + 1)))
    assert not torch.equal(together[:, 0], together[:, 1])


def test_sparse_and_dense_features_agree_without_dropout():
    graph = random_graph(6)
    model = create()
    assert_close(model(graph.x, graph), model(graph.x.to_dense(), graph))


def test_a_node_without_neighbours_attends_to_itself():
    graph = Graph.build(np.eye(5, FEATURES), [[0, 1], [1, 2]], [0, 1, 2, 0, 1])
    model = create()
    alone = [3, 4]
    assert_close(model(graph.x, graph)[:, alone], model(graph.x, graph.null())[:, alone])


def test_huge_weights_leave_numbers():
    graph = random_graph(7)
    model = create()
    with torch.no_grad():
        for name in ("conv1.source", "conv1.target", "conv2.source", "conv2.target"):
            model.weights[name].mul_(1e6)
    logits = model(graph.x, graph)
    logits.square().sum().backward()
    assert logits.isfinite().all()
    assert all(weight.grad.isfinite().all() for weight in model.parameters())


def test_initial_weights_depend_on_the_seed_alone_and_keep_glorots_bounds():
    batch = GAT.create(Streams.from_seeds(range(3)), (40, 8, 6), heads=8, output_heads=2, bias=True)
    alone = GAT.create(Streams.from_seeds([2]), (40, 8, 6), heads=8, output_heads=2, bias=True)
    sizes = {"conv1.weight": (40, 64), "conv1.source": (8, 8), "conv2.weight": (64, 12), "conv2.target": (2, 6)}
    for name, weight in batch.weights.items():
        assert torch.equal(weight[2], alone.weights[name][0]), name
    for name, size in sizes.items():
        bound = (6 / sum(size)) ** 0.5
        assert batch.weights[name].shape == (3, *size)
        assert 0.7 * bound < batch.weights[name].abs().max() <= bound
    assert not torch.equal(batch.weights["conv1.source"], batch.weights["conv1.target"])
    assert batch.weights["conv1.bias"].shape == (3, 1, 64)
    assert batch.weights["conv2.bias"].shape == (3, 1, 6)


@pytest.mark.gpu
@pytest.mark.parametrize("null", [False, True])
def test_cuda_agrees_with_the_cpu(null):
    results = []
    for device in ("cpu", "cuda"):
        graph = random_graph(8, nodes=80).to(device)
        streams = Streams.from_seeds(range(3), device)
        model = GAT.create(streams, (FEATURES, HIDDEN, CLASSES), heads=HEADS, output_heads=2, bias=True)
        noise = streams.copies(0, 2).at(Purpose.GNN_DROPOUT, 1)
        logits = model(graph.x, graph.null() if null else graph, noise)
        logits.square().sum().backward()
        # On the null graph the attention vectors have no gradient.
        used = [weight.grad for weight in model.parameters() if weight.grad is not None]
        assert len(used) == (4 if null else 8)
        results.append([logits.detach(), *used])
    for on_host, on_device in zip(*results, strict=True):
        assert_close(on_device.cpu(), on_host, rtol=1e-3, atol=1e-3)


def test_dropout_reaches_the_second_layer():
    graph = random_graph(3)
    hidden = torch.randn(2, graph.num_nodes, HEADS * HIDDEN)
    still = create(hidden_dropout=0.0, attention_dropout=0.0)
    for rates in ({"hidden_dropout": 0.5, "attention_dropout": 0.0}, {"hidden_dropout": 0.0, "attention_dropout": 0.5}):
        noisy = replace(still, **rates)
        assert torch.equal(noisy.decode(hidden, graph), still.decode(hidden, graph))
        assert not torch.equal(noisy.decode(hidden, graph, noise_of(range(2))), still.decode(hidden, graph))
