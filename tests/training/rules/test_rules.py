"""All rules: a trial in a batch equals the trial alone, on any split; options, bounds and warnings."""

from dataclasses import replace

import pytest
import torch
from torch.testing import assert_close

from graphmix import Config, Graph, fit, make_split, synthetic
from graphmix.errors import ConfigError
from graphmix.models.registry import BACKBONES, NETWORKS, backbone_class
from graphmix.training.config import HYPERPARAMETERS
from graphmix.training.expectations import unused_settings
from graphmix.training.methods import METHODS
from graphmix.training.rule_papers import RULES
from graphmix.training.rules import bvat, graphsgan
from graphmix.training.settings import RULE

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]
RULED = tuple(name for name, method in METHODS.items() if method.rule is not None)
VARIANTS = {
    "grand, normalised": {"method": "grand", "batch_norm": True},
    "grand over gcn": {"method": "grand", "backbone": "gcn"},
    "graphsgan": {"method": "graphsgan", "hidden": 16},
    "gmnn, short": {"method": "gmnn", "pretraining": 4, "phase_epochs": 3, "optimiser": "rmsprop"},
    "vat over gat": {"method": "vat", "backbone": "gat"},
    "bvat, sampled": {"method": "bvat", "bvat_form": "sampled"},
}
CASES = {name: {"method": name} for name in RULED} | VARIANTS


@pytest.fixture(autouse=True)
def few_steps(monkeypatch):
    """Several steps in an epoch are as good as many."""
    monkeypatch.setattr(graphsgan, "STEPS", 2)
    monkeypatch.setattr(bvat, "STEPS", 2)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("own_splits", [False, True], ids=["shared", "own splits"])
@pytest.mark.parametrize("case", CASES)
def test_a_trial_in_a_batch_has_the_curves_of_the_trial_alone(case, own_splits, device):
    graph, split = synthetic(nodes=150, features=60, labels_per_class=5, seed=1)
    split = make_split("5-per-class", graph, list(range(4))) if own_splits else split
    batch = Config.for_dataset("", trials=4, epochs=14, **CASES[case])
    together = fit(graph, split, batch, device=device, chunk=4)
    assert torch.isfinite(together.history.loss).all()
    assert not torch.equal(together.history.loss[0], together.history.loss[1])
    for trial in (0, 3):
        own = make_split("5-per-class", graph, [trial]) if own_splits else split
        alone = fit(graph, own, replace(batch, trials=1, seed=trial), device=device)
        for curve in ("val_accuracy", "test_accuracy"):
            assert torch.equal(getattr(together.history, curve)[trial], getattr(alone.history, curve)[0])
        assert_close(together.history.loss[trial], alone.history.loss[0], rtol=1e-3, atol=1e-4)


ONE_PRODUCT = [name for name in BACKBONES if backbone_class(name).reads_x_once]
CLAIMED = {
    **dict.fromkeys(("vat", "bvat", "graphat", "graphvat", "gmnn"), ONE_PRODUCT),
    "grand": list(BACKBONES),
    "graphmix-grand": list(BACKBONES),
    "dropedge": ["gcn"],
    "graphsgan": ["sgan"],
}
SMALL = {"hidden": 4, "heads": 2, "layers": 2, "channels": 2, "routing_steps": 2, "pretraining": 1, "phase_epochs": 1}


def test_all_networks_but_grand_read_the_features_in_one_product():
    assert [name for name in BACKBONES if name != "grand"] == ONE_PRODUCT
    assert set(CLAIMED) == set(RULED)


@pytest.mark.parametrize(("method", "backbone"), [(name, each) for name in RULED for each in CLAIMED[name]])
def test_a_rule_trains_every_network_that_it_claims(method, backbone):
    graph, split = synthetic(nodes=60, features=24, labels_per_class=3, seed=1)
    config = Config.for_dataset("", method=method, backbone=backbone, trials=2, epochs=4, **SMALL)
    together = fit(graph, split, config, device="cpu", chunk=2)
    alone = fit(graph, split, replace(config, trials=1, seed=1), device="cpu")
    assert not torch.equal(together.history.loss[0], together.history.loss[1])
    assert_close(together.history.loss[1], alone.history.loss[0], rtol=1e-3, atol=1e-4)
    assert torch.isfinite(together.history.loss).all()


@pytest.mark.parametrize("method", RULED)
def test_other_networks_are_refused_in_one_sentence(method):
    graph, split = synthetic(nodes=60, features=24, labels_per_class=3, seed=1)
    for backbone in set(BACKBONES) - set(CLAIMED[method]) - {"gcn"}:
        with pytest.raises(ConfigError, match=r"`backbone`.*") as refused:
            fit(graph, split, Config.for_dataset("", method=method, backbone=backbone, trials=1, epochs=1))
        assert "\n" not in str(refused.value)


@pytest.mark.parametrize("method", ["vat", "graphvat", "gmnn"])
@pytest.mark.parametrize("backbone", ["chebyshev", "sage", "gatv2", "monet"])
def test_a_graph_without_edges_is_trained_on(method, backbone):
    graph, split = synthetic(nodes=60, features=24, labels_per_class=3, seed=1)
    bare = Graph.build(graph.x, graph.edge_index[:, :0], graph.y)
    config = Config.for_dataset("", method=method, backbone=backbone, trials=1, epochs=2, **SMALL)
    assert torch.isfinite(fit(bare, split, config, device="cpu").history.loss).all()


@pytest.mark.parametrize("method", RULED)
def test_a_rule_names_what_it_uses(method):
    info = METHODS[method]
    assert set(info.uses) <= set(HYPERPARAMETERS)
    assert info.backbone in NETWORKS
    assert (None, method) in RULES
    for (_, name), values in RULES.items():
        assert name in RULED
        read = {*METHODS[name].uses, *NETWORKS[METHODS[name].backbone].options}
        groups = {HYPERPARAMETERS[each].group for each in values if each not in read and each not in ("select_by",)}
        assert RULE not in groups


@pytest.mark.parametrize(
    ("config", "given", "said"),
    [
        (
            {"method": "grand", "backbone": "grand"},
            {"heads": 2, "alpha": 1.0, "temperature": 0.1, "epochs": 3},
            "`heads` has no effect with the network grand; `alpha` has no effect with the method grand",
        ),
        ({}, {"alpha": 1.0, "hidden_dropout": 0.5}, None),
        ({}, {"edge_dropout": 0.5}, "`edge_dropout` has no effect with the method graphmix"),
        ({"method": "bvat"}, {"perturbation_size": 0.1}, "`perturbation_size` has no effect with the method bvat"),
        ({"method": "bvat", "bvat_form": "sampled"}, {"perturbation_size": 0.1, "perturbed_nodes": 3}, None),
        ({"method": "graphsgan"}, {"backbone": "sgan"}, None),
        (
            {"method": "graphsgan"},
            {"backbone": "gcn", "hidden_dropout": 0.5, "hidden": 20},
            "`hidden_dropout` has no effect with the network sgan; `backbone` has no effect with the method graphsgan",
        ),
    ],
)
def test_options_without_effect_are_named(config, given, said):
    assert unused_settings(Config(**config), given) == said
