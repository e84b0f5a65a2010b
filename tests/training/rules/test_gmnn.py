"""GMNN: the phases, the drawn classes, the targets and the losses of both networks."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from graphmix import Config, ConfigError, Streams, Task, build_model, build_optimizer, fit, make_split, synthetic
from graphmix.data import dual
from graphmix.streams import Purpose
from graphmix.training.rules.gmnn import DRAW, GMNN, PRETRAIN, TEACH, TRAIN_P, TRAIN_Q


def setup(own_splits=False, **choices):
    graph, split = synthetic(nodes=60, features=40, labels_per_class=3, seed=3)
    split = make_split("5-per-class", graph, [0, 1]) if own_splits else split
    chosen = {"method": "gmnn", "trials": 2, "input_dropout": 0.0, "pretraining": 2, "phase_epochs": 3}
    config = Config.for_dataset("", **(chosen | choices))
    task, streams = Task.build(graph, split, config), Streams.from_seeds([0, 1])
    model = build_model(task, config, streams)
    return GMNN(model, task, config, streams), model, task


def test_the_networks_take_turns():
    rule, *_ = setup()
    phases = [rule.phase(epoch) for epoch in range(12)]
    assert phases == [PRETRAIN] * 2 + [DRAW, TRAIN_P, TRAIN_P, TEACH, TRAIN_Q, TRAIN_Q, DRAW, TRAIN_P, TRAIN_P, TEACH]


@pytest.mark.parametrize("own_splits", [False, True])
def test_labels_stand_where_they_are_known(own_splits):
    rule, _, task = setup(own_splits)
    rule.draw(rule.streams.at(Purpose.DRAWN_LABELS, 5))
    rule.teach()
    for trial in range(2):
        picks = task.labeled.select(torch.tensor([trial]))
        nodes, labels = (each[0][: picks.count[0]] for each in (picks.index, picks.labels))
        for held in (rule.drawn, rule.targets):
            assert torch.equal(held[trial, nodes].argmax(1), labels)
            assert torch.equal(held[trial, nodes].amax(1), torch.ones(len(nodes)))
        unknown = torch.ones(60, dtype=torch.bool).index_fill(0, nodes, False)
        predicted = rule.second(rule.drawn, task.graph)[trial].softmax(1)
        assert_close(rule.targets[trial, unknown], predicted[unknown])
    assert_close(rule.drawn.sum(2), torch.ones(2, 60))
    assert set(rule.drawn.unique().tolist()) == {0.0, 1.0}


def test_classes_are_drawn_by_the_sharpened_predictions():
    rule, model, task = setup(temperature=0.5)
    with torch.no_grad():
        for weight in model.weights.values():
            weight *= 3
    counts = torch.zeros_like(rule.drawn)
    for epoch in range(400):
        rule.draw(rule.streams.at(Purpose.DRAWN_LABELS, epoch))
        counts += rule.drawn / 400
    expected = rule.known.over((model(task.x, task.graph) / 0.5).softmax(2).detach())
    assert (counts - expected).abs().max() < 0.12
    assert (counts - expected).abs().mean() < 0.02


def test_the_losses_of_both_networks():
    rule, model, task = setup()
    rule.draw(rule.streams.at(Purpose.DRAWN_LABELS, 5))
    rule.teach()
    spread = task.graph.propagation.to_dense()
    p, q = rule.loss(TRAIN_P, 7), rule.loss(TRAIN_Q, 7)
    for trial in range(2):
        first, second = (rule.second.weights[name][trial] for name in ("conv1.weight", "conv2.weight"))
        logits = spread @ (spread @ rule.drawn[trial] @ first).relu() @ second
        assert_close(p[trial], torch.nn.functional.cross_entropy(logits, rule.drawn[trial]))
        logits = model(task.x, task.graph)[trial]
        assert_close(q[trial], torch.nn.functional.cross_entropy(logits, rule.targets[trial]))
    assert not torch.equal(rule.second.weights["conv2.weight"], model.weights["conv2.weight"])


def test_a_turn_changes_its_own_network_and_begins_with_the_best_weights():
    rule, model, _ = setup(optimiser="rmsprop")
    rule.kept = {name: weight.detach() + 1 for name, weight in model.weights.items()}
    idle = build_optimizer(model, rule.config)
    before = rule.second.weights["conv1.weight"].clone()
    rule.update(DRAW, 2, idle)
    assert_close(model.weights["conv1.weight"], rule.kept["conv1.weight"])
    assert not torch.equal(rule.second.weights["conv1.weight"], before)
    before = rule.second.weights["conv1.weight"].clone()
    rule.update(TEACH, 5, idle)
    assert torch.equal(rule.second.weights["conv1.weight"], before)
    assert not torch.equal(model.weights["conv1.weight"], rule.kept["conv1.weight"])


def test_the_best_epoch_is_one_of_the_last_turn():
    graph, split = synthetic(nodes=150, features=60, labels_per_class=5, seed=1)
    config = Config.for_dataset("", method="gmnn", trials=3, epochs=30, pretraining=10, phase_epochs=10)
    assert (fit(graph, split, config, device="cpu").best_epoch >= 20).all()


def test_settings_and_refusals():
    cora, pubmed = (Config.for_dataset(name, method="gmnn") for name in ("cora", "pubmed"))
    assert (cora.epochs, cora.pretraining, cora.optimiser, cora.learning_rate) == (300, 100, "rmsprop", 0.05)
    assert (pubmed.epochs, pubmed.pretraining, pubmed.optimiser, pubmed.learning_rate) == (400, 200, "adam", 0.01)
    graph, split = synthetic(nodes=60, features=40, labels_per_class=3, seed=3)
    with pytest.raises(ConfigError, match="one product"):
        fit(graph, split, Config(method="gmnn", backbone="grand", trials=1, epochs=1), device="cpu")


def links():
    """Links whose class follows from the group of one end."""
    rng = np.random.Generator(np.random.PCG64(5))
    ends = rng.integers(0, 25, (2, 200))
    return dual(ends, 25, (ends.min(axis=0) < 8).astype(np.int64))


def test_links_are_classified_as_nodes_of_the_dual_graph():
    graph = links()
    split = make_split("random", graph, [0, 1], sizes=(60, 60, 60))
    config = Config.for_dataset("bitcoin-otc", method="gmnn", trials=2, epochs=60, pretraining=20, phase_epochs=20)
    assert (config.select_by, config.hidden, config.weight_decay) == ("macro-f1", 128, 0.0)
    together = fit(graph, split, config, device="cpu", chunk=2)
    assert (together.test_f1.nanmean(1) > 0.6).all()
    alone = fit(
        graph, make_split("random", graph, [1], sizes=(60, 60, 60)), replace(config, trials=1, seed=1), device="cpu"
    )
    assert_close(together.history.loss[1], alone.history.loss[0], rtol=1e-3, atol=1e-4)
    assert torch.equal(together.test_accuracy[1:], alone.test_accuracy)


def test_neighbours_of_links_are_links_that_share_an_end():
    graph = links()
    split = make_split("random", graph, [0, 1], sizes=(60, 60, 60))
    config = Config.for_dataset("bitcoin-otc", method="gmnn", trials=2, epochs=4)
    task, streams = Task.build(graph, split, config), Streams.from_seeds([0, 1])
    rule = GMNN(build_model(task, config, streams), task, config, streams)
    rule.draw(streams.at(Purpose.DRAWN_LABELS, 0))
    near = torch.eye(graph.num_nodes)
    near[tuple(graph.edge_index)] = 1
    scale = near.sum(1).rsqrt()
    spread = scale[:, None] * near * scale
    for trial in range(2):
        first, second = (rule.second.weights[f"{layer}.weight"][trial] for layer in ("conv1", "conv2"))
        expected = spread @ (spread @ rule.drawn[trial] @ first).relu() @ second
        assert_close(rule.second(rule.drawn, task.graph)[trial], expected, rtol=1e-3, atol=1e-4)
