"""GraphSGAN: its inputs, its networks and both losses against torch's layers."""

from inspect import signature

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch.testing import assert_close

from graphmix import (
    Config,
    ConfigError,
    DataError,
    Graph,
    Streams,
    Task,
    build_model,
    build_optimizer,
    step_loss,
    synthetic,
)
from graphmix.models.sgan import EMBEDDING, SGAN, _largest, elu, inputs
from graphmix.streams import Purpose
from graphmix.training.rules import graphsgan
from graphmix.training.rules.graphsgan import GraphSGAN, pull_away


def setup(**choices):
    graph, split = synthetic(nodes=60, features=40, labels_per_class=3, seed=3)
    config = Config.for_dataset("", method="graphsgan", trials=2, **({"hidden": 12} | choices))
    task, streams = Task.build(graph, split, config), Streams.from_seeds([0, 1])
    model = build_model(task, config, streams)
    return GraphSGAN(model, task, config, streams), model, task, config, streams


def test_the_input_is_fused_features_and_an_embedding():
    graph = Graph.build([[2.0, 0], [0, 4.0], [0, 6.0]], [[0], [1]], [0, 1, 0], normalise=False)
    rows = inputs(graph)
    # The mean of the non-zeros is 4. The last node has no neighbours.
    assert_close(rows[:, :2], torch.tensor([[0.25, 0.5], [0.25, 0.5], [0.0, 1.5]]))
    assert rows.shape == (3, 2 + EMBEDDING)
    assert (rows[:2, 2:].abs().amax(), rows[2, 2:].abs().sum()) == (1, 0)
    assert_close(inputs(graph.null())[:, 2:], torch.zeros(3, EMBEDDING))


def test_the_embedding_brings_neighbours_together():
    blocks = [(i, j) for start in (0, 8) for i in range(start, start + 8) for j in range(i) if j >= start]
    graph = Graph.build(np.eye(16), np.array(blocks).T, [0] * 8 + [1] * 8)
    rows = inputs(graph)[:, 16:]
    cosines = torch.nn.functional.cosine_similarity(rows[:, None], rows[None], dim=2)
    assert cosines[:8, :8].mean() > cosines[:8, 8:].mean() + 0.1


@pytest.mark.parametrize("nodes", [80, 700])
def test_the_embedding_is_the_same_each_time_and_its_signs_are_chosen(nodes):
    # Thin, so that there are components and single nodes; 700 nodes take the path of large graphs.
    graph, _ = synthetic(nodes=nodes, degree=1.0, features=20, labels_per_class=3, seed=5)
    first, again = (inputs(graph)[:, -EMBEDDING:] for _ in range(2))
    assert_close(first, again)
    lonely = torch.bincount(graph.edge_index[0], minlength=nodes) == 0
    assert lonely.any()
    assert (first[lonely] == 0).all()
    lengths = first.abs().amax(dim=0)
    assert_close(lengths[lengths > 0], torch.ones(int((lengths > 0).sum())))


def test_the_embedding_of_equal_components_is_the_same_each_time():
    # Their eigenvalues are equal, so the solver runs out of directions and draws new ones.
    if "rng" not in signature(sp.linalg.eigsh).parameters:
        pytest.skip("this scipy cannot fix what it draws")
    one, two, three = np.arange(600).reshape(200, 3).T
    edges = np.concatenate([[one, two], [two, three], [one, three]], axis=1)
    graph = Graph.build(np.ones((600, 1)), edges, np.arange(600) % 2)
    first, *others = (inputs(graph) for _ in range(4))
    assert all(torch.equal(first, each) for each in others)


def test_the_factors_are_singular_vectors_with_a_positive_largest_number():
    dense = np.random.default_rng(0).random((30, 30))
    matrix = sp.csr_array(dense + dense.T - 1)
    values, vectors = _largest(matrix, 12)
    assert_close(abs(values), np.linalg.svd(matrix.toarray(), compute_uv=False)[:12])
    assert_close(matrix @ vectors, vectors * values)
    assert (vectors[abs(vectors).argmax(axis=0), np.arange(12)] > 0).all()


def test_a_pair_of_nodes_has_two_factors():
    values, vectors = _largest(sp.csr_array(np.array([[0.0, 2, 0], [2, 0, 0], [0, 0, 0]])), 2)
    assert_close(values, np.array([2.0, -2.0]))
    assert_close(vectors, np.array([[1, 1], [1, -1], [0, 0]]) / 2**0.5)


def test_the_classifier_is_five_layers_with_weight_norm():
    _, model, task, *_ = setup()
    values = inputs(task.graph)
    for trial in range(2):
        hidden = values
        for layer in range(1, 6):
            weight = model.weights[f"layer{layer}.weight"][trial]
            hidden = torch.nn.functional.elu(
                hidden @ (weight / weight.norm(dim=0)) + model.weights[f"layer{layer}.bias"][trial]
            )
        weight = model.weights["final.weight"][trial]
        logits = hidden @ (weight / weight.norm(dim=0)) * model.weights["final.scale"][trial]
        assert_close(model(task.x, task.graph)[trial], logits + model.weights["final.bias"][trial])
    assert isinstance(model, SGAN)
    assert model.features == 40
    assert [model.weights[f"layer{layer}.weight"].shape[2] for layer in range(1, 6)] == [12, 12, 6, 6, 6]


def test_elu_is_torchs():
    values = torch.linspace(-3, 3, 100, requires_grad=True)
    ours, theirs = elu(values), torch.nn.functional.elu(values)
    assert_close(ours, theirs)
    assert_close(*(torch.autograd.grad(each.sum(), values)[0] for each in (ours, theirs)))


def test_the_pull_away_term_by_hand():
    rows = torch.tensor([[[1.0, 0.0], [0.0, 2.0], [3.0, 3.0]]])
    # Cosines: 0, √½ and √½; every pair counts twice among six.
    assert_close(pull_away(rows), torch.tensor([(0 + 0.5 + 0.5) * 2 / 6]))


def noises(streams):
    return streams.at(Purpose.GAME_BATCHES, 4), streams.at(Purpose.GAME_NOISE, 4)


def test_the_losses_term_by_term():
    rule, model, task, _, streams = setup()
    (drawn, noise), (same, twin) = noises(streams), noises(streams)
    loss = rule.classifier_loss(drawn, noise)
    labeled, place = rule.batch(task.labeled, same)
    unlabeled, _ = rule.batch(task.unlabeled, same)
    made = rule.generator(same)
    first, (hidden, second), third = (model.run(each, twin) for each in (labeled, unlabeled, made))
    for trial in range(2):
        labels = task.labeled.labels[0][place[trial]]
        supervised = torch.nn.functional.cross_entropy(first[1][trial], labels)
        real, fake = (logits[trial].exp().sum(1) for logits in (second, third[1]))
        unsupervised = -(real / (1 + real)).log().mean() - (1 / (1 + fake)).log().mean()
        p = second[trial].softmax(1)
        total = supervised + 0.25 * unsupervised - (p * p.log()).mean() + pull_away(hidden)[trial]
        assert_close(loss[trial], total, rtol=1e-4, atol=1e-5)
    loss = rule.generator_loss(drawn, noise)
    unlabeled, _ = rule.batch(task.unlabeled, same)
    made, real = (model.run(each, twin)[0] for each in (rule.generator(same), unlabeled))
    assert_close(loss, (made.mean(1) - real.mean(1)).abs().mean(1) + pull_away(made))


def test_drawn_labels_are_those_of_labeled_nodes_and_made_nodes_are_in_range():
    rule, _, task, _, streams = setup()
    drawn, _ = noises(streams)
    rows, place = rule.batch(task.labeled, drawn)
    assert torch.equal(rows[1], inputs(task.graph)[task.labeled.index[0][place[1]]])
    made = rule.generator(drawn)
    assert made.shape == rows.shape == (2, graphsgan.BATCH, 40 + EMBEDDING)
    assert made.abs().max() <= 1


def test_both_networks_are_trained(monkeypatch):
    monkeypatch.setattr(graphsgan, "STEPS", 1)
    rule, model, _, config, _ = setup()
    before = [weight.detach().clone() for weight in (*model.parameters(), *rule.generator.parameters())]
    rule.update(0, 3, build_optimizer(model, config))
    after = [*model.parameters(), *rule.generator.parameters()]
    assert all(not torch.equal(old, new) for old, new in zip(before, after, strict=True))


def test_its_network_is_its_own():
    _, model, task, config, streams = setup()
    assert step_loss(model, task, config, streams, 2).shape == (2,)
    assert Config(method="graphsgan").backbone == "sgan"
    for choices in ({"method": "graphsgan", "backbone": "gat"}, {"method": "graphmix", "backbone": "sgan"}):
        with pytest.raises(ConfigError, match="graphsgan trains a network of its own"):
            Config(**choices)


def test_a_graph_without_unlabeled_nodes_is_refused():
    _, _, task, config, streams = setup()
    none = torch.zeros(1, task.graph.num_nodes, dtype=torch.bool)
    whole = Task.of_masks(task.graph, config, "cpu", train=~none, val=none, test=none)
    with pytest.raises(DataError, match="unlabeled nodes"):
        GraphSGAN(build_model(whole, config, streams), whole, config, streams)
