"""The registry says of each network, without torch, what its class says."""

import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
import torch

import graphmix.models
from graphmix import Config, Graph, Streams
from graphmix.models import (
    APPNP,
    BACKBONES,
    GAT,
    GCN,
    GCN2,
    GPR,
    SAGE,
    Backbone,
    Chebyshev,
    DisenGCN,
    GATv2,
    Grand,
    GraphUNet,
    MoNet,
    Wrapped,
    wrap,
)
from graphmix.models.registry import CUSTOM, NETWORKS, backbone_class
from graphmix.models.sgan import SGAN
from graphmix.streams import Purpose

SOURCE = Path(graphmix.models.__file__).parents[1]


CLASSES = {
    "gcn": GCN,
    "gat": GAT,
    "unet": GraphUNet,
    "gpr": GPR,
    "sage": SAGE,
    "appnp": APPNP,
    "chebyshev": Chebyshev,
    "gcn2": GCN2,
    "gatv2": GATv2,
    "monet": MoNet,
    "disengcn": DisenGCN,
    "grand": Grand,
}


def test_every_name_has_its_class():
    assert {name: backbone_class(name) for name in NETWORKS} == CLASSES | {"sgan": SGAN, CUSTOM: Wrapped}
    assert dict(BACKBONES) == CLASSES
    assert "gat" in BACKBONES
    assert CUSTOM not in BACKBONES
    with pytest.raises(KeyError):
        BACKBONES[CUSTOM]


@pytest.mark.parametrize("name", BACKBONES)
def test_the_options_are_the_fields_of_the_class(name):
    assert NETWORKS[name].options == tuple(field.name for field in fields(BACKBONES[name]) if field.name != "weights")
    assert Config(backbone=name).options() == {option: getattr(Config(), option) for option in NETWORKS[name].options}


def test_a_custom_model_has_no_options_in_the_config():
    assert Config(backbone=CUSTOM).options() == {}


@pytest.mark.parametrize("name", BACKBONES)
def test_a_network_uses_edge_weights_if_it_says_so(name):
    edges, x = [[0, 1, 2, 0], [1, 2, 3, 2]], np.random.default_rng(0).random((4, 3))
    plain, weighted = (Graph.build(x, edges, [0, 1, 0, 1], weights=each) for each in (None, [1.0, 5.0, 0.2, 3.0]))
    model = BACKBONES[name].create(Streams.from_seeds([0]), (3, 4, 2))
    same = torch.equal(model(plain.x, plain), model(weighted.x, weighted))
    assert same != NETWORKS[name].uses_edge_weights


@pytest.mark.parametrize("name", BACKBONES)
def test_the_declared_widths_are_those_of_the_network(name):
    graph = Graph.build(np.eye(6), [[0, 1, 2], [1, 2, 3]], [0, 1, 2, 0, 1, 2])
    model = BACKBONES[name].create(Streams.from_seeds([0]), (6, 4, 3))
    declared = BACKBONES[name].footprint(graph, 4, 3)
    hidden = model.encode(graph.x, graph, Streams.from_seeds([0]).at(Purpose.GNN_DROPOUT))
    assert hidden.shape[2] == declared.hidden_width
    weights = sum(weight.numel() for weight in model.weights.values() if weight.dim() == 3)
    attention = sum(weight.numel() for key, weight in model.weights.items() if key.endswith(("source", "target")))
    outer = declared.hidden_width * (6 + declared.logits_width)
    # Memory is estimated from above.
    assert outer <= weights - attention <= outer + declared.inner_weights


def test_the_registry_needs_no_torch():
    # A bare package in the place of graphmix: what the package itself imports is tested elsewhere.
    code = (
        "import sys, types\n"
        "sys.modules['torch'] = sys.modules['numpy'] = None\n"
        f"package = types.ModuleType('graphmix'); package.__path__ = [{str(SOURCE)!r}]\n"
        "sys.modules['graphmix'] = package\n"
        "import graphmix.models\n"
        "from graphmix.models.ratios import check_ratios\n"
        "from graphmix.models.registry import NETWORKS\n"
        "print(*graphmix.models.BACKBONES, check_ratios([0.5]), 'wrap' in dir(graphmix.models))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [*CLASSES, "(0.5,)", "True"]


def test_the_package_exports_what_it_lists():
    assert set(graphmix.models.__all__) <= set(dir(graphmix.models))
    for name in graphmix.models.__all__:
        assert getattr(graphmix.models, name) is not None
    assert issubclass(GCN, Backbone)
    assert callable(wrap)
