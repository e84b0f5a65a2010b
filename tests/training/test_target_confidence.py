"""Only confident targets: which nodes get one, and what the others add to the loss."""

from dataclasses import replace

import pytest
import torch
from torch.testing import assert_close

from graphmix import Config, ConfigError, Streams, Task, build_model, synthetic
from graphmix.training import Moment, predict_targets
from graphmix.training.step import self_training_loss

STILL = {"method": "self-training", "input_dropout": 0.0, "trials": 2, "epochs": 40, "rampup_start": 0, "rampup_end": 1}
EPOCH = 5


def small(**choices):
    graph, split = synthetic(nodes=120, features=30, labels_per_class=5, seed=1)
    config = Config(**(STILL | choices))
    task = Task.build(graph, split, config)
    streams = Streams.from_seeds(range(config.trials))
    return build_model(task, config, streams), task, config, streams


def test_nodes_below_the_confidence_have_no_target():
    model, task, config, streams = small()
    everyone = predict_targets(model, task, config, streams, EPOCH, task.unlabeled)
    # Without dropout all K passes are alike, so the mean prediction is that of one pass.
    confidence = task.unlabeled.of(model(task.x, task.graph).softmax(-1)).amax(-1)
    # Half way between two nodes, so that rounding decides nothing.
    ordered = confidence.flatten().sort().values
    gap = int((ordered[1:] - ordered[:-1]).argmax())
    level = ordered[gap : gap + 2].mean().item()
    sure = predict_targets(model, task, replace(config, target_confidence=level), streams, EPOCH, task.unlabeled)
    kept = confidence >= level
    assert 0 < kept.sum() < kept.numel()
    assert_close(sure[kept], everyone[kept])
    assert (sure[~kept] == 0).all()


def test_nodes_without_a_target_add_nothing_to_the_loss():
    model, task, config, streams = small(target_confidence=0.999)
    moment = Moment.at(config, EPOCH)
    assert moment.weight is not None
    labels_only = self_training_loss(model, task, replace(config, gamma=0.0), streams, Moment(EPOCH, None))
    assert_close(self_training_loss(model, task, config, streams, moment), labels_only)


def test_zero_gives_every_node_a_target():
    model, task, config, streams = small()
    assert config.target_confidence == 0
    targets = predict_targets(model, task, config, streams, EPOCH, task.unlabeled)
    assert_close(targets.sum(-1), torch.ones_like(targets[..., 0]))


def test_the_binary_loss_does_not_know_it():
    with pytest.raises(ConfigError, match="`target_confidence`"):
        Config(target_confidence=0.5, fcn_loss="binary-cross-entropy")
