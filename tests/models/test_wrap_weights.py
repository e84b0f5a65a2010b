"""Weights of edges, passed to a wrapped module that takes them."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.testing import assert_close

from graphmix.data import Graph, Split
from graphmix.errors import ConfigError
from graphmix.models import GCN, wrap
from graphmix.streams import Purpose, Streams
from graphmix.training import Config, fit

pyg = pytest.importorskip("torch_geometric.nn")
NODES, FEATURES, CLASSES = 30, 9, 3


def weighted_graph(weighted=True):
    rng = np.random.default_rng(0)
    edges = rng.integers(0, NODES, (2, 90))
    weights = rng.uniform(0.2, 3, 90)
    x = rng.random((NODES, FEATURES)) * (rng.random((NODES, FEATURES)) < 0.5)
    given = weights if weighted else None
    return Graph.build(torch.from_numpy(x).to_sparse(), edges, np.arange(NODES) % CLASSES, CLASSES, weights=given)


def split():
    nodes = torch.arange(NODES)
    return Split(*(((nodes >= first) & (nodes < last))[None] for first, last in ((0, 9), (9, 18), (18, NODES))))


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = pyg.GATConv(FEATURES, 5, edge_dim=1), pyg.GATConv(5, CLASSES, edge_dim=1)

    def forward(self, x, edge_index, edge_attr=None):
        return self.two(self.one(x, edge_index, edge_attr).relu(), edge_index, edge_attr)


class Branching(nn.Module):
    """Takes another way without weights, which a trace with weights would not see."""

    def __init__(self):
        super().__init__()
        self.one, self.two = pyg.GCNConv(FEATURES, 5), nn.Linear(5, CLASSES)

    def forward(self, x, edge_index, edge_weight=None):
        if edge_weight is None:
            return self.two(self.one(x, edge_index))
        return self.two(self.one(x, edge_index, edge_weight * 2)) + 1


def test_weights_are_passed_and_have_an_effect():
    graph, module = weighted_graph(), pyg.GCN(FEATURES, 5, num_layers=2, out_channels=CLASSES).eval()
    wrapped = wrap(module, mix_at="convs.1")
    assert wrapped.heeds_weights
    assert "edge weights: passed as edge_weight" in repr(wrapped)
    dense = graph.x.to_dense()
    expected = module(dense, graph.edge_index, edge_weight=graph.edge_weights)
    assert_close(wrapped(graph.x, graph)[0], expected)
    plain = weighted_graph(weighted=False)
    assert_close(wrapped(plain.x, plain)[0], module(dense, plain.edge_index))
    assert not torch.allclose(wrapped(plain.x, plain)[0], expected)
    assert_close(wrapped(graph.x, graph.null())[0], module(dense, graph.null().edge_index))


def test_a_wrapped_gcn_equals_the_built_in_one_on_a_graph_with_weights():
    graph, streams = weighted_graph(), Streams.from_seeds(range(2))
    module = pyg.GCN(FEATURES, 5, num_layers=2, out_channels=CLASSES)
    theirs = wrap(module, mix_at="convs.1").create(streams, (FEATURES, 0, CLASSES))
    names = {"conv1.weight": "convs.0.lin.weight", "conv2.weight": "convs.1.lin.weight"}
    ours = GCN({own: theirs.weights[name].detach().mT.clone() for own, name in names.items()}, input_dropout=0.0)
    for noise in (None, streams.at(Purpose.GNN_DROPOUT)):
        assert_close(theirs(graph.x, graph, noise), ours(graph.x, graph))


@pytest.mark.parametrize("build", [Attention, Branching])
def test_other_ways_to_take_weights(build):
    graph, plain, module = weighted_graph(), weighted_graph(weighted=False), build().eval()
    wrapped, dense = wrap(module, mix_at="two"), graph.x.to_dense()
    with_weights = (
        module(dense, graph.edge_index, edge_attr=graph.edge_weights[:, None])
        if build is Attention
        else module(dense, graph.edge_index, graph.edge_weights)
    )
    assert_close(wrapped(graph.x, graph)[0], with_weights)
    assert_close(wrapped(plain.x, plain)[0], module(dense, plain.edge_index))


def test_training_uses_the_weights():
    config = Config.for_dataset("", trials=2, epochs=6, perturbations=2, rampup_start=1, rampup_end=3)
    wrapped = wrap(pyg.GCN(FEATURES, 5, num_layers=2, out_channels=CLASSES, dropout=0.5), mix_at="convs.1")
    losses = [
        fit(graph, split(), config, model=wrapped, device="cpu").history.loss
        for graph in (weighted_graph(), weighted_graph(), weighted_graph(weighted=False))
    ]
    assert torch.equal(losses[0], losses[1])
    assert not torch.allclose(losses[0], losses[2])


@pytest.mark.parametrize(
    "module",
    [
        pytest.param(pyg.GraphSAGE(FEATURES, 5, num_layers=2, out_channels=CLASSES), id="not used by its layers"),
        pytest.param(
            pyg.GAT(FEATURES, 6, num_layers=2, out_channels=CLASSES), id="takes no edge_attr without edge_dim"
        ),
    ],
)
def test_a_module_that_does_not_use_weights_is_not_given_any(module):
    wrapped = wrap(module, mix_at="convs.1")
    assert not wrapped.heeds_weights
    with pytest.raises(ConfigError, match="edge weights, but they do not change what the custom model computes; let"):
        fit(weighted_graph(), split(), Config(trials=1, epochs=2), model=wrapped, device="cpu")
    graph, plain = weighted_graph(), weighted_graph(weighted=False)
    assert torch.equal(wrapped(graph.x, graph), wrapped(plain.x, plain))
    config = Config(trials=1, epochs=2, method="fcn-mixup")
    assert len(fit(weighted_graph(), split(), config, model=wrapped, device="cpu").trials) == 1
