"""Values on their way to other processes."""

import json

import pytest
import torch

from graphmix import Config, ConfigError, Task, synthetic
from graphmix.training.batch import Batch
from graphmix.training.loop import _fit_elsewhere
from graphmix.training.packing import forms_of, pack, unpack
from graphmix.training.trace import OutOfTimeError


def back(value):
    content, tensors = pack(value)
    assert [(tuple(each.shape), each.dtype) for each in tensors] == forms_of(content)
    return unpack(content, [each.clone() for each in tensors])


@pytest.mark.parametrize("choices", [{}, {"batch_nodes": 40}], ids=["full batch", "mini-batches"])
def test_a_task_comes_back_and_trains_the_same(choices):
    graph, split = synthetic(nodes=100, features=30, labels_per_class=4, seed=2)
    config = Config.for_dataset("", trials=2, epochs=6, hidden=8, **choices)
    task = Task.build(graph, split, config)
    there, same = back((task, config))
    assert same == config
    batches = [Batch(each, config, [0, 1]) for each in (task, there)]
    for epoch in range(6):
        for batch in batches:
            batch.advance(*batch.shape(epoch))
    assert torch.equal(batches[0].curves, batches[1].curves)


def test_what_is_the_same_stays_the_same():
    weight = torch.ones(2, 3)
    content, tensors = pack({"a": weight, "b": [weight, (weight, None, 1.5, "text", True)]})
    assert len(tensors) == 1
    held = unpack(content, tensors)
    assert held["a"] is held["b"][0] is held["b"][1][0]
    assert held["b"][1][1:] == (None, 1.5, "text", True)


def test_what_was_computed_besides_the_fields_is_left_behind():
    graph, _ = synthetic(nodes=100, features=30, seed=2)
    before = sum(each.numel() for each in pack(graph)[1])
    assert graph.propagation is not None
    assert sum(each.numel() for each in pack(graph)[1]) == before


def test_functions_and_errors_keep_their_kind():
    assert back(_fit_elsewhere) is _fit_elsewhere
    error = back(OutOfTimeError("the time limit was reached"))
    assert isinstance(error, OutOfTimeError)
    assert str(error) == "the time limit was reached"
    assert isinstance(back([ConfigError("no")])[0], ConfigError)


@pytest.mark.parametrize("value", [print, {1, 2}, torch.nn.Linear(1, 1)], ids=["function", "set", "module"])
def test_nothing_of_other_packages_is_sent(value):
    with pytest.raises(TypeError, match="not sent"):
        pack(value)


def test_nothing_of_other_packages_is_built():
    content = json.dumps([["function", "os", "system"], []]).encode()
    with pytest.raises(ValueError, match="os is not"):
        unpack(content, [])
