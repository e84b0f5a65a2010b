"""The network of GRAND, against the same written with dense matrices."""

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from graphmix import Config, ConfigError, Graph, Streams
from graphmix.models import BACKBONES, grand
from graphmix.models.grand import Grand
from graphmix.sparse.ops import unpack
from graphmix.streams import Purpose

EDGES = [[0, 1, 2, 0, 4], [1, 2, 3, 2, 5]]


def setup(sparse=True, trials=2, **options):
    x = np.random.default_rng(0).random((6, 5)) * (np.random.default_rng(1).random((6, 5)) < 0.6)
    graph = Graph.build(x, EDGES, [0, 1, 0, 1, 0, 1], normalise=False)
    if not sparse:
        graph = graph.with_x(torch.from_numpy(x).float())
    model = Grand.create(Streams.from_seeds(range(trials)), (5, 4, 2), bias=True, **({"hops": 3} | options))
    for name in ("conv1.bias", "conv2.bias"):
        model.weights[name].data += torch.linspace(-0.1, 0.2, model.weights[name].shape[2])
    return model, graph


def dense(graph):
    x = graph.x if isinstance(graph.x, torch.Tensor) else graph.x.to_dense()
    power, total = torch.eye(6), torch.zeros(6, 6)
    for _ in range(4):
        total, power = total + power / 4, graph.propagation.to_dense() @ power
    return x, total


@pytest.mark.parametrize("sparse", [True, False])
def test_it_is_a_net_on_the_mean_of_the_propagated_features(sparse):
    model, graph = setup(sparse)
    x, spread = dense(graph)
    weights = model.weights
    hidden = (0.5 * (spread @ x) @ weights["conv1.weight"] + weights["conv1.bias"]).relu()
    assert_close(model(graph.x, graph), hidden @ weights["conv2.weight"] + weights["conv2.bias"])


@pytest.mark.parametrize("written", [True, False], ids=["written out", "by non-zeros"])
def test_a_pass_leaves_out_nodes_and_drops_entries_of_the_mean(written, monkeypatch):
    monkeypatch.setattr(grand, "MOST_WRITTEN", 2**25 if written else 0)
    model, graph = setup(sparse=False, hidden_dropout=0.0)
    x, spread = dense(graph)
    noise, same = (Streams.from_seeds(range(2)).copies(0, 3).at(Purpose.RANDOM_PROPAGATION, 4) for _ in range(2))
    hidden = model.encode(graph.x, graph, noise)
    if written:
        nodes = unpack(same.keep(6, 0.5).words, 6)
        entries = unpack(same.keep(30, 0.5).words, 30).view(-1, 6, 5) * 2
        means = (spread @ (nodes[..., None] * x)) * entries
    else:
        entries = unpack(same.keep(30, 0.5).words, 30).view(-1, 6, 5) * 2
        nodes = unpack(same.keep(6, 0.5).words, 6)
        means = spread @ (nodes[..., None] * x * entries)
    assert 0 < nodes.mean() < 1
    weight, bias = (model.weights[name].repeat_interleave(3, dim=0) for name in ("conv1.weight", "conv1.bias"))
    assert_close(hidden, (means @ weight + bias).relu())


def test_batch_norm_is_torchs_in_training_and_in_prediction():
    model, graph = setup(batch_norm=True, input_dropout=0.0, hidden_dropout=0.0, trials=1)
    x, spread = dense(graph)
    norms = torch.nn.BatchNorm1d(5), torch.nn.BatchNorm1d(4)
    for name, norm in zip(("norm1", "norm2"), norms, strict=True):
        model.weights[f"{name}.scale"].data += torch.linspace(0, 1, norm.num_features)
        model.weights[f"{name}.shift"].data += torch.linspace(-1, 0, norm.num_features)
        norm.weight.data, norm.bias.data = (model.weights[f"{name}.{part}"][0, 0] for part in ("scale", "shift"))

    def through(means):
        hidden = (norms[0](means) @ model.weights["conv1.weight"][0] + model.weights["conv1.bias"][0]).relu()
        return norms[1](hidden) @ model.weights["conv2.weight"][0] + model.weights["conv2.bias"][0]

    noise, same = (Streams.from_seeds([0]).copies(0, 2).at(Purpose.RANDOM_PROPAGATION) for _ in range(2))
    nodes = unpack(same.keep(6, 0.5).words, 6)
    trained = model(graph.x, graph, noise)
    assert_close(trained, torch.stack([through(spread @ (kept[:, None] * x)) for kept in nodes]))
    for norm in norms:
        norm.eval()
    assert_close(model(graph.x, graph)[0], through(0.5 * spread @ x))


def test_running_means_are_not_trained():
    model, _ = setup(batch_norm=True)
    still = {name for name, weight in model.weights.items() if not weight.requires_grad}
    assert still == {f"norm{layer}.{part}" for layer in (1, 2) for part in ("mean", "variance")}


def test_batch_norm_needs_random_propagation():
    assert BACKBONES["grand"] is Grand
    with pytest.raises(ConfigError, match="`batch_norm`"):
        Config(backbone="grand", method="graphmix", batch_norm=True)


def test_dropout_of_the_features_comes_before_they_are_propagated():
    model, graph = setup(sparse=False, hidden_dropout=0.0, input_dropout_at="features")
    x, spread = dense(graph)
    noise, same = (Streams.from_seeds(range(2)).copies(0, 3).at(Purpose.RANDOM_PROPAGATION, 4) for _ in range(2))
    entries = unpack(same.keep(30, 0.5).words, 30).view(-1, 6, 5) * 2
    nodes = unpack(same.keep(6, 0.5).words, 6)
    means = spread @ (nodes[..., None] * x * entries)
    weight, bias = (model.weights[name].repeat_interleave(3, dim=0) for name in ("conv1.weight", "conv1.bias"))
    assert_close(model.encode(graph.x, graph, noise), (means @ weight + bias).relu())


@pytest.mark.parametrize("at", ["propagated", "features"])
def test_learned_hops_weigh_the_powers(at):
    model, graph = setup(hop_weights="learned", hidden_dropout=0.0, input_dropout_at=at)
    start = model(graph.x, graph)
    assert_close(start, setup()[0](graph.x, graph))
    hops = torch.tensor([[0.1, 0.4, -0.2, 0.3], [0.5, 0.0, 0.2, 0.1]])
    model.weights["hops"].data.copy_(hops)
    x = graph.x.to_dense()
    powers = torch.stack([torch.linalg.matrix_power(graph.propagation.to_dense(), k) for k in range(4)])
    spread = torch.einsum("tk,kij->tij", hops, powers)
    weight, bias = model.weights["conv1.weight"], model.weights["conv1.bias"]
    assert_close(model.encode(graph.x, graph), (0.5 * spread @ x @ weight + bias).relu())
    null = (hops.sum(1)[:, None, None] * x @ weight + bias).relu()
    assert_close(model.encode(graph.x, graph.null()), null)
    noise = Streams.from_seeds(range(2)).copies(0, 3).at(Purpose.RANDOM_PROPAGATION, 4)
    (gradient,) = torch.autograd.grad(model(graph.x, graph, noise).square().sum(), model.weights["hops"])
    assert gradient.abs().min() > 0
    assert (model.decay_of("hops", 0.1), model.decay_of("conv1.weight", 0.1)) == (0.0, 0.1)
