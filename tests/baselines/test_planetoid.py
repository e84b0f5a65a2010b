import numpy as np
import pytest
import torch
from sklearn.metrics import log_loss
from torch.testing import assert_close

from graphmix import DataError, Graph, synthetic
from graphmix.baselines.contexts import Pairs
from graphmix.baselines.descent import Trials
from graphmix.baselines.neighbour_means import unit_rows
from graphmix.baselines.planetoid import Planetoid, Settings, planetoid, planetoid_inductive
from graphmix.streams import Streams
from graphmix.training.task import Picks


@pytest.fixture(scope="module")
def data():
    return synthetic(nodes=80, classes=3, features=30, topic=0.4, labels_per_class=4, seed=1)


def network(data, *, inductive, seeds=(3,), **changes):
    graph, split = data
    picks = [Picks.build(mask, graph.y) for mask in (split.train, split.val)]
    trials = Trials(graph, Streams.from_seeds(seeds), *picks, split.test)
    return Planetoid(trials, Settings(width=6, walks=5, **changes), inductive=inductive)


def softmax(values):
    shares = np.exp(values - values.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("inductive", [False, True])
def test_the_losses_of_the_three_classifiers_by_hand(data, inductive):
    graph, split = data
    made = network(data, inductive=inductive)
    held = {name: weight.detach().double().numpy()[0] for name, weight in made.weights.items()}
    x, train = unit_rows(graph), split.train[0].numpy()
    embedding = np.maximum(x @ held["embedding"], 0) if inductive else held["embedding"]
    own, embedded = softmax(x @ held["features"]), softmax(embedding @ held["embedded"])
    both = softmax(np.hstack([own, embedded]) @ held["output"])
    y = graph.y.numpy()[train]
    expected = sum(log_loss(y, part[train]) for part in (own, embedded, both))
    assert made.loss(0).item() == pytest.approx(expected, rel=1e-4)
    assert_close(made.logits()[0].softmax(dim=1).double(), torch.from_numpy(both), atol=1e-5, rtol=0)


def test_contexts_by_hand(data):
    made = network(data, inductive=False)
    pairs = Pairs(torch.tensor([[0, 1, 2]]), torch.tensor([[5, 6, 7]]), torch.tensor([[1.0, -1.0, 0.0]]))
    e, w = (made.weights[name].detach().double().numpy()[0] for name in ("embedding", "context"))
    expected = np.log1p(np.exp(-e[0] @ w[5])) + np.log1p(np.exp(e[1] @ w[6]))
    assert made._value(made.embed(), pairs).item() == pytest.approx(expected, rel=1e-5)


def test_the_inductive_variant_learns_nothing_from_pairs_with_test_nodes(data):
    made = network(data, inductive=True)
    test = data[1].test[0]
    made.walk_context_loss(0).sum().backward()
    touched = made.weights["context"].grad[0].abs().sum(dim=1) > 0
    assert touched.any()
    assert not (touched & test).any()
    free = network(data, inductive=False)
    free.walk_context_loss(0).sum().backward()
    assert ((free.weights["context"].grad[0].abs().sum(dim=1) > 0) & test).any()


def test_the_weight_adds_the_contexts_of_the_walks(data):
    plain, joint = (network(data, inductive=False, weight=weight) for weight in (0.0, 0.5))
    after = Settings().walk_steps
    assert_close(joint.loss(2), plain.loss(2) + 0.5 * plain.walk_context_loss(after + 2))


def test_walks_are_what_labels_alone_cannot_give():
    # The features say nothing: only the embeddings tell the two halves apart.
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    edges = [(a, b) for a in range(60) for b in range(a) if y[a] == y[b] and rng.random() < 0.3]
    graph = Graph.build(np.ones((60, 1)), np.array(edges).T, y)
    _, split = synthetic(nodes=60, classes=2, labels_per_class=4, seed=0)
    probabilities = planetoid(graph, split, [0])[0]
    assert (probabilities.argmax(1) == graph.y).float().mean() > 0.95


@pytest.mark.parametrize("method", [planetoid, planetoid_inductive])
def test_graphs_without_edges_or_with_weights_are_refused(method, data):
    graph, split = data
    with pytest.raises(DataError, match="the graph has none"):
        method(graph.null(), split, [0])
    weights = torch.full((graph.edge_index.shape[1],), 2.0)
    heavy = Graph.build(graph.x, graph.edge_index, graph.y, weights=weights, normalise=False)
    with pytest.raises(DataError, match="does not use edge weights"):
        method(heavy, split, [0])
