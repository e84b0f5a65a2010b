"""What a member's weights must be like."""

import subprocess
import sys

import pytest

from graphmix import Config, DataError, Streams, synthetic
from graphmix.models import BACKBONES
from graphmix.workflow import members
from graphmix.workflow.members import Member

# A member is checked after every fit; torch's compiler would take longer to import than some fits.
CHECKED = """
import sys
from graphmix import Config, Streams, synthetic
from graphmix.models import BACKBONES
from graphmix.workflow.members import Member
graph, _ = synthetic(nodes=60, features=20, labels_per_class=5)
config = Config(trials=2)
network = BACKBONES["gcn"].create(Streams.from_seeds([0, 1]), (20, config.hidden, graph.num_classes))
Member("one", "graphmix", config, network.weights).checked(graph)
print(sorted({"torch._dynamo", "sympy"} & set(sys.modules)))
"""


@pytest.mark.parametrize("few", [members._FEW_WEIGHTS, 0], ids=["drawn", "meta"])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("backbone", ["gcn", "gat", "unet", "gpr", "sage"])
def test_weights_of_the_right_shapes_pass_and_others_do_not(monkeypatch, backbone, bias, few):
    monkeypatch.setattr(members, "_FEW_WEIGHTS", few)
    graph, _ = synthetic(nodes=60, features=20, labels_per_class=5)
    config = Config(backbone=backbone, trials=3, bias=bias)
    sizes = (20, config.hidden, graph.num_classes)
    weights = BACKBONES[backbone].create(Streams.from_seeds(range(3)), sizes, bias=bias, **config.options()).weights
    Member("one", "graphmix", config, weights).checked(graph)
    for name in weights:
        with pytest.raises(DataError):
            Member("one", "graphmix", config, weights | {name: weights[name][:2]}).checked(graph)
        with pytest.raises(DataError):
            Member("one", "graphmix", config, weights | {name: weights[name][..., :-1]}).checked(graph)


def test_a_false_size_takes_no_memory():
    graph, _ = synthetic(nodes=60, features=20, labels_per_class=5)
    sizes = (20, 16, graph.num_classes)
    weights = BACKBONES["gcn"].create(Streams.from_seeds([0]), sizes).weights
    with pytest.raises(DataError, match="not those of such a gcn"):
        Member("one", "graphmix", Config(trials=1, hidden=10**9), weights).checked(graph)


def test_a_check_imports_no_compiler():
    done = subprocess.run([sys.executable, "-c", CHECKED], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
