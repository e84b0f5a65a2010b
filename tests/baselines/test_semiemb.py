import numpy as np
import pytest
import torch
from sklearn.metrics import log_loss
from torch.testing import assert_close

from graphmix import Graph, synthetic
from graphmix.baselines.descent import Trials, predict_best
from graphmix.baselines.neighbour_means import unit_rows
from graphmix.baselines.semiemb import SemiEmb, Settings, draw_together, push_apart, semiemb
from graphmix.method import draw_positions
from graphmix.streams import Purpose, Streams
from graphmix.training.task import Picks


def test_neighbours_are_drawn_together_by_the_weights_of_their_edges():
    edges, weights = np.array([[0, 1, 2], [1, 2, 3]]), np.array([1.0, 2.0, 5.0])
    graph = Graph.build(np.eye(5), edges, [0, 1, 0, 1, 0], weights=weights)
    hidden = torch.from_numpy(np.random.default_rng(0).normal(size=(2, 5, 3))).float()
    squares = (hidden[:, edges[0]] - hidden[:, edges[1]]).square().sum(dim=2)
    assert_close(draw_together(hidden, graph), (squares * torch.from_numpy(weights).float()).sum(dim=1) / 8)
    assert_close(draw_together(hidden, graph.null()), torch.zeros(2))


def test_pairs_are_pushed_apart_up_to_the_margin():
    first = torch.tensor([[[0.0, 0.0], [3.0, 4.0], [0.0, 0.0]]], requires_grad=True)
    second = torch.tensor([[[0.3, 0.4], [0.0, 0.0], [0.0, 0.0]]])
    # Distances 0.5, 5 and 0 with a margin of 2: (1.5² + 0 + 2²) / 3.
    loss = push_apart(first, second, 2.0)
    assert_close(loss, torch.tensor([(1.5**2 + 2.0**2) / 3]), atol=1e-5, rtol=0)
    loss.sum().backward()
    assert first.grad.isfinite().all()
    assert (first.grad[0, 1] == 0).all()


def test_the_objective_by_hand():
    graph, split = synthetic(nodes=60, classes=3, features=30, labels_per_class=4, seed=1)
    streams = Streams.from_seeds([3])
    picks = [Picks.build(mask, graph.y) for mask in (split.train, split.val)]
    settings = Settings(weight=0.7, margin=1.5, hidden=8)
    network = SemiEmb(Trials(graph, streams, *picks, split.test), settings)
    network.weights["output bias"] = torch.tensor([[[0.1, -0.2, 0.3]]])
    held = {name: weight.detach().double().numpy()[0] for name, weight in network.weights.items()}
    hidden = np.clip(unit_rows(graph) @ held["hidden"] + held["hidden bias"], -1, 1)
    scores = np.exp(hidden @ held["output"] + held["output bias"])
    probabilities = scores / scores.sum(axis=1, keepdims=True)
    train = split.train[0].numpy()
    row, col = graph.edge_index.numpy()
    partner = draw_positions(streams.at(Purpose.UNLABELED_SUBSET, 5), torch.tensor([60]), 60)[0].numpy()
    near = ((hidden[row] - hidden[col]) ** 2).sum(axis=1).mean()
    far = (np.maximum(0, 1.5 - np.linalg.norm(hidden - hidden[partner], axis=1)) ** 2).mean()
    expected = log_loss(graph.y.numpy()[train], probabilities[train]) + 0.7 * (near + far)
    assert network.loss(5).item() == pytest.approx(expected, rel=1e-4)
    assert network.loss(6).item() != network.loss(5).item()


def test_edges_help_and_new_pairs_differ_by_seed():
    graph, split = synthetic(nodes=400, classes=3, features=60, topic=0.2, labels_per_class=4, seed=1)
    test = split.test[0]

    def right(edges):
        predictions = semiemb(edges, split, [0, 1]).argmax(dim=2)
        return (predictions == graph.y)[:, test].float().mean()

    assert right(graph) > right(graph.null()) + 0.1
    results = semiemb(graph, split, [0, 1])
    assert not torch.equal(results[0], results[1])


class Scripted:
    """A network of one weight that predicts what it is told, epoch by epoch."""

    def __init__(self, script):
        self.weights = {"step": torch.zeros(2, 1, requires_grad=True)}
        self.script, self.epoch = script, -1

    def loss(self, epoch):
        self.epoch = epoch
        return self.weights["step"].sum(dim=1)

    def logits(self):
        return self.script[max(self.epoch, 0)]


def predicted(script, val):
    network = Scripted(script)
    return predict_best(network, torch.optim.SGD(network.weights.values(), lr=0.1), val, 3)


def test_each_trial_predicts_at_its_own_best_validation_epoch():
    right, wrong = [[9.0, 0.0]], [[0.0, 9.0]]
    also = [[5.0, 0.0]]
    script = torch.tensor([[wrong, right], [right, wrong], [also, wrong]])
    val = Picks.build(torch.tensor([[True]]), torch.tensor([0]))
    kept = predicted(script, val)
    # The first of two equally good epochs.
    assert_close(kept, torch.tensor([right, right]).softmax(dim=2))
    none = Picks.build(torch.tensor([[False]]), torch.tensor([0]))
    assert_close(predicted(script, none), script[2].softmax(dim=2))
