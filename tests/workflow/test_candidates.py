"""The candidates: what they are tried with, and what is left out when it cannot be tried."""

import numpy as np
import pytest
import torch

from graphmix.data import Graph, Split
from graphmix.errors import ConfigError, RunError
from graphmix.workflow.candidates import check_weights, try_methods, usual_config
from graphmix.workflow.options import CANDIDATES, check_methods


def graph(nodes=30, features=5, classes=3, weights=None):
    rng = np.random.default_rng(0)
    y = np.arange(nodes) % classes
    edges = np.stack([np.arange(nodes), (np.arange(nodes) + classes) % nodes])
    return Graph.build(rng.normal(size=(nodes, features)), edges, y, classes, weights=weights, normalise=False)


def split(nodes=30):
    part = torch.arange(nodes) % 4
    return Split.build(part <= 1, part == 2, part == 3, "given")


class Sized:
    """As much of a graph as the hyperparameters are chosen by."""

    def __init__(self, nodes, features, classes):
        self.num_nodes, self.num_features, self.num_classes = nodes, features, classes


@pytest.mark.parametrize(
    ("sizes", "trials", "epochs", "hidden", "dropout"),
    [
        ((100, 10, 2), 5, 2000, 16, 0.2),
        ((20_000, 200, 8), 5, 2000, 16, 0.2),
        ((40_000, 201, 9), 5, 1000, 64, 0.5),
        ((100_001, 201, 9), 3, 399, 64, 0.5),
        ((10_000_000, 1433, 7), 3, 200, 16, 0.5),
    ],
)
def test_the_usual_hyperparameters_by_size(sizes, trials, epochs, hidden, dropout):
    config = usual_config(Sized(*sizes))
    assert (config.trials, config.epochs, config.hidden, config.input_dropout) == (trials, epochs, hidden, dropout)
    assert config.ties == "last"


def test_what_is_given_wins():
    config = usual_config(Sized(100, 10, 2), epochs=7, hidden=3, alpha=None, seed=5, ties="first")
    assert (config.epochs, config.hidden, config.seed, config.ties, config.alpha) == (7, 3, 5, "first", 1.0)
    gat = usual_config(Sized(100, 10, 2), backbone="gat")
    assert (gat.hidden, gat.learning_rate, gat.hidden_dropout) == (8, 0.005, 0.2)
    assert usual_config(Sized(100, 10, 2), backbone="gat", hidden=4).hidden == 4
    with pytest.raises(ConfigError, match="`epochs` must be at least 1"):
        usual_config(Sized(100, 10, 2), epochs=0)


def test_methods_that_are_none():
    assert check_methods(["fcn", "graphmix", "fcn"]) == ("fcn", "graphmix")
    with pytest.raises(ConfigError, match="there is no method 'magic'; there are graphmix, supervised"):
        check_methods(["fcn", "magic"])
    with pytest.raises(ConfigError, match="at least one method is needed"):
        check_methods([])


def test_weights_need_a_network_that_uses_them():
    weighted = graph(weights=np.linspace(1, 2, 30))
    gat, gcn = (usual_config(weighted, backbone=name) for name in ("gat", "gcn"))
    with pytest.raises(ConfigError, match="gcn, gpr and sage only, not by gat"):
        check_weights(CANDIDATES, weighted, gat)
    check_weights(CANDIDATES, weighted, gcn)
    check_weights(("fcn", "label-propagation"), weighted, gat)
    check_weights(CANDIDATES, graph(), gat)


def test_every_candidate_is_judged_on_the_same_nodes(tmp_path):
    held = split()
    config = usual_config(graph(), trials=2, epochs=2, hidden=4)
    tried, failures = try_methods(CANDIDATES, graph(), held, config, tmp_path, device="cpu")
    assert failures == []
    assert [candidate.method for candidate in tried] == list(CANDIDATES)
    for candidate in tried:
        np.testing.assert_array_equal(candidate.held.nodes, held.val[0].nonzero()[:, 0])
        assert candidate.probabilities.shape == (1 if candidate.fit is None else 2, 30, 3)
        np.testing.assert_allclose(candidate.held.probabilities.sum(axis=1), 1)
    assert [candidate.method for candidate in tried if candidate.fcn_held is not None] == ["graphmix"]
    # A second time all is there already.
    again, _ = try_methods(CANDIDATES, graph(), held, config, tmp_path, device="cpu")
    for one, other in zip(tried, again, strict=True):
        assert torch.equal(one.probabilities, other.probabilities)


def test_what_diverges_is_left_out_and_said(tmp_path):
    wild = usual_config(graph(), trials=1, epochs=6, hidden=4, learning_rate=1e29)
    tried, failures = try_methods(("supervised", "label-propagation"), graph(), split(), wild, tmp_path, device="cpu")
    assert [candidate.method for candidate in tried] == ["label-propagation"]
    (said,) = failures
    assert "supervised was left out: the loss of supervised became infinite" in said
    with pytest.raises(RunError, match="supervised was left out"):
        try_methods(("supervised",), graph(), split(), wild, tmp_path, device="cpu")
