"""GRAND's loss, term by term, and its published settings."""

import pytest
import torch
from torch.testing import assert_close

from graphmix import Config, ConfigError, Streams, Task, build_model, make_split, step_loss, synthetic
from graphmix.streams import Purpose
from graphmix.training.rules.grand import inconsistency


def test_the_distance_to_the_sharpened_mean_by_hand():
    predictions = torch.tensor([[[[0.6, 0.4]], [[0.8, 0.2]]]])
    # The mean is (0.7, 0.3), sharpened with T = 0.5: (0.49, 0.09) / 0.58.
    target = torch.tensor([0.49, 0.09]) / 0.58
    expected = ((predictions[0, :, 0] - target) ** 2).sum() / 2
    assert_close(inconsistency(predictions, 0.5), expected[None])


def test_no_gradient_flows_through_the_target():
    predictions = torch.tensor([[[[0.6, 0.4]], [[0.8, 0.2]]]], requires_grad=True)
    inconsistency(predictions, 0.5).sum().backward()
    target = torch.tensor([0.49, 0.09]) / 0.58
    assert_close(predictions.grad, predictions.detach() - target)


@pytest.mark.parametrize("own_splits", [False, True])
def test_the_loss_is_that_of_separate_passes(own_splits):
    graph, split = synthetic(nodes=120, features=60, labels_per_class=4, seed=3)
    split = make_split("5-per-class", graph, [0, 1]) if own_splits else split
    config = Config.for_dataset("", method="grand", trials=2, perturbations=3, gamma=0.7)
    task, streams = Task.build(graph, split, config), Streams.from_seeds([0, 1])
    model = build_model(task, config, streams)
    loss = step_loss(model, task, config, streams, 5)
    for trial in range(2):
        one = torch.tensor([trial])
        alone, own, part = model.select(one), task.select(one), streams.select(one)
        nodes, weight, labels = own.labeled.index[0], own.labeled.weight[0], own.labeled.labels[0]
        predictions, supervised = [], 0
        for copy in range(3):
            noise = part.copies(copy, copy + 1).at(Purpose.RANDOM_PROPAGATION, 5)
            logs = alone(own.x, own.graph, noise)[0].log_softmax(1)
            supervised = supervised - (logs[nodes].gather(1, labels.clamp_min(0)[:, None])[:, 0] * weight).sum() / 3
            predictions.append(logs.exp())
        mean = torch.stack(predictions).mean(0)
        sharp = mean**2 / (mean**2).sum(1, keepdim=True)
        apart = sum(((each - sharp) ** 2).sum(1).mean() for each in predictions) / 3
        assert_close(loss[trial], supervised + 0.7 * apart, rtol=1e-4, atol=1e-5)


def test_settings_are_the_published_ones():
    cora, citeseer, pubmed = (Config.for_dataset(name, method="grand") for name in ("cora", "citeseer", "pubmed"))
    names = ("backbone", "hops", "perturbations", "temperature", "gamma", "input_dropout", "hidden_dropout")
    assert [getattr(cora, name) for name in names] == ["grand", 8, 4, 0.5, 1.0, 0.5, 0.5]
    assert [getattr(citeseer, name) for name in names] == ["grand", 2, 2, 0.3, 0.7, 0.0, 0.2]
    assert [getattr(pubmed, name) for name in names] == ["grand", 5, 4, 0.2, 1.0, 0.6, 0.8]
    assert (pubmed.batch_norm, pubmed.learning_rate, cora.batch_norm) == (True, 0.2, False)
    with pytest.raises(ConfigError, match="`perturbations`"):
        Config(method="grand", perturbations=0)
