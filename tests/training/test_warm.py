import pytest
import torch

from graphmix import Config, Task, fit, synthetic
from graphmix.training.batch import Batch
from graphmix.training.warm import cases, compile_kernels


@pytest.mark.parametrize(
    ("choices", "expected"),
    [
        ({}, [(2, False), (2, True), (0, False)]),
        ({"method": "supervised"}, [(0, False)]),
        ({"method": "self-training", "rampup_start": 0, "rampup_end": 1}, [(0, True)]),
        ({"optimisation": "joint"}, [(0, False), (0, True)]),
        ({"method": "fcn-mixup"}, [(2, False), (2, True)]),
    ],
)
def test_cases_are_what_epochs_of_a_run_do(choices, expected):
    config = Config.for_dataset("", **choices)
    assert cases(config) == expected
    graph, split = synthetic(nodes=120, features=20, seed=1)
    batch = Batch(Task.build(graph, split, config), config, list(range(config.trials)))
    assert {batch.shape(epoch)[1] for epoch in range(config.epochs)} == {needed for _, needed in expected}


@pytest.mark.parametrize("choices", [{}, {"backbone": "gat"}, {"method": "graphmix-steady"}])
def test_nothing_of_a_batch_changes(choices):
    graph, split = synthetic(nodes=120, features=20, seed=1)
    config = Config.for_dataset("", trials=3, epochs=30, rampup_start=5, rampup_end=10, **choices)
    task = Task.build(graph, split, config)
    batch = Batch(task, config, [0, 1, 2])
    before = {name: weight.detach().clone() for name, weight in batch.model.weights.items()}
    batch.compile_kernels()
    for name, weight in batch.model.weights.items():
        assert torch.equal(weight, before[name])
        assert weight.grad is None
    for epoch in range(config.epochs):
        batch.advance(*batch.shape(epoch))
    assert torch.equal(batch.curves[1].T, fit(graph, split, config).history.val_accuracy)


def test_an_error_of_a_part_is_not_hidden(monkeypatch):
    graph, split = synthetic(nodes=120, features=20, seed=1)
    config = Config.for_dataset("", trials=2, epochs=7)
    task = Task.build(graph, split, config)
    batch = Batch(task, config, [0, 1])
    monkeypatch.setattr("graphmix.training.warm._warm", set())
    monkeypatch.setattr("graphmix.training.warm.judge", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        compile_kernels(batch.model, task, config, batch._streams)


def test_a_method_with_its_own_step_has_no_such_cases():
    assert cases(Config(method="dropedge")) == []
