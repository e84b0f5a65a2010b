"""What a batch keeps of its trials."""

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from graphmix import Config, ConfigError, Graph, GraphUNet, Split, fit, synthetic
from graphmix.method import f1
from graphmix.results.describe import scores


def rare_class_graph():
    """One class in ten nodes, told from the other by its features."""
    rng = np.random.default_rng(0)
    y = (np.arange(300) % 10 == 0).astype(np.int64)
    x = rng.normal(size=(300, 8)) + y[:, None]
    role = np.arange(300) // 10 % 3
    return Graph.build(x, rng.integers(0, 300, (2, 300)), y), Split.build(role == 0, role == 1, role == 2)


def test_the_test_f1_is_that_of_the_kept_networks():
    graph, split = synthetic(nodes=300, features=60, seed=2)
    done = fit(graph, split, Config.for_dataset("", trials=3, epochs=40), device="cpu")
    predicted = done.predict(graph)[:, split.test[0]]
    assert_close(done.test_f1, f1(predicted, graph.y[split.test[0]][None], graph.num_classes))
    assert_close(done.test_accuracy, (predicted == graph.y[split.test[0]]).float().mean(1))


@pytest.mark.parametrize("method", ["supervised", "graphmix"])
def test_an_epoch_can_be_chosen_by_macro_f1(method):
    graph, split = rare_class_graph()
    by_accuracy, by_f1 = (
        fit(graph, split, Config.for_dataset("", method=method, trials=4, epochs=60, select_by=by), device="cpu")
        for by in ("accuracy", "macro-f1")
    )
    assert torch.equal(by_accuracy.history.val_accuracy, by_f1.history.val_accuracy)
    assert not torch.equal(by_accuracy.best_epoch, by_f1.best_epoch)
    assert (by_f1.val_accuracy <= by_accuracy.val_accuracy).all()
    scores = [
        f1(done.predict(graph)[:, split.val[0]], graph.y[split.val[0]][None], 2).nanmean(1)
        for done in (by_accuracy, by_f1)
    ]
    assert (scores[1] >= scores[0]).all()
    assert (scores[1] > scores[0]).any()


@pytest.mark.parametrize("by", ["accuracy", "macro-f1", "loss"])
def test_a_trial_that_diverges_has_the_scores_of_what_it_predicts(by):
    graph, split = rare_class_graph()
    config = Config(method="supervised", trials=2, epochs=3, learning_rate=1e29, select_by=by)
    done = fit(graph, split, config, device="cpu")
    assert done.history.val_loss.isnan().all()
    assert done.best_epoch.tolist() == [0, 0]
    assert torch.equal(done.val_accuracy, done.history.val_accuracy[:, 0])
    assert torch.equal(done.test_accuracy, done.history.test_accuracy[:, 0])
    assert (done.val_score >= 0).all()


@pytest.mark.parametrize("method", ["graphmix", "fcn-self-training"])
def test_the_predictor_is_what_is_judged_scored_and_used(method):
    graph, split = synthetic(nodes=300, features=60, seed=2)
    configs = [Config.for_dataset("", method=method, trials=2, epochs=30, predictor=name) for name in ("gnn", "fcn")]
    gnn, fcn = (fit(graph, split, config, device="cpu") for config in configs)
    assert torch.equal(gnn.history.loss, fcn.history.loss)
    assert not torch.equal(gnn.history.val_accuracy, fcn.history.val_accuracy)
    test = split.test[0]
    for done in (gnn, fcn):
        predicted = done.predict(graph)[:, test]
        assert_close(done.test_accuracy, (predicted == graph.y[test]).float().mean(1))
        assert_close(done.test_f1, f1(predicted, graph.y[test][None], graph.num_classes))
    edgeless = fcn.predict(graph.null())
    assert torch.equal(fcn.predict(graph), edgeless)


def test_a_network_given_as_an_object_keeps_its_options():
    graph, split = synthetic(nodes=300, features=60, seed=2)
    config = Config.for_dataset("", trials=2, epochs=20)
    done = fit(graph, split, config, model=GraphUNet({}, pool_ratios=(0.3,), input_dropout=0.0), device="cpu")
    assert set(done.weights) == {"down0.weight", "down1.weight", "up0.weight", "pool1.weight"}
    test = split.test[0]
    assert_close(done.test_accuracy, (done.predict(graph)[:, test] == graph.y[test]).float().mean(1))
    assert "pool_ratios=(0.3,)" in done.network.description


def test_a_plain_module_is_no_model():
    graph, split = synthetic(nodes=100, features=30, seed=1)
    with pytest.raises(ConfigError, match=r"graphmix\.wrap\(module, mix_at=…\), not Linear"):
        fit(graph, split, Config(trials=1, epochs=2), model=torch.nn.Linear(3, 2), device="cpu")


def test_scores_name_the_rarest_class_that_is_there():
    graph = Graph.build(np.eye(6), [[0], [1]], [0, 0, 0, 2, 2, -1], num_classes=4, class_names=["a", "b", "c", "d"])
    class_f1 = torch.tensor([[0.5, torch.nan, 0.75, torch.nan]])
    written = scores(torch.tensor([0.5]), torch.tensor([0.25]), class_f1, graph)
    assert (written["rarest_class"], written["test_rarest_f1"].values) == ("c", (75.0,))
    means = [written[name].mean for name in ("test_macro_f1", "val_accuracy", "test_accuracy")]
    assert means == [62.5, 50.0, 25.0]
