"""Mini-batches: the tasks that steps are given, and training on them."""

from dataclasses import replace

import pytest
import torch
from torch.testing import assert_close

from graphmix import Config, ConfigError, Split, Streams, Task, build_model, fit, step_loss, synthetic
from graphmix.data import dual
from graphmix.models import BACKBONES
from graphmix.models.registry import NETWORKS
from graphmix.training.methods import METHODS
from graphmix.training.parts import Parts, Seeds

IN_PARTS = [name for name in BACKBONES if not NETWORKS[name].needs_whole]


def setup(**choices):
    graph, split = synthetic(nodes=200, features=40, labels_per_class=4, seed=3)
    usual = {"trials": 3, "epochs": 12, "hidden": 8, "batch_nodes": 60, "batch_fanout": 3}
    return graph, split, Config.for_dataset("", **(usual | choices))


def seeds_of(labeled, nodes, size, seed=0):
    train = torch.zeros(1, nodes, dtype=torch.bool)
    train[0, :labeled] = True
    return Seeds.of(train, Config(batch_nodes=size, seed=seed))


def test_all_labeled_nodes_are_in_every_batch_and_the_others_take_turns():
    seeds = seeds_of(labeled=4, nodes=34, size=10)
    drawn = [seeds.at(epoch) for epoch in range(10)]
    assert all(len(nodes) == 10 and nodes[:4].tolist() == [0, 1, 2, 3] for nodes in drawn)
    assert all((nodes.diff() > 0).all() for nodes in drawn)
    for first in (0, 5):
        turns = torch.cat([nodes[4:] for nodes in drawn[first : first + 5]])
        assert sorted(turns.tolist()) == list(range(4, 34)), "each once in five epochs"
    assert not torch.equal(drawn[0], drawn[5]), "then in another order"


def test_labeled_nodes_may_fill_a_batch_but_for_a_sixteenth():
    drawn = [seeds_of(labeled=30, nodes=90, size=32).at(epoch) for epoch in range(3)]
    assert all(nodes[:30].tolist() == list(range(30)) and len(nodes) == 32 for nodes in drawn)


def test_more_labeled_nodes_than_that_take_turns():
    seeds = seeds_of(labeled=60, nodes=100, size=32)
    drawn = [seeds.at(epoch) for epoch in range(2)]
    assert [int((nodes < 60).sum()) for nodes in drawn] == [30, 30]
    assert len(torch.cat([nodes[nodes < 60] for nodes in drawn]).unique()) == 60


@pytest.mark.parametrize("size", [2, 3, 17])
def test_a_step_has_a_node_of_each_kind(size):
    nodes = seeds_of(labeled=40, nodes=80, size=size).at(0)
    assert len(nodes) == size
    assert 0 < int((nodes < 40).sum()) < size


def test_a_batch_larger_than_the_graph_has_all_its_nodes():
    assert seeds_of(labeled=4, nodes=9, size=100).at(7).tolist() == list(range(9))


def test_seeds_are_a_function_of_the_seed_and_the_epoch():
    first, again, other = (seeds_of(4, 100, 20, seed) for seed in (1, 1, 2))
    again.at(0)
    assert torch.equal(first.at(50), again.at(50))
    assert not torch.equal(first.at(50), other.at(50))


def test_a_part_is_a_smaller_task_with_losses_of_its_seeds_alone():
    graph, split, config = setup()
    task = Task.build(graph, split, config)
    assert task.parts is not None
    part, seeds = task.at(5, config), task.parts.seeds.at(5)
    assert len(seeds) < part.graph.num_nodes < graph.num_nodes
    labeled = int(split.train.sum())
    assert part.labeled.count.tolist() == [labeled]
    assert part.unlabeled.count.tolist() == [60 - labeled]
    both = torch.cat([part.labeled.index, part.unlabeled.index], dim=1)
    # Features identify a node here: those of the seeds are the seeds' own.
    assert_close(part.x.to_dense()[both[0].sort().values], graph.x.to_dense()[seeds])
    assert torch.equal(part.labeled.labels.sort().values, task.labeled.labels.sort().values)


def test_a_task_without_mini_batches_is_its_own_part():
    graph, split, config = setup(batch_nodes=0)
    task = Task.build(graph, split, config)
    assert task.at(3, config) is task


@pytest.mark.parametrize("backbone", ["gcn", "gat", "sage"])
def test_with_all_nodes_and_neighbours_a_step_has_the_loss_of_the_full_batch(backbone):
    # Dropout belongs to places, and edges have other places in a part.
    none = {"input_dropout": 0.0} | ({"attention_dropout": 0.0} if backbone == "gat" else {})
    graph, split, config = setup(backbone=backbone, batch_nodes=200, batch_fanout=200, hidden_dropout=0.0, **none)
    whole = replace(config, batch_nodes=0)
    task, full = Task.build(graph, split, config), Task.build(graph, split, whole)
    streams = Streams.from_seeds(range(3))
    model = build_model(full, whole, streams)
    for epoch in (0, 8, 11):
        expected = step_loss(model, full, whole, streams, epoch)
        assert_close(step_loss(model, task.at(epoch, config), config, streams, epoch), expected)


@pytest.mark.parametrize("backbone", IN_PARTS)
@pytest.mark.parametrize("method", ["graphmix", "self-training"])
def test_every_backbone_trains_and_a_trial_in_a_batch_is_the_trial_alone(backbone, method):
    few = {"epochs": 8, "heads": 2, "layers": 2, "channels": 2, "routing_steps": 2}
    graph, split, config = setup(backbone=backbone, method=method, **few)
    together, apart = (fit(graph, split, config, device="cpu", chunk=chunk) for chunk in (3, 1))
    for name, weight in together.weights.items():
        assert torch.equal(weight, apart.weights[name])
    assert torch.equal(together.history.loss, apart.history.loss)
    assert together.history.loss.isfinite().all()


@pytest.mark.parametrize("method", [name for name, each in METHODS.items() if not each.baseline and each.rule is None])
def test_every_method_without_a_rule_trains(method):
    graph, split, config = setup(method=method)
    trained = fit(graph, split, config, device="cpu")
    assert trained.history.loss.isfinite().all()
    assert (trained.best_epoch < 12).all()


def test_with_one_split_per_trial_all_trials_share_the_samples():
    graph, split, config = setup()
    order = torch.stack([torch.randperm(200, generator=torch.Generator().manual_seed(trial)) for trial in range(3)])
    masks = [mask[0][order] for mask in (split.train, split.val, split.test)]
    several = Split(*masks)
    task = Task.build(graph, several, config)
    own = task.select(torch.tensor([1]))
    first, second = (each.at(2, config) for each in (task, own))
    assert torch.equal(first.graph.y, second.graph.y)
    assert torch.equal(first.graph.edge_index, second.graph.edge_index)
    assert torch.equal(first.labeled.count[1:2], second.labeled.count)
    together, apart = (fit(graph, several, config, device="cpu", chunk=chunk) for chunk in (3, 1))
    assert_close(together.weights["conv1.weight"], apart.weights["conv1.weight"], rtol=0, atol=0)


def test_training_on_parts_learns_as_much_as_on_the_whole():
    graph, split = synthetic(nodes=600, seed=1)
    full = Config.for_dataset("", trials=2, epochs=100, method="supervised")
    parts = replace(full, batch_nodes=200, batch_fanout=5)
    accuracies = [float(fit(graph, split, config, device="cpu").test_accuracy.mean()) for config in (full, parts)]
    assert accuracies[1] > accuracies[0] - 0.03


def test_an_fcn_needs_no_neighbours():
    graph, split, config = setup(method="fcn")
    part = Parts.of(graph, split.train, config).at(0)
    assert part.graph.num_nodes == 60
    assert part.graph.num_edges == 0


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        ({"batch_nodes": 1}, "at least 2"),
        ({"batch_nodes": -1}, "at least 0"),
        ({"batch_fanout": 0}, "at least 1"),
        ({"method": "grand"}, "whole graph"),
        ({"backbone": "unet"}, "pools"),
        ({"backbone": "monet"}, "degrees"),
        ({"method": "self-training", "target_every": 3}, "target_every"),
    ],
)
def test_what_cannot_be_done_in_parts_is_refused(choices, words):
    with pytest.raises(ConfigError, match=words):
        setup(**choices)


def links():
    ends = torch.randint(0, 30, (2, 120), generator=torch.Generator().manual_seed(0))
    graph = dual(ends, 30, torch.arange(120) % 2)
    train = torch.arange(120) < 20
    return graph, Split(train[None], (torch.arange(120) // 20 == 1)[None], (torch.arange(120) >= 40)[None])


def test_links_are_trained_on_in_parts_if_the_pairs_that_share_an_end_can_be_listed(monkeypatch):
    graph, split = links()
    config = Config(trials=1, epochs=4, batch_nodes=40, batch_fanout=2)
    assert fit(graph, split, config, device="cpu").history.loss.isfinite().all()
    monkeypatch.setattr("graphmix.training.parts.MOST_LISTED", 10)
    with pytest.raises(ConfigError, match="`batch_nodes` needs a list of edges"):
        fit(graph, split, config, device="cpu")


def test_targets_are_not_kept_with_mini_batches():
    assert Config.for_dataset("", method="graphmix-steady", batch_nodes=10).target_every == 1


def with_own_splits(**choices):
    """Trials with splits of their own, so few labels each that most parts have none of a trial's."""
    graph, _, config = setup(trials=6, batch_nodes=8, batch_fanout=2, **choices)
    picks = torch.stack([torch.randperm(200, generator=torch.Generator().manual_seed(seed)) for seed in range(6)])
    train, val, test = (
        torch.zeros(6, 200, dtype=torch.bool).scatter(1, part, True)
        for part in (picks[:, :4], picks[:, 4:60], picks[:, 60:])
    )
    return graph, Split(train, val, test), config


@pytest.mark.parametrize("method", ["graphmix", "graphmix-steady", "fcn-mixup", "fcn", "self-training"])
def test_a_part_may_have_no_label_of_a_trial(method):
    graph, split, config = with_own_splits(method=method, target_every=1)
    together, alone = (fit(graph, split, config, device="cpu", chunk=chunk) for chunk in (6, 1))
    assert together.history.loss.isfinite().all()
    assert all(weight.isfinite().all() for weight in together.weights.values())
    for name, weight in together.weights.items():
        assert torch.equal(weight, alone.weights[name])


def test_shares_and_weights_of_classes_are_those_of_all_labels():
    graph, split, config = with_own_splits(class_weight="balanced")
    task = Task.build(graph, split, config)
    part = task.at(3, config)
    assert torch.equal(part.label_shares, task.label_shares)
    wanted = (
        torch.nn.functional.one_hot(part.labeled.labels.clamp_min(0), graph.num_classes) * task.class_weights[:, None]
    )
    assert torch.equal(part.targets, wanted)


def test_a_batch_of_labeled_nodes_alone_is_full():
    assert len(seeds_of(labeled=95, nodes=100, size=20).at(0)) == 20
