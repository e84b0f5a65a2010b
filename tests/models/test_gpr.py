"""GPR-GNN against PyG, a dense formula, and what it is on graphs of links and without edges."""

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from graphmix import Config, ConfigError, Graph, Streams, Task, build_model, build_optimizer, dual, fit, synthetic
from graphmix.models import GPR
from graphmix.models.gpr import page_rank
from graphmix.streams import Purpose


def small(seed=0, *, weights=False):
    rng = np.random.default_rng(seed)
    edges, given = rng.integers(0, 12, (2, 24)), rng.random(24) + 0.1 if weights else None
    x = rng.random((12, 9)) * (rng.random((12, 9)) < 0.5)
    return Graph.build(x, edges, rng.integers(0, 3, 12), 3, weights=given)


def create(graph, trials=2, **options):
    return GPR.create(Streams.from_seeds(range(trials)), (graph.num_features, 5, graph.num_classes), **options)


def biased(model):
    with torch.no_grad():
        for name, weight in model.weights.items():
            if name.endswith("bias") or name == "hops":
                weight.uniform_(-1, 1)
    return model


def written_out(model, trial, x, propagation):
    """The network by its formula, from dense tensors."""
    weights = {name: weight[trial] for name, weight in model.weights.items()}
    hidden = (x @ weights["conv1.weight"] + weights.get("conv1.bias", 0)).relu()
    state = hidden @ weights["conv2.weight"] + weights.get("conv2.bias", 0)
    powers = (torch.linalg.matrix_power(propagation, hop) @ state for hop in range(len(weights["hops"])))
    return sum(weight * power for weight, power in zip(weights["hops"], powers, strict=True))


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("weights", [False, True])
def test_values_and_gradients_against_the_formula(bias, weights):
    graph = small(weights=weights)
    model = biased(create(graph, bias=bias, hops=4))
    upstream = torch.randn(2, graph.num_nodes, graph.num_classes)
    logits = model(graph.x, graph)
    ours = torch.autograd.grad((logits * upstream).sum(), list(model.parameters()))
    dense = graph.propagation.to_dense()
    plain = torch.stack([written_out(model, trial, graph.x, dense) for trial in range(2)])
    theirs = torch.autograd.grad((plain * upstream).sum(), list(model.parameters()))
    assert_close(logits, plain, rtol=1e-4, atol=1e-5)
    for one, two in zip(ours, theirs, strict=True):
        assert_close(one, two, rtol=1e-4, atol=1e-5)


def test_at_the_start_it_is_the_appnp_of_pyg():
    nn = pytest.importorskip("torch_geometric.nn")
    graph = small()
    model = create(graph, hops=6, teleport=0.2)
    state = (graph.x @ model.weights["conv1.weight"][0]).relu() @ model.weights["conv2.weight"][0]
    theirs = nn.APPNP(K=6, alpha=0.2)(state, graph.edge_index)
    assert_close(model(graph.x, graph)[0], theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("hops", "teleport"), [(1, 0.5), (10, 0.1), (4, 0.0), (4, 1.0)])
def test_the_weights_of_page_rank(hops, teleport):
    weights = page_rank(hops, teleport)
    assert weights.sum().item() == pytest.approx(1)
    # One step of the walk: Π = α I + (1 - α) Π' Â, where Π' has a hop less.
    shorter = page_rank(hops - 1, teleport) if hops > 1 else torch.ones(1)
    assert_close(weights, torch.cat([torch.tensor([teleport]), (1 - teleport) * shorter]))


def test_without_edges_the_weights_of_the_hops_add_up():
    graph = small().null()
    model = biased(create(graph, hops=3))
    assert_close(model(graph.x, graph)[1], written_out(model, 1, graph.x, torch.eye(12)), rtol=1e-4, atol=1e-5)


def test_the_weights_of_the_hops_are_learned_without_decay():
    graph, split = synthetic(nodes=120, features=30, labels_per_class=5, seed=1)
    config = Config(backbone="gpr", method="supervised", trials=2, epochs=20, weight_decay=1000.0)
    task = Task.build(graph, split, config)
    model = build_model(task, config, Streams.from_seeds(range(2)))
    before = model.weights["hops"].detach().clone()
    optimizer = build_optimizer(model, config)
    for weight in model.parameters():
        weight.grad = torch.zeros_like(weight)
    optimizer.step()
    # Only the decay has moved anything.
    assert torch.equal(model.weights["hops"], before)
    assert not torch.equal(fit(graph, split, config, device="cpu").weights["hops"], before)
    assert (
        model.weights["conv2.weight"].abs().sum()
        < build_model(task, config, Streams.from_seeds(range(2))).weights["conv2.weight"].abs().sum()
    )


@pytest.mark.parametrize("backbone", ["gcn", "gat", "unet", "sage"])
def test_other_networks_decay_all_weights_alike(backbone):
    graph, split = synthetic(nodes=60, features=20, labels_per_class=5, seed=1)
    config = Config(backbone=backbone, trials=1)
    model = build_model(Task.build(graph, split, config), config, Streams.from_seeds([0]))
    groups = build_optimizer(model, config).param_groups
    assert {group["weight_decay"] for group in groups} == {config.weight_decay}
    assert sum(len(group["params"]) for group in groups) == len(model.weights)


@pytest.mark.parametrize(
    ("choices", "name"), [({"hops": 0}, "hops"), ({"hops": 1001}, "hops"), ({"teleport": 1.5}, "teleport")]
)
def test_settings_out_of_range(choices, name):
    with pytest.raises(ConfigError, match=f"`{name}` must be"):
        Config(backbone="gpr", **choices)


def test_on_a_graph_of_links_no_edge_is_listed():
    rng = np.random.default_rng(3)
    graph = dual(rng.integers(0, 10, (2, 30)), 10, rng.integers(0, 2, 30), 2)
    model = biased(create(graph, hops=3))
    logits = model(graph.x, graph)
    assert "edge_index" not in vars(graph.structure)
    plain = written_out(model, 1, graph.x.to_dense(), graph.propagation.to_dense())
    assert_close(logits[1], plain, rtol=1e-4, atol=1e-4)


def test_copies_of_a_trial_have_its_weights():
    graph = small()
    model = biased(create(graph, input_dropout=0.0, hidden_dropout=0.5))
    streams = Streams.from_seeds(range(2))
    together = model(graph.x, graph, streams.copies(0, 3).at(Purpose.TARGET_DROPOUT, 1))
    for copy in range(3):
        alone = model(graph.x, graph, streams.copies(copy, copy + 1).at(Purpose.TARGET_DROPOUT, 1))
        assert_close(together.unflatten(0, (2, 3))[:, copy], alone)


@pytest.mark.gpu
def test_cuda_gives_what_the_cpu_gives():
    graph = small(weights=True)
    model = create(graph)
    moved = GPR({name: weight.detach().cuda() for name, weight in model.weights.items()})
    assert_close(moved(graph.x.cuda(), graph.to("cuda")).cpu(), model(graph.x, graph), rtol=1e-4, atol=1e-5)
