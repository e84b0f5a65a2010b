"""GATv2 against PyG's layers, its dropout, and what it is without edges."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from graphmix import Config, Graph, Streams
from graphmix.models import GATv2
from graphmix.streams import Purpose

FEATURES, HIDDEN, CLASSES, HEADS = 9, 5, 3, 4


def small(seed=0):
    rng = np.random.default_rng(seed)
    x = sp.random(12, FEATURES, density=0.5, format="csr", random_state=rng)
    # Node 11 has no neighbours.
    return Graph.build(x, rng.integers(0, 11, (2, 24)), rng.integers(0, CLASSES, 12), CLASSES)


def create(trials=2, **options):
    model = GATv2.create(Streams.from_seeds(range(trials)), (FEATURES, HIDDEN, CLASSES), heads=HEADS, **options)
    with torch.no_grad():
        for name, weight in model.weights.items():
            if name.endswith("bias"):
                weight.uniform_(-1, 1)
    return model


def their_layers(model, trial):
    """PyG's layers with one trial's weights, and (our name, their parameter, ours in their shape) for each."""
    nn = pytest.importorskip("torch_geometric.nn")
    layers = (
        nn.GATv2Conv(FEATURES, HIDDEN, HEADS),
        nn.GATv2Conv(HEADS * HIDDEN, CLASSES, model.output_heads, concat=False),
    )
    pairs = []
    for number, layer in enumerate(layers, 1):
        # Theirs have biases inside the attention, too.
        layer.lin_l.bias.data.zero_()
        layer.lin_r.bias.data.zero_()
        pairs += [
            (f"conv{number}.weight", layer.lin_l.weight, lambda weight: weight.T),
            (f"conv{number}.targets", layer.lin_r.weight, lambda weight: weight.T),
            (f"conv{number}.attention", layer.att, lambda vector: vector[None]),
            (f"conv{number}.bias", layer.bias, lambda bias: bias[0]),
        ]
    for name, theirs, shaped in pairs:
        theirs.data = shaped(model.weights[name][trial].detach()).clone()
    return layers, pairs


@pytest.mark.parametrize("output_heads", [1, 3])
def test_values_and_gradients_against_pyg(output_heads):
    graph = small()
    model = create(bias=True, output_heads=output_heads)
    upstream = torch.randn(2, graph.num_nodes, CLASSES, generator=torch.Generator().manual_seed(0))
    logits = model(graph.x, graph)
    logits.backward(upstream)
    for trial in range(2):
        layers, pairs = their_layers(model, trial)
        hidden = F.elu(layers[0](graph.x.to_dense(), graph.edge_index))
        theirs = layers[1](hidden, graph.edge_index)
        assert_close(logits[trial], theirs, rtol=1e-4, atol=1e-5)
        theirs.backward(upstream[trial])
        for name, weight, shaped in pairs:
            assert_close(shaped(model.weights[name].grad[trial]), weight.grad, rtol=1e-3, atol=1e-4)


def test_without_edges_only_the_values_weights_are_used():
    graph = small()
    model = create(bias=True)
    logits = model(graph.x, graph.null(), Streams.from_seeds(range(2)).at(Purpose.FCN_DROPOUT))
    logits.sum().backward()
    used = {name for name, weight in model.weights.items() if weight.grad is not None}
    assert used == {"conv1.weight", "conv1.bias", "conv2.weight", "conv2.bias"}
    # A node without neighbours attends to itself.
    assert_close(model(graph.x, graph)[:, 11], model(graph.x, graph.null())[:, 11])


def test_the_attention_is_dropped_in_both_layers():
    graph = small()
    model = create(input_dropout=0.0, attention_dropout=0.5)
    noise = Streams.from_seeds(range(2)).at(Purpose.GNN_DROPOUT)
    hidden = model.encode(graph.x, graph, noise)
    assert not torch.equal(hidden, model.encode(graph.x, graph))
    assert not torch.equal(model.decode(hidden, graph, noise), model.decode(hidden, graph))
    still = GATv2(model.weights, input_dropout=0.0, attention_dropout=0.0, heads=HEADS)
    assert torch.equal(still(graph.x, graph, noise), still(graph.x, graph))


def test_copies_of_a_trial_have_its_weights():
    graph = small()
    model = create(hidden_dropout=0.5)
    streams = Streams.from_seeds(range(2))
    together = model(graph.x, graph, streams.copies(0, 3).at(Purpose.TARGET_DROPOUT, 1))
    for copy in range(3):
        alone = model(graph.x, graph, streams.copies(copy, copy + 1).at(Purpose.TARGET_DROPOUT, 1))
        assert_close(together.unflatten(0, (2, 3))[:, copy], alone)


def test_its_settings_are_those_of_the_gats_paper():
    cora, pubmed = (Config.for_dataset(name, backbone="gatv2") for name in ("cora", "pubmed"))
    assert (cora.hidden, cora.heads, cora.output_heads, pubmed.output_heads) == (8, 8, 1, 8)
    assert (cora.learning_rate, pubmed.learning_rate, cora.weight_decay, pubmed.weight_decay) == (
        0.005,
        0.01,
        5e-4,
        1e-3,
    )
    assert {cora.input_dropout, cora.hidden_dropout, cora.attention_dropout, pubmed.attention_dropout} == {0.6}
