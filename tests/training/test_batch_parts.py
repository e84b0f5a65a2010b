"""Several samples in a step: their gradients are averaged."""

from dataclasses import replace

import pytest
import torch
from torch.testing import assert_close

from graphmix import Config, ConfigError, Streams, Task, fit, synthetic
from graphmix.training import team as teams
from graphmix.training.batch import Batch
from graphmix.training.division import check_parts, for_team
from graphmix.training.step import Moment, divided_loss, flip_coins, heads_first, unsupervised_weight
from graphmix.training.team import Order, Team, current, leading


def setup(**choices):
    graph, split = synthetic(nodes=150, features=30, labels_per_class=4, seed=3)
    usual = {"trials": 3, "epochs": 8, "hidden": 8, "batch_nodes": 40, "batch_fanout": 3, "rampup_start": 0}
    return graph, split, Config.for_dataset("", **(usual | choices))


def test_a_step_descends_along_the_mean_gradient_of_its_samples():
    graph, split, config = setup(batch_parts=3)
    task = Task.build(graph, split, config)
    epoch = 4
    batch = Batch(task, config, [0, 1, 2])
    for number in range(epoch):
        batch.advance(*batch.shape(number))
    weights = {name: weight.detach().clone().requires_grad_() for name, weight in batch.model.weights.items()}
    model = replace(batch.model, weights=weights)
    streams = Streams.from_seeds([0, 1, 2])
    coins = flip_coins(config, streams, config.epochs)[epoch]
    order, weight = (heads_first(coins), int(coins.sum())), unsupervised_weight(config, epoch)
    losses = [
        divided_loss(model, task.at(sample, config), config, streams, Moment(sample, weight), order)
        for sample in (12, 13, 14)
    ]
    assert len({each.sum().item() for each in losses}) == 3, "samples differ"
    torch.stack(losses).mean(dim=0).sum().backward()
    batch._optimizer.step = lambda: None
    batch.advance(*batch.shape(epoch))
    assert_close(batch.curves[0, epoch], torch.stack(losses).mean(dim=0).detach())
    for name, each in weights.items():
        assert_close(batch.model.weights[name].grad, each.grad)


def test_samples_of_a_step_have_different_nodes():
    graph, split, config = setup(batch_parts=2)
    seeds = Task.build(graph, split, config).parts.seeds
    labeled = set(split.train[0].nonzero()[:, 0].tolist())
    first, second = (set(seeds.at(sample).tolist()) - labeled for sample in (6, 7))
    assert not first & second


def test_a_trial_does_not_depend_on_the_others():
    graph, split, config = setup(batch_parts=2)
    together, apart = (fit(graph, split, config, device="cpu", chunk=chunk) for chunk in (3, 1))
    assert torch.equal(together.history.loss, apart.history.loss)
    assert torch.equal(together.weights["conv1.weight"], apart.weights["conv1.weight"])


def test_with_full_batches_parts_have_no_effect():
    graph, split, config = setup(batch_nodes=0)
    one, several = (fit(graph, split, each, device="cpu") for each in (config, replace(config, batch_parts=4)))
    assert torch.equal(one.history.loss, several.history.loss)


def test_a_team_has_a_sample_for_each_process():
    _, _, config = setup()
    assert current() is None
    assert for_team(config) is config
    with leading(Team(None, 0, 4)):
        assert for_team(config).batch_parts == 4
        assert for_team(replace(config, batch_parts=6)).batch_parts == 6
        assert for_team(replace(config, batch_nodes=0)).batch_parts == 1
    assert current() is None


def test_samples_are_divided_and_fewer_than_processes_are_refused():
    shares = [list(Team(None, rank, 3).share(7)) for rank in range(3)]
    assert sorted(each for share in shares for each in share) == list(range(7))
    check_parts(Config(batch_parts=3), 3)
    with pytest.raises(ConfigError, match="at least 3, the number of processes, not 2"):
        check_parts(Config(batch_parts=2), 3)


def test_a_process_that_fails_within_a_step_leaves_its_team(monkeypatch):
    # In the middle of a step the others wait for gradients, and no order would reach them.
    done = []
    monkeypatch.setattr(teams.dist, "broadcast", lambda head, root: done.append(Order(int(head[0]))))
    monkeypatch.setattr(teams.dist, "all_reduce", lambda tensor: None)
    monkeypatch.setattr(teams.dist, "destroy_process_group", lambda: done.append("left"))
    team = Team(None, 0, 2)
    team.order(Order.STEP)
    team.add_up([torch.zeros(2)])
    team.dismiss()
    team.order(Order.STEP)
    team.dismiss()
    assert done == [Order.STEP, Order.END, Order.STEP, "left"]
