"""Which labels a prediction rests on, against what the members predict and against gradients by hand."""

from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from graphmix import synthetic
from graphmix.baselines.forest import Forest
from graphmix.baselines.label_propagation import harmonic, mean_of_neighbours
from graphmix.baselines.linear import Linear
from graphmix.models import BACKBONES
from graphmix.streams import Streams
from graphmix.training import Config
from graphmix.workflow.members import Member
from graphmix.workflow.supports import _of_networks, supports, walks
from small_mixtures import mixture

NODES = np.array([3, 50, 90])


@pytest.fixture(scope="module")
def graph():
    made, split = synthetic(nodes=100, classes=3, features=10, labels_per_class=6, seed=4)
    return replace(made, y=torch.where(split.train[0], made.y, -1))


def one_hot(graph):
    return F.one_hot(graph.y[graph.y >= 0], graph.num_classes).double().numpy()


def test_a_random_walk_ends_at_labels_as_labels_spread(graph):
    known = graph.y >= 0
    labels = F.one_hot(graph.y.clamp_min(0), 3).float() * known[:, None]
    spread = harmonic(mean_of_neighbours(graph), labels[None], known[None, :, None])[0]
    assert walks(graph, NODES) @ one_hot(graph) == pytest.approx(spread[NODES].double().numpy(), abs=2e-3)


def test_a_forest_is_the_mean_of_the_labels_it_rests_on(graph):
    (forest,) = Forest.fit(graph, (graph.y >= 0).numpy(), [0.0], seed=0, balanced=False)
    labels = forest.predict(graph, NODES).argmax(axis=1)
    support = forest.support(graph, NODES, labels)
    doubt = 1 / (int((graph.y >= 0).sum()) + 1)
    expected = forest.predict(graph, NODES)[np.arange(3), labels]
    assert (1 - doubt) * support.sum(axis=1) + doubt / 3 == pytest.approx(expected)


def test_a_regression_is_a_sum_over_the_labels_it_rests_on(graph):
    (model,) = Linear.fit(graph, (graph.y >= 0).numpy(), [10.0], seed=0, balanced=False)
    rows = graph.derived(model.columns.rows)[NODES].astype(np.float64)
    scores = rows @ model.coefficients
    for label in range(3):
        found = 10.0 * model.support(graph, NODES, np.full(3, label)).sum(axis=1)
        assert found == pytest.approx(scores[:, label], abs=2e-3)


@pytest.mark.parametrize("options", [{"backbone": "gpr"}, {"backbone": "sage", "predictor": "fcn"}])
def test_networks_compare_gradients(graph, options):
    config = Config(trials=2, hidden=4, **options)
    made = BACKBONES[config.backbone].create(Streams.from_seeds([5, 6]), (10, 4, 3), **config.options())
    member = Member("a", config.method, config, {name: 2 * each.detach() for name, each in made.weights.items()})
    labels = np.array([0, 2, 1])
    found = _of_networks(member, graph, NODES, labels)
    seen = graph if config.predicts_with_gnn else graph.null()
    weights = {name: weight.clone().requires_grad_() for name, weight in member.tensors.items()}
    logs = F.log_softmax(replace(member.network(), weights=weights)(graph.x, seen), dim=2)

    def gradient(trial, node, label):
        each = torch.autograd.grad(logs[trial, node, label], weights.values(), retain_graph=True, allow_unused=True)
        return torch.cat([one.flatten() for one in each if one is not None])

    labeled = torch.nonzero(graph.y >= 0)[:, 0].tolist()
    for row, (node, label) in enumerate(zip(NODES, labels, strict=True)):
        own = [gradient(trial, node, label) for trial in range(2)]
        for place, other in enumerate(labeled[:4]):
            products = [own[trial] @ gradient(trial, other, graph.y[other]) for trial in range(2)]
            assert found[row, place] == pytest.approx(float(sum(products)) / 2, rel=0.05, abs=5e-3)


def test_shares_sum_to_one_and_speak_for_the_class(graph):
    propagation = Member("label-propagation", "label-propagation", Config(), {})
    (forest,) = Forest.fit(graph, (graph.y >= 0).numpy(), [0.0], seed=0, balanced=False)
    model = mixture(graph, propagation, Member("random-forest", "random-forest", Config(), forest.tensors()))
    labels = model.probabilities(graph)[NODES].argmax(axis=1)
    shares = supports(model, graph, NODES, labels)
    assert shares.sum(axis=1) == pytest.approx(1)
    assert (shares >= 0).all()
    assert shares @ one_hot(graph) == pytest.approx(np.eye(3)[labels])
