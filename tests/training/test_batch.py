"""What a batch keeps of its trials."""

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from graphmix import Config, Graph, Split, fit, synthetic
from graphmix.method import f1


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
