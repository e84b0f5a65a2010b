import pytest
import torch
from torch.testing import assert_close

from graphmix import Config, synthetic
from graphmix.data import Split
from graphmix.training.judging import judge
from graphmix.training.task import Task


def task_of(device, trials, own_splits):
    graph, split = synthetic(nodes=300, features=20, seed=1)
    if own_splits:
        masks = [
            torch.stack([mask[0].roll(7 * t) for t in range(trials)]) for mask in (split.train, split.val, split.test)
        ]
        # Trials with fewer nodes are padded.
        masks[1][1:, :150] = False
        split = Split(*masks)
    return Task.build(graph, split, Config.for_dataset("", trials=trials), device)


@pytest.mark.gpu
@pytest.mark.parametrize("own_splits", [False, True])
def test_networks_are_judged_the_same_on_every_device(own_splits):
    logits = torch.randn(4, 300, task_of("cpu", 4, own_splits).graph.num_classes)
    logits[2, 5:80] = float("nan")
    on_host, on_device = (judge(logits.to(device), task_of(device, 4, own_splits)) for device in ("cpu", "cuda"))
    assert torch.equal(on_device.val.cpu(), on_host.val)
    assert torch.equal(on_device.test.cpu(), on_host.test)
    for ours, theirs in zip(on_device[2:], on_host[2:], strict=True):
        assert_close(ours.cpu(), theirs, rtol=1e-5, atol=1e-6, equal_nan=True)


@pytest.mark.gpu
def test_a_trial_is_judged_as_it_is_alone():
    task = task_of("cuda", 4, own_splits=False)
    logits = torch.randn(4, 300, task.graph.num_classes, device="cuda")
    for ours, alone in zip(judge(logits, task), judge(logits[1:2], task), strict=True):
        assert torch.equal(ours[1:2], alone)


def test_accuracy_counts_right_predictions_and_loss_is_that_of_the_labels():
    task = task_of("cpu", 1, own_splits=False)
    sure = 50 * torch.nn.functional.one_hot(task.graph.y, task.graph.num_classes).float()[None]
    found = judge(sure, task)
    assert (found.val.item(), found.test.item()) == (1.0, 1.0)
    assert found.train_loss.item() < 1e-6
