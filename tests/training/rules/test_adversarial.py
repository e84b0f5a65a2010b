"""VAT and BVAT against perturbations that are written out, found by autograd."""

import pytest
import torch
from torch.testing import assert_close

from graphmix import Config, ConfigError, Graph, Split, Streams, Task, build_model, fit, step_loss, synthetic
from graphmix.models.registry import BACKBONES, backbone_class
from graphmix.streams import Purpose
from graphmix.training.rules import bvat
from graphmix.training.rules.adversarial import Adversarial, divergence, entropy
from graphmix.training.rules.bvat import BVAT
from graphmix.training.rules.far_nodes import far_nodes
from graphmix.training.rules.vat import VAT

EPOCH = 3


def setup(**choices):
    graph, split = synthetic(nodes=60, features=40, labels_per_class=3, seed=3)
    chosen = {"trials": 2, "input_dropout": 0.0, "hidden_dropout": 0.0, "perturbation_probe": 0.1} | choices
    config = Config.for_dataset("", **chosen)
    task, streams = Task.build(graph, split, config), Streams.from_seeds([0, 1])
    return build_model(task, config, streams), task, config, streams


def logits_of(model, task, trial, x):
    spread = task.graph.propagation.to_dense()
    hidden = (spread @ x @ model.weights["conv1.weight"][trial]).relu()
    return spread @ hidden @ model.weights["conv2.weight"][trial]


def kl(clean, moved):
    p = clean.detach().softmax(1)
    return (p * (p.log() - moved.log_softmax(1))).sum(1).mean()


def unit(rows):
    return rows / rows.norm(dim=1, keepdim=True)


@pytest.mark.parametrize("iterations", [1, 2])
def test_the_loss_of_vat_is_that_of_a_perturbation_written_out(iterations):
    model, task, config, streams = setup(
        method="vat", power_iterations=iterations, perturbation_size=0.5, adversarial_weight=0.7, entropy_weight=0.2
    )
    loss = step_loss(model, task, config, streams, EPOCH)
    gradients = torch.autograd.grad(loss.sum(), list(model.weights.values()))
    x, width = task.x.to_dense(), model.weights["conv1.weight"].shape[2]
    start = streams.at(Purpose.PERTURBATION, EPOCH).uniform(60 * width).view(2, 60, width) * 2 - 1
    for trial in range(2):
        clean = logits_of(model, task, trial, x)
        direction = start[trial] @ model.weights["conv1.weight"][trial].detach().T
        for _ in range(iterations):
            step = (0.1 * unit(direction)).requires_grad_()
            (direction,) = torch.autograd.grad(kl(clean, logits_of(model, task, trial, x + step)), step)
        worst = 0.5 * unit(direction)
        labels = torch.nn.functional.cross_entropy(clean[task.labeled.index[0]], task.labeled.labels[0])
        p = clean.softmax(1)
        expected = (
            labels + 0.7 * kl(clean, logits_of(model, task, trial, x + worst)) - 0.2 * (p * p.log()).sum(1).mean()
        )
        assert_close(loss[trial], expected)
        own = torch.autograd.grad(expected, list(model.weights.values()))
        for ours, theirs in zip(gradients, own, strict=True):
            assert_close(ours[trial], theirs[trial], rtol=1e-3, atol=1e-6)


def test_the_optimised_form_is_adam_on_the_perturbations():
    model, task, config, streams = setup(method="bvat", adversarial_weight=2.0)
    rule = BVAT(model, task, config, streams)
    clean, _ = rule.clean(EPOCH)
    noise = streams.at(Purpose.PERTURBED_DROPOUT, EPOCH)
    added = rule.optimise(clean.detach(), EPOCH, noise)
    start = streams.at(Purpose.PERTURBATION, EPOCH).bell(2400).view(2, 60, 40) * 0.01
    assert abs(start.std().item() - 0.01) < 5e-4
    for trial in range(2):
        free = start[trial].clone().requires_grad_()
        optimizer = torch.optim.Adam([free], lr=1e-3)
        for _ in range(10):
            moved = logits_of(model, task, trial, task.x.to_dense() + free)
            optimizer.zero_grad()
            (0.5 * free.square().sum() - kl(clean[trial], moved)).backward()
            optimizer.step()
        assert_close(added[trial], free.detach(), rtol=1e-3, atol=1e-5)


def test_nodes_drawn_far_apart_are_far_apart():
    graph, _ = synthetic(nodes=400, features=40, labels_per_class=3, degree=2.0, seed=3)
    drawn = far_nodes(Streams.from_seeds(range(3)).at(Purpose.FAR_NODES), graph.edge_index, 400, 100)
    near = torch.eye(400)
    near[tuple(graph.edge_index)] = 1
    near = torch.linalg.matrix_power(near, 4) > 0
    assert (drawn.count > 5).all()
    for trial in range(3):
        index = drawn.index[trial][: drawn.count[trial]]
        among = near[index][:, index]
        assert torch.equal(among, torch.eye(len(index), dtype=torch.bool))
        # As many as fit, unless there are too many.
        assert near[index].any(0).float().mean() > 0.95
    assert_close(drawn.weight.sum(1), torch.ones(3))
    few = far_nodes(Streams.from_seeds(range(3)).at(Purpose.FAR_NODES), graph.edge_index, 400, 4)
    assert torch.equal(few.index, drawn.index[:, :4])


def test_the_sampled_form_counts_drawn_nodes_alone():
    model, task, config, streams = setup(method="bvat", bvat_form="sampled", perturbed_nodes=2, perturbation_size=0.5)
    rule = BVAT(model, task, config, streams)
    clean, labels = rule.clean(EPOCH)
    nodes = far_nodes(streams.at(Purpose.FAR_NODES, EPOCH), task.graph.edge_index, 60, 2)
    noise = streams.at(Purpose.PERTURBED_DROPOUT, EPOCH)
    left = rule.virtual(clean, EPOCH, noise, nodes)
    moved = rule.perturbed(rule.low_rank(left), noise)
    p, q = (nodes.of(each).softmax(2) for each in (clean, moved))
    mean = ((p * (p / q).log()).sum(2) * nodes.weight).sum(1)
    expected = labels + config.adversarial_weight * mean + config.entropy_weight * entropy(clean)
    assert_close(step_loss(model, task, config, streams, EPOCH), expected, rtol=1e-3, atol=1e-5)


def test_perturbations_have_the_length_and_are_worse_than_random_ones():
    model, task, config, streams = setup(method="vat", perturbation_size=0.3)
    rule = VAT(model, task, config, streams)
    clean, _ = rule.clean(EPOCH)
    noise = streams.at(Purpose.PERTURBED_DROPOUT, EPOCH)
    left = rule.virtual(clean, EPOCH, noise)
    written = left @ model.weights["conv1.weight"].detach().mT
    assert_close(written.norm(dim=2), torch.full((2, 60), 0.3))
    chance = rule.with_length(torch.randn(left.shape, generator=torch.Generator().manual_seed(0)), 0.3)
    worst, random = (divergence(clean, rule.perturbed(rule.low_rank(each), noise)) for each in (left, chance))
    assert (worst > random).all()


def test_what_cannot_be_perturbed_is_refused(monkeypatch):
    graph, split = synthetic(nodes=60, features=40, labels_per_class=3, seed=3)
    for method in ("vat", "bvat"):
        with pytest.raises(ConfigError, match=r"in one product, gcn, .* or disengcn, not grand"):
            fit(graph, split, Config(method=method, backbone="grand", trials=1, epochs=1), device="cpu")
    monkeypatch.setattr(bvat, "_MOST_WRITTEN", 10)
    with pytest.raises(ConfigError, match="bvat_form='sampled'"):
        fit(graph, split, Config(method="bvat", trials=1, epochs=1), device="cpu")
    with pytest.raises(ConfigError, match="`perturbation_size` must be above 0"):
        Config(method="vat", perturbation_size=0)


@pytest.mark.parametrize("backbone", [name for name in BACKBONES if backbone_class(name).reads_x_once])
def test_a_probe_finds_the_gradient_of_every_network_that_allows_it(backbone):
    graph, split = synthetic(nodes=30, features=20, labels_per_class=2, seed=3)
    dense = Graph.build(graph.x.to_dense(), graph.edge_index, graph.y)
    config = Config(
        method="vat", backbone=backbone, trials=1, input_dropout=0.0, attention_dropout=0.0, propagation_dropout=0.0
    )
    task, streams = Task.build(dense, Split(split.train, split.val, split.test), config), Streams.from_seeds([0])
    model = build_model(task, config, streams)

    class Plain(Adversarial):
        def loss(self, phase, epoch):
            raise NotImplementedError

    noise = streams.at(Purpose.PERTURBED_DROPOUT)
    left = Plain(model, task, config, streams).steepest(lambda logits: logits[..., 0].sum(1), noise)
    x = task.x.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(model(x, task.graph)[..., 0].sum(), x)
    assert_close(left[0] @ model.first_weight(task.graph)[0].detach().T, gradient, rtol=1e-3, atol=1e-5)
