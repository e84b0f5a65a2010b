"""The plan of a fit: who is tried, in which order, with which hyperparameters."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from graphmix.data import Graph
from graphmix.errors import ConfigError
from graphmix.training import devices
from graphmix.training.methods import METHODS, fit_methods
from graphmix.workflow import plan as planning
from graphmix.workflow.options import CANDIDATES, check_methods
from graphmix.workflow.plan import AUTO_BACKBONES, Candidate, epoch_notes, in_memory, make_plan, usual_config


def graph(nodes=30, features=5, classes=3, weights=None):
    rng = np.random.default_rng(0)
    y = np.arange(nodes) % classes
    edges = np.stack([np.arange(nodes), (np.arange(nodes) + classes) % nodes])
    return Graph.build(rng.normal(size=(nodes, features)), edges, y, classes, weights=weights, normalise=False)


class Sized:
    """As much of a graph as the hyperparameters are chosen by."""

    edge_weights = None
    x = torch.zeros(1)
    num_propagated = 0

    def __init__(self, nodes, features, classes):
        self.num_nodes, self.num_features, self.num_classes = nodes, features, classes


def test_auto_tries_networks_of_three_kinds_and_cheap_methods_first():
    names = [candidate.name for candidate in make_plan(graph(), fit_methods(), {})]
    assert names == [
        "label-propagation",
        "logistic-regression",
        "random-forest",
        "fcn",
        "supervised-gpr",
        "graphmix-steady-gpr",
        "graphmix-steady-sage",
        "graphmix-steady-gcn",
    ]
    assert [each.name for each in make_plan(graph(), fit_methods(), {"backbone": "auto"})] == names
    assert len(set(names)) == len(names)


def test_with_many_features_the_gcn_is_left_out_unless_named():
    wide = graph(nodes=1200, features=900)
    assert "graphmix-steady-gcn" not in [each.name for each in make_plan(wide, fit_methods(), {})]
    assert "graphmix-steady-gcn" in [each.name for each in make_plan(wide, fit_methods(), {"backbone": "gcn"})]
    mostly_zero = replace(wide, x=wide.x * (wide.x > 2))
    assert "graphmix-steady-gcn" in [each.name for each in make_plan(mostly_zero, fit_methods(), {})]
    (alone,) = make_plan(wide, ("graphmix-steady",), {"backbone": "gcn"})
    assert alone.config.backbone == "gcn"


def test_a_network_that_is_named_is_the_only_one():
    plan = make_plan(graph(), fit_methods(), {"backbone": "gcn"})
    assert [each.name for each in plan] == [
        "label-propagation",
        "logistic-regression",
        "random-forest",
        "fcn",
        "supervised-gcn",
        "graphmix-steady-gcn",
    ]


@pytest.mark.parametrize("method", CANDIDATES)
def test_a_method_that_is_asked_for_alone_is_one_candidate(method):
    (only,) = make_plan(graph(), (method,), {})
    assert only.method == method
    if METHODS[method].trains_gnn:
        assert (only.name, only.config.backbone) == (f"{method}-{AUTO_BACKBONES[0]}", AUTO_BACKBONES[0])
    else:
        assert only.name == method
    if not METHODS[method].baseline:
        assert only.config.method == method
    (named,) = make_plan(graph(), (method,), {"backbone": "gat"})
    assert named.config.backbone == "gat"


def test_given_hyperparameters_are_everybodys_and_none_is_not_given():
    plan = make_plan(graph(), fit_methods(), {"epochs": 7, "hidden": 3, "seed": 5, "alpha": None, "class_weight": None})
    for candidate in plan:
        config = candidate.config
        assert (config.epochs, config.hidden, config.seed, config.alpha) == (7, 3, 5, 1.0)
    with pytest.raises(ConfigError, match="`epochs` must be at least 1"):
        make_plan(graph(), ("fcn",), {"epochs": 0})
    with pytest.raises(ConfigError, match="`backbone` must be one of"):
        make_plan(graph(), ("supervised",), {"backbone": "magic"})


def test_edge_weights_need_a_network_that_uses_them():
    weighted = graph(weights=np.linspace(1, 2, 30))
    with pytest.raises(ConfigError, match=r"gcn, gpr, .* only, not by gat"):
        make_plan(weighted, CANDIDATES, {"backbone": "gat"})
    assert len(make_plan(weighted, CANDIDATES, {})) > len(CANDIDATES)
    # Methods without a network on the graph do not ask.
    without = [name for name in CANDIDATES if not METHODS[name].trains_gnn]
    assert make_plan(weighted, without, {"backbone": "gat"})
    assert make_plan(graph(), CANDIDATES, {"backbone": "gat"})


@pytest.mark.parametrize(
    ("sizes", "trials", "epochs", "hidden", "dropout"),
    [
        ((100, 10, 2), 5, 400, 32, 0.2),
        ((20_000, 200, 8), 5, 400, 32, 0.2),
        ((40_000, 201, 9), 5, 200, 64, 0.0),
        ((100_000, 201, 9), 5, 100, 64, 0.0),
        ((100_001, 201, 9), 3, 100, 64, 0.0),
        ((10_000_000, 1433, 7), 3, 100, 32, 0.0),
    ],
    ids=str,
)
def test_the_usual_hyperparameters_by_size(sizes, trials, epochs, hidden, dropout):
    for method in ("supervised", "graphmix-steady", "fcn"):
        config = usual_config(Sized(*sizes), method)
        assert (config.trials, config.epochs, config.hidden, config.input_dropout) == (trials, epochs, hidden, dropout)
    # All trials of all candidates hold out the same labels.
    assert len({each.config.trials for each in make_plan(Sized(*sizes), fit_methods(), {})}) == 1


def test_the_papers_graphmix_trains_as_the_paper_does():
    config = usual_config(Sized(100, 10, 2), "graphmix")
    assert (config.epochs, config.hidden, config.hidden_dropout, config.temperature) == (2000, 16, 0.0, 0.1)
    # Without any dropout the passes averaged into a target would all be the same.
    assert [usual_config(Sized(100, features, 2), "graphmix").input_dropout for features in (200, 201)] == [0.2, 0.5]
    assert usual_config(Sized(40_000, 10, 2), "graphmix").epochs == 1000
    assert usual_config(Sized(100, 10, 2), "graphmix", epochs=50, hidden=4).epochs == 50


def test_what_is_given_wins():
    config = usual_config(Sized(100, 10, 2), "supervised", epochs=7, hidden=3, alpha=None, seed=5, ties="last")
    assert (config.epochs, config.hidden, config.seed, config.ties, config.alpha) == (7, 3, 5, "last", 1.0)
    gat = usual_config(Sized(100, 10, 2), "supervised", backbone="gat")
    assert (gat.hidden, gat.learning_rate, gat.hidden_dropout) == (8, 0.005, 0.5)
    assert usual_config(Sized(100, 10, 2), "supervised", backbone="gat", hidden=4).hidden == 4
    steady = usual_config(Sized(100, 10, 2), "graphmix-steady", temperature=0.9, target_confidence=0.1)
    assert (steady.temperature, steady.target_confidence, steady.joint_weight) == (0.9, 0.1, 0.3)
    with pytest.raises(ConfigError, match="`epochs` must be at least 1"):
        usual_config(Sized(100, 10, 2), "supervised", epochs=0)
    with pytest.raises(ConfigError, match="there is no method 'magic'"):
        usual_config(Sized(100, 10, 2), "magic")


@pytest.mark.parametrize(("classes", "confidence"), [(2, 0.9), (3, 2 / 3), (4, 0.5), (40, 0.5)])
def test_a_target_needs_more_confidence_where_there_are_fewer_classes(classes, confidence):
    for method in ("graphmix-steady", "self-training"):
        config = usual_config(Sized(100, 10, classes), method)
        assert config.target_confidence == pytest.approx(confidence)
    assert usual_config(Sized(100, 10, classes), "graphmix").target_confidence == 0


def test_self_training_is_as_gentle_as_steady_graphmix():
    names = ("temperature", "perturbations", "target_confidence", "target_alignment", "target_every")
    both = [usual_config(Sized(100, 10, 3), method) for method in ("self-training", "graphmix-steady")]
    assert [getattr(both[0], name) for name in names] == [getattr(both[1], name) for name in names]


def test_without_edges_all_networks_are_one():
    assert usual_config(Sized(100, 10, 3), "fcn").backbone == "gcn"
    assert usual_config(Sized(100, 10, 3), "fcn", backbone="sage").backbone == "gcn"
    assert usual_config(Sized(100, 10, 3), "fcn", backbone="gat").backbone == "gat"


def test_what_a_result_depends_on_is_json():
    candidate = Candidate("supervised", usual_config(graph(), "supervised", seed=3))
    described = candidate.to_json()
    assert described["method"] == "supervised"
    assert described["config"] == candidate.config.to_dict()


def test_few_epochs_of_the_papers_graphmix_are_warned_of():
    few = make_plan(graph(), ("graphmix", "graphmix-steady", "supervised"), {"epochs": 20})
    assert all("epochs" in note for note in epoch_notes(few))
    assert epoch_notes(few)
    assert epoch_notes(make_plan(graph(), ("graphmix",), {})) == []
    assert epoch_notes(make_plan(graph(), ("graphmix-steady", "supervised"), {"epochs": 20})) == []


def test_methods_that_are_none():
    assert check_methods(["fcn", "graphmix", "fcn"]) == ("fcn", "graphmix")
    with pytest.raises(ConfigError, match="there is no method 'magic'; there are label-propagation, logistic"):
        check_methods(["fcn", "magic"])
    with pytest.raises(ConfigError, match="there is no method 'deepwalk'"):
        check_methods(["deepwalk"])
    with pytest.raises(ConfigError, match="at least one method is needed"):
        check_methods([])


def test_a_graph_too_large_for_memory_is_trained_in_parts_with_one_note(monkeypatch):
    whole, cpu = graph(nodes=30_000), torch.device("cpu")
    plan = make_plan(whole, fit_methods(), {"batch_fanout": 1})
    same, notes = in_memory(plan, whole, cpu)
    assert [each.config for each in same] == [each.config for each in plan]
    assert notes == ["`batch_fanout` has no effect with full batches; give `batch_nodes`"]
    assert in_memory(make_plan(whole, fit_methods(), {}), whole, cpu)[1] == []
    needed = [devices.bytes_per_trial(whole, each.config) for each in plan]
    monkeypatch.setattr(devices, "free_memory", lambda _: min(needed) - 1)
    smaller, notes = in_memory(plan, whole, cpu)
    assert all(each.config.batch_nodes > 0 for each in smaller)
    assert len(notes) == 1
    assert "mini-batches" in notes[0]


def test_a_fit_in_parts_keeps_no_targets():
    plan = make_plan(graph(), ("graphmix-steady", "self-training"), {"batch_nodes": 10})
    assert {each.config.target_every for each in plan} == {1}


def test_on_a_cpu_a_very_large_graph_is_trained_in_parts_for_the_usual_epochs(monkeypatch):
    whole = graph(nodes=30_000)
    assert not any(each.config.batch_nodes for each in make_plan(whole, fit_methods(), {}, device="cpu"))
    monkeypatch.setattr(planning, "MANY_PROPAGATED", whole.num_propagated - 1)
    found = {each.name: each.config for each in make_plan(whole, fit_methods(), {}, device="cpu")}
    in_parts = [name for name, config in found.items() if config.batch_nodes == 1024]
    assert in_parts == [name for name in found if name.startswith(("fcn", "supervised", "graphmix"))]
    # The time of an epoch does not grow with the graph, so there is no need for fewer.
    assert {found[name].epochs for name in ("fcn", "supervised-gpr", "graphmix-steady-sage")} == {400}
    (_, notes) = in_memory(make_plan(whole, fit_methods(), {}, device="cpu"), whole, torch.device("cpu"))
    assert ["1,024 nodes and 5 neighbours" in note for note in notes] == [True]
    # Whoever asks for full batches has them, and so do networks that need the whole graph.
    full = make_plan(whole, fit_methods(), {"batch_nodes": 0}, device="cpu")
    unet = make_plan(whole, ("supervised",), {"backbone": "unet"}, device="cpu")
    kept = make_plan(whole, ("graphmix-steady",), {"target_every": 5}, device="cpu")
    assert not any(each.config.batch_nodes for each in (*full, *unet, *kept))
    assert in_memory(full, whole, torch.device("cpu"))[1] == []


def test_mini_batches_depend_on_the_device_by_name_even_if_it_is_not_here(monkeypatch):
    monkeypatch.setattr(planning, "MANY_PROPAGATED", 0)
    (there,) = make_plan(graph(), ("supervised",), {}, device="cuda")
    assert there.config.batch_nodes == 0
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    (here,) = make_plan(graph(), ("supervised",), {}, device="auto")
    assert here.config.batch_nodes == 0
    (named,) = make_plan(graph(), ("supervised",), {}, device="cpu")
    assert named.config.batch_nodes == 1024


def test_a_tuned_method_is_trained_in_parts_as_others_are(monkeypatch):
    monkeypatch.setattr(planning, "MANY_PROPAGATED", 0)
    tuned = {"method": "graphmix-steady", "backbone": "appnp", "hidden": 7}
    both = make_plan(graph(), ("supervised",), {}, tuned, device="cpu")
    assert [(each.method, each.config.batch_nodes) for each in both] == [
        ("supervised", 1024),
        ("graphmix-steady", 1024),
    ]
    assert both[1].config.hidden == 7
    (own,) = make_plan(graph(), ("graphmix-steady",), {}, tuned | {"batch_nodes": 0}, device="cpu")
    assert own.config.batch_nodes == 0
