from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from graphmix import Config, ConfigError, DataError, Graph, fit, synthetic
from graphmix.training import devices
from graphmix.training.devices import (
    bytes_per_trial,
    choose_device,
    cpu_batch,
    free_memory,
    pass_groups,
    passes_at_once,
    trials_at_once,
)

CORA, PUBMED, TINY = 49_216, 988_031, 1_000


@pytest.mark.parametrize(
    ("trials", "entries", "workers", "size"),
    [
        (5, TINY, 2, 5),  # too small to share out
        (10, CORA, 2, 10),
        (40, CORA, 2, 20),  # one batch a core
        (100, CORA, 2, 17),  # six batches, three a core
        (100, CORA, 8, 13),
        (10, PUBMED, 2, 1),  # a trial fills a batch
        (1, PUBMED, 2, 1),
    ],
)
def test_batches_for_the_cores(trials, entries, workers, size):
    assert cpu_batch(trials, entries, workers, most=1000) == size


def test_memory_limits_a_batch():
    assert cpu_batch(100, CORA, 2, most=3) <= 3
    assert cpu_batch(100, PUBMED, 4, most=1) == 1


def test_features_without_dropout_do_not_limit_a_batch():
    assert cpu_batch(5, PUBMED, 2, most=1000) == 1
    assert cpu_batch(5, PUBMED, 2, most=1000, own=TINY) == 3  # a batch a core
    assert cpu_batch(5, PUBMED, 2, most=1000, own=PUBMED) == 1


def test_passes_of_a_step_fill_a_batch_sooner():
    graph, _ = synthetic(nodes=2000, features=100, seed=1)
    plain = Config(trials=50, hidden=32, input_dropout=0.0, backbone="grand", method="graphmix-grand", perturbations=1)
    at_once = [trials_at_once(graph, replace(plain, perturbations=passes), torch.device("cpu")) for passes in (1, 4, 8)]
    # 2,000 x 32 hidden states for each pass, about a million in a batch.
    assert at_once[0] == 50
    assert at_once[1] <= 2**20 / (4 * 2000 * 32) < 2 * at_once[1]
    assert at_once[2] <= 2**20 / (8 * 2000 * 32) < 2 * at_once[2] + 1


def test_no_core_waits_for_another_batch():
    for trials in range(1, 120):
        size = cpu_batch(trials, CORA, 4, most=1000)
        assert size == trials or -(-trials // size) >= 4


def test_less_memory_means_fewer_trials(monkeypatch):
    graph, _ = synthetic(nodes=500, features=100, seed=1)
    config = Config(trials=50)
    need = devices.bytes_per_trial(graph, config)
    monkeypatch.setattr(devices, "free_memory", lambda _: 20 * need)
    assert 1 <= trials_at_once(graph, config, torch.device("cpu")) <= 10
    monkeypatch.setattr(devices, "free_memory", lambda _: 2**40)
    assert trials_at_once(graph, config, torch.device("cpu")) == 50


@pytest.mark.parametrize(
    ("backbone", "options", "width", "logits", "inner", "states", "entries"),
    [
        ("gcn", {}, 4, 3, 0, 12, 2 * 2 + 5),
        # Two heads of 4 hidden units, three of 3 classes; each head of the first layer attends to 2 * 2 + 5 entries.
        ("gat", {"heads": 2, "output_heads": 3}, 8, 9, 0, 12, 2 * (2 * 2 + 5)),
        ("unet", {"pool_ratios": (0.5,)}, 4, 3, 2 * 4 * 4, 16, 2 * 2 + 5),
        ("unet", {"pool_ratios": (0.5, 0.5)}, 4, 3, 4 * 4 * 4, 20, 2 * 2 + 5),
        # A weight for each of 7 hops and the node itself.
        ("gpr", {"hops": 7}, 4, 3, 8, 12, 2 * 2 + 5),
        # Weights for a node, and as many for its neighbours.
        ("sage", {}, 4, 6, 4 * 6, 16, 2 * 2 + 5 + 2 * 5),
        ("appnp", {}, 4, 3, 0, 12, 2 * 2 + 5),
        # Weights for four orders.
        ("chebyshev", {"order": 3}, 4, 12, 3 * 4 * 6, 24, 2 * 2 + 5 + 2 * 5),
        ("gcn2", {"layers": 5}, 4, 3, 5 * 4 * 4, 32, 2 * 2 + 5),
        # For every edge all units of the two heads; attention vectors of 2 * 4 and 3 * 3.
        (
            "gatv2",
            {"heads": 2, "output_heads": 3},
            8,
            18,
            8 * 6 + 8 + 9,
            16,
            9 * (2 * 2 + 5),
        ),
        # Two kernels of three coordinates; a layer's maps, shifts, means and precisions are 3 * (2 + 1 + 2 + 2) values.
        ("monet", {"kernels": 2, "coordinates": 3}, 4, 6, 4 * 6 + 2 * 3 * 7, 24, (2 * 2 + 5) * 2 * 4),
        # Two channels of 4 units; 3 layers of 5 steps.
        (
            "disengcn",
            {"channels": 2, "layers": 3, "routing_steps": 5},
            8,
            3,
            0,
            12 + 6 * 15,
            4 * 2 * 7 + 5,
        ),
        ("custom", {}, 4, 3, 0, 12, 2 * 2 + 5),
    ],
)
def test_memory_follows_from_what_a_network_declares(backbone, options, width, logits, inner, states, entries):
    # Five nodes, two edges, six features of which ten are not 0, three classes.
    x = sp.csr_array((np.ones(10), (np.arange(10) % 5, np.arange(10) % 6)), shape=(5, 6))
    graph = Graph.build(x, [[0, 1], [1, 2]], [0, 1, 2, 0, 1])
    config = Config(backbone=backbone, hidden=4, epochs=7, **options)
    # A custom model takes the features written out.
    entries = max(entries, 5 * 6 if backbone == "custom" else 10)
    values = 8 * (width * (6 + logits) + inner) + 5 * (states * width + 16 * logits) + 12 * entries + 5 * 7
    assert devices.bytes_per_trial(graph, config) == 4 * values


def test_features_that_are_written_out_leave_room_for_fewer_passes():
    sparse, dense = (Graph.build(x, [[0], [1]], [0, 1] * 50) for x in (sp.csr_array(np.eye(100)), np.eye(100)))
    cuda = torch.device("cuda")
    assert passes_at_once(sparse, Config(hidden=10), 1, cuda) == 2**26 // (100 * 10)
    assert passes_at_once(sparse, Config(backbone="gat", hidden=10, heads=2), 1, cuda) == 2**26 // (100 * 20)
    for graph, backbone in ((dense, "gcn"), (sparse, "custom"), (dense, "custom")):
        assert passes_at_once(graph, Config(backbone=backbone, hidden=10), 1, cuda) == 2**26 // (100 * 100)


@pytest.mark.parametrize("passes", range(1, 12))
def test_no_pass_is_alone_on_cuda(passes, monkeypatch):
    graph, _ = synthetic(nodes=100, features=20, seed=1)
    for size in range(2, 8):
        monkeypatch.setattr(devices, "passes_at_once", lambda *_, size=size: size)
        groups = pass_groups(graph, Config(perturbations=passes), 5, torch.device("cuda"))
        assert [number for first, last in groups for number in range(first, last)] == list(range(passes))
        assert passes == 1 or min(last - first for first, last in groups) > 1


def test_many_trials_leave_room_for_two_passes_at_least():
    graph, _ = synthetic(nodes=500, features=100, seed=1)
    assert passes_at_once(graph, Config(), 10**6, torch.device("cuda")) == 2


def test_only_the_optimised_form_of_bvat_writes_features_out():
    graph, _ = synthetic(nodes=300, features=200, seed=1)
    vat, sampled, optimised = (
        bytes_per_trial(graph, Config(method=method, **form))
        for method, form in (("vat", {}), ("bvat", {"bvat_form": "sampled"}), ("bvat", {"bvat_form": "optimised"}))
    )
    assert sampled == vat
    assert optimised > vat + 4 * 20 * 300 * 200


def test_passes_shrink_as_trials_grow():
    graph, _ = synthetic(nodes=500, features=100, seed=1)
    sizes = [passes_at_once(graph, Config(), trials, torch.device("cpu")) for trials in (1, 10, 1000)]
    assert sizes[0] > sizes[1] > 1
    assert sizes[2] == 1


def test_a_trial_that_cannot_fit_is_refused(monkeypatch):
    graph, _ = synthetic(nodes=500, features=100, seed=1)
    monkeypatch.setattr(devices, "free_memory", lambda _: 1000)
    with pytest.raises(ConfigError, match="one trial needs about 929 KiB of memory, and cpu has 1000 bytes free"):
        devices.check_memory(graph, Config(), torch.device("cpu"))


def large():
    """A graph whose parts are far smaller than itself, and how much memory a trial on the whole of it takes."""
    graph, _ = synthetic(nodes=30_000, features=20, seed=1)
    return graph, bytes_per_trial(graph, Config(batch_fanout=2))


def test_a_part_takes_less_memory_than_the_whole_and_a_larger_one_more():
    graph, whole = large()
    small, larger = (bytes_per_trial(graph, Config(batch_nodes=nodes, batch_fanout=2)) for nodes in (256, 1024))
    assert small < larger < whole


def test_where_one_trial_does_not_fit_mini_batches_are_chosen(monkeypatch):
    graph, whole = large()
    config, cpu = Config(batch_fanout=2, method="self-training", target_every=3), torch.device("cpu")
    monkeypatch.setattr(devices, "free_memory", lambda _: whole)
    assert devices.fitting(graph, config, cpu) is config, "it fits"
    monkeypatch.setattr(devices, "free_memory", lambda _: whole - 1)
    smaller = devices.fitting(graph, config, cpu)
    assert smaller.batch_nodes in (256, 1024, 4096)
    assert smaller.target_every == 1
    assert bytes_per_trial(graph, smaller) <= whole / 2
    note = devices.fitting_note(graph, config, cpu)
    for part in ("memory", "cpu has", f"{smaller.batch_nodes:,} nodes (`batch_nodes`)"):
        assert part in note
    with pytest.raises(ConfigError, match=f"set `batch_nodes`, for example to {smaller.batch_nodes}"):
        devices.check_memory(graph, config, cpu)
    devices.check_memory(graph, smaller, cpu)
    given = Config(batch_nodes=5000, batch_fanout=2)
    assert devices.fitting(graph, given, cpu) is given


@pytest.mark.parametrize("choices", [{"backbone": "unet"}, {"method": "grand", "backbone": "grand"}])
def test_what_needs_the_whole_graph_is_refused_as_before(choices, monkeypatch):
    graph, config = large()[0], Config(**choices)
    monkeypatch.setattr(devices, "free_memory", lambda _: bytes_per_trial(graph, config) - 1)
    assert devices.fitting(graph, config, torch.device("cpu")) is config
    with pytest.raises(ConfigError, match="lower `hidden`"):
        devices.check_memory(graph, config, torch.device("cpu"))


@pytest.mark.parametrize("name", ["abacus", "cuda:99", "meta"])
def test_devices_that_are_not_there(name):
    with pytest.raises(ConfigError, match=name):
        choose_device(name)


def test_a_graph_of_another_library_is_named():
    graph, split = synthetic(nodes=100, features=10, seed=1)
    with pytest.raises(DataError, match=r"needs a graphmix.Graph, not dict; for PyG's Data: graphmix.Graph.build"):
        fit({"x": graph.x}, split, Config(trials=1, epochs=1))


def test_arguments_of_another_type_are_named():
    graph, split = synthetic(nodes=100, features=10, seed=1)
    config = Config(trials=1, epochs=1)
    with pytest.raises(DataError, match=r"needs a graphmix.Split, not tuple; for masks: graphmix.Split.build"):
        fit(graph, (split.train, split.val, split.test), config)
    for given in ({"epochs": 1}, {}):
        with pytest.raises(ConfigError, match=r"`config` must be a graphmix.Config, not dict"):
            fit(graph, split, given)
    with pytest.raises(DataError, match=r"predict a graphmix.Graph, not Tensor"):
        fit(graph, split, config).predict(graph.y)


@pytest.mark.parametrize(("share", "free"), [(1.0, 70), (0.5, 40)])
def test_the_free_memory_of_a_gpu_is_no_more_than_the_process_may_use(monkeypatch, share, free):
    counts = {
        "mem_get_info": (60, 100),
        "memory_reserved": 20,
        "memory_allocated": 10,
    }
    for name, count in counts.items():
        monkeypatch.setattr(torch.cuda, name, lambda device, count=count: count)
    # As in torch, it takes the number of a device, and no device without one.
    monkeypatch.setattr(torch.cuda, "get_per_process_memory_fraction", lambda number: {0: share, 1: 1.0}[number])
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    assert free_memory(torch.device("cuda")) == free
    assert free_memory(torch.device("cuda:1")) == 70


def test_the_free_memory_of_a_gpu_is_known_to_older_versions_of_torch(monkeypatch):
    monkeypatch.delattr(torch.cuda, "get_per_process_memory_fraction")
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (60, 100))
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda device: 20)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda device: 10)
    assert free_memory(torch.device("cuda")) == 70
