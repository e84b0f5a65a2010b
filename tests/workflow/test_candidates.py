"""Candidates: what they predict of held-out labels, what is kept of it in files, and training on all labels."""

import time
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from graphmix.baselines import propagate
from graphmix.baselines.tabular import TABULAR
from graphmix.data import Graph, Split
from graphmix.data.folds import fold_split
from graphmix.errors import RunError
from graphmix.training.methods import METHODS
from graphmix.training.trace import OutOfTimeError, trace, train_for
from graphmix.workflow import candidates as module
from graphmix.workflow.candidates import DivergedError, hold_out, train
from graphmix.workflow.options import CANDIDATES
from graphmix.workflow.plan import Candidate, usual_config


def graph(nodes=40, classes=3):
    rng = np.random.default_rng(0)
    y = np.where(np.arange(nodes) < 30, np.arange(nodes) % classes, -1)
    x = rng.normal(size=(nodes, 5)) + np.eye(5)[np.arange(nodes) % classes]
    edges = np.stack([np.arange(nodes), (np.arange(nodes) + classes) % nodes])
    return Graph.build(x, edges, y, classes, normalise=False)


def candidate(method, **given):
    return Candidate(method, usual_config(graph(), method, **({"trials": 5, "epochs": 12, "hidden": 4} | given)))


def folds():
    return fold_split(graph(), 5)


@pytest.mark.parametrize("method", CANDIDATES)
def test_every_method_predicts_the_same_held_out_labels(method):
    tried = hold_out(candidate(method), graph(), folds(), device="cpu")
    np.testing.assert_array_equal(tried.nodes, np.arange(30))
    points = len(tried.points)
    assert tried.probabilities.shape == (points, 30, 3)
    assert tried.probabilities.dtype == np.float64
    np.testing.assert_allclose(tried.probabilities.sum(axis=2), 1, rtol=0, atol=1e-12)
    assert (tried.fcn is not None) == (METHODS[method].trains == "both")
    expected = TABULAR[method].points if method in TABULAR else (0,) if METHODS[method].baseline else (10, 12)
    assert tuple(tried.points) == tuple(expected)
    assert tried.seconds > 0


def test_label_propagation_and_models_of_tables_hold_out_as_networks_do():
    split, whole = folds(), graph()
    spread = hold_out(candidate("label-propagation"), whole, split)
    each = propagate(whole, split.train)
    linear = hold_out(candidate("logistic-regression"), whole, split)
    kind = TABULAR["logistic-regression"]
    for trial in range(5):
        nodes = split.val[trial].nonzero()[:, 0].numpy()
        np.testing.assert_allclose(spread.probabilities[0, nodes], each[trial, nodes], atol=1e-6)
        models = kind.fit(whole, split.train[trial].numpy(), kind.points, seed=trial, balanced=False)
        for place, fitted in enumerate(models):
            np.testing.assert_allclose(linear.probabilities[place, nodes], fitted.predict(whole, nodes), atol=1e-6)


def test_a_label_held_out_twice_has_the_mean():
    split = fold_split(graph(), 10)
    ten = hold_out(candidate("random-forest", trials=10), graph(), split)
    kind, node = TABULAR["random-forest"], 4
    trials = split.val[:, node].nonzero()[:, 0].tolist()
    assert len(trials) == 2
    single = []
    for trial in trials:
        (fitted,) = kind.fit(graph(), split.train[trial].numpy(), kind.points, seed=trial, balanced=False)
        single.append(fitted.predict(graph(), np.array([node]))[0])
    np.testing.assert_allclose(ten.probabilities[0, node], np.mean(single, axis=0), atol=1e-6)


def test_networks_are_traced():
    one = candidate("graphmix-steady")
    tried = hold_out(one, graph(), folds(), device="cpu")
    found = trace(graph(), folds(), one.config, device="cpu")
    np.testing.assert_allclose(tried.probabilities, found.probabilities, atol=1e-6)
    np.testing.assert_allclose(tried.fcn, found.fcn, atol=1e-6)


@pytest.mark.parametrize("method", ["label-propagation", "logistic-regression", "fcn", "graphmix-steady"])
def test_what_a_folder_holds_is_read(tmp_path, monkeypatch, method):
    first = hold_out(candidate(method), graph(), folds(), folder=tmp_path / "c", device="cpu")
    assert [path.name for path in (tmp_path / "c").iterdir()] == ["heldout.safetensors"]

    def never(*given, **named):
        raise AssertionError("trained again")

    monkeypatch.setattr(module, "_methods_trace", never)
    again = hold_out(candidate(method), graph(), folds(), folder=tmp_path / "c", device="cpu")
    for name in ("points", "nodes", "probabilities", "fcn"):
        np.testing.assert_array_equal(getattr(again, name), getattr(first, name))
    assert again.seconds == first.seconds


DAMAGES = {
    "a tensor is missing": lambda held: {name: held[name] for name in held if name != "points"},
    "other points": lambda held: held | {"points": held["points"][:-1].clone()},
    "other nodes": lambda held: held | {"nodes": held["nodes"] + 1},
    "fewer nodes": lambda held: {
        **held,
        "nodes": held["nodes"][1:].clone(),
        "probabilities": held["probabilities"][:, 1:].clone(),
    },
    "other classes": lambda held: held | {"probabilities": held["probabilities"][:, :, :2].clone()},
    "no number": lambda held: held | {"probabilities": held["probabilities"] * float("nan")},
    "another shape": lambda held: held | {"probabilities": held["probabilities"][0].clone()},
    "no seconds": lambda held: held | {"seconds": torch.zeros(0)},
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_file_that_no_fit_wrote_is_refused_in_one_sentence(tmp_path, damage):
    hold_out(candidate("fcn"), graph(), folds(), folder=tmp_path, device="cpu")
    path = tmp_path / "heldout.safetensors"
    save_file(DAMAGES[damage](load_file(path)), path)
    with pytest.raises(RunError, match=r"heldout\.safetensors is not what a fit wrote; delete it") as raised:
        hold_out(candidate("fcn"), graph(), folds(), folder=tmp_path, device="cpu")
    assert "\n" not in str(raised.value)


def test_half_a_file_is_refused_in_one_sentence(tmp_path):
    hold_out(candidate("fcn"), graph(), folds(), folder=tmp_path, device="cpu")
    path = tmp_path / "heldout.safetensors"
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(RunError, match=r"heldout\.safetensors") as raised:
        hold_out(candidate("fcn"), graph(), folds(), folder=tmp_path, device="cpu")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("method", ["supervised", "logistic-regression"])
def test_a_deadline_that_passed(tmp_path, method):
    with pytest.raises(OutOfTimeError):
        hold_out(candidate(method), graph(), folds(), folder=tmp_path / "c", deadline=time.monotonic() - 1)
    assert not (tmp_path / "c").exists()


def test_predictions_that_are_not_finite(tmp_path):
    wild = candidate("supervised", learning_rate=1e29)
    with pytest.raises(DivergedError, match="the loss of supervised became infinite; try a lower `learning_rate`"):
        hold_out(wild, graph(), folds(), folder=tmp_path / "c", device="cpu")
    assert not (tmp_path / "c").exists()
    with pytest.raises(DivergedError, match="the loss of supervised became infinite"):
        train(wild, graph(), graph().y >= 0, 12.0, folder=tmp_path, device="cpu")
    assert list(tmp_path.iterdir()) == []


def test_a_network_is_trained_on_all_labels_for_the_epochs_of_the_point(tmp_path, monkeypatch):
    one, labeled = candidate("graphmix-steady", epochs=30), graph().y >= 0
    trained, weights = train(one, graph(), labeled, 20.0, folder=tmp_path, device="cpu")
    assert trained.config == replace(one.config, epochs=20)
    assert (trained.config.rampup_start, trained.config.rampup_end) == (one.config.rampup_start, one.config.rampup_end)
    expected = train_for(graph(), labeled, trained.config, device="cpu")
    assert all(torch.equal(weights[name], expected[name]) for name in expected)
    monkeypatch.setattr(module, "train_for", None)
    again, read = train(one, graph(), labeled, 20.0, folder=tmp_path, device="cpu")
    assert again == trained
    assert all(torch.equal(weights[name], read[name]) for name in weights)


@pytest.mark.parametrize("method", TABULAR)
def test_a_model_of_tables_is_fitted_to_all_labels_at_the_point(method):
    kind, labeled = TABULAR[method], graph().y >= 0
    _, tensors = train(candidate(method), graph(), labeled, kind.points[-1])
    (expected,) = kind.fit(graph(), labeled.numpy(), kind.points[-1:], seed=0, balanced=False)
    found = kind.from_tensors(tensors, 5, 3)
    np.testing.assert_array_equal(found.predict(graph()), expected.predict(graph()))


def test_label_propagation_has_nothing_to_train():
    one = candidate("label-propagation")
    assert train(one, graph(), graph().y >= 0, 0.0) == (one, {})


def test_a_given_split_holds_out_its_validation_nodes_alone():
    part = torch.arange(40) % 4
    known = graph().y >= 0
    split = Split.build((part <= 1) & known, (part == 2) & known, (part == 3) & known, "given")
    for method in ("label-propagation", "random-forest", "supervised"):
        tried = hold_out(candidate(method, trials=2), graph(), split, device="cpu")
        np.testing.assert_array_equal(tried.nodes, split.val[0].nonzero()[:, 0])
