"""The peers of `make bench`: they compute what ours computes, and their times come with what they are times of."""

import importlib
import subprocess
from pathlib import Path

import pytest
import torch

from graphmix import Config, Streams, Task, build_model, fit, synthetic

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def times(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module("peer_times")


@pytest.fixture
def pyg(monkeypatch):
    pytest.importorskip("torch_geometric")
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module("pyg_trials")


@pytest.fixture
def data():
    return synthetic(nodes=120, features=30, labels_per_class=5, seed=1)


@pytest.mark.parametrize("bias", [False, True])
def test_pygs_networks_are_ours(pyg, data, bias):
    graph, split = data
    config = Config(trials=1, bias=bias)
    ours = build_model(Task.build(graph, split, config), config, Streams.from_seeds([3]))
    with torch.no_grad():
        trial = pyg.Trial(graph, split, config, "cpu")
        for number, conv in enumerate((trial.model.conv1, trial.model.conv2), 1):
            conv.lin.weight.copy_(ours.weights[f"conv{number}.weight"][0].T)
            if bias:
                conv.bias.copy_(torch.arange(len(conv.bias)) / 10)
                ours.weights[f"conv{number}.bias"].copy_(conv.bias)
        trial.model.eval()
        torch.testing.assert_close(trial.model(trial.x, trial.edges), ours(graph.x, graph)[0])
        torch.testing.assert_close(trial.model(trial.x, None), ours(graph.x, graph.null())[0])


@pytest.mark.parametrize(("name", "method"), [("Trial", "supervised"), ("GraphMixTrial", "graphmix")])
def test_pygs_trials_learn_as_much_as_ours(pyg, name, method):
    torch.manual_seed(0)
    graph, split = synthetic(nodes=400, seed=1)
    config = Config(method=method, trials=3, epochs=50, rampup_start=10, rampup_end=30)
    theirs = [getattr(pyg, name)(graph, split, config, "cpu").run()[1] for _ in range(3)]
    ours = fit(graph, split, config, device="cpu").test_accuracy.mean().item()
    assert sum(theirs) / 3 == pytest.approx(ours, abs=0.08)
    assert ours > 2 / graph.num_classes


def test_targets_are_distributions(pyg, data):
    config = Config(trials=1)
    targets = pyg.GraphMixTrial(*data, config, "cpu").predict_targets()
    torch.testing.assert_close(targets.sum(dim=1), torch.ones(len(targets)))


@pytest.mark.parametrize("runner", ["graphmix", "pyg", "plain dense"])
@pytest.mark.parametrize("method", ["supervised", "graphmix"])
def test_a_runner_is_timed_cold_and_warm(times, pyg, monkeypatch, runner, method):
    monkeypatch.setenv(times._STARTED, "0")
    asked = {"runner": runner, "dataset": "synthetic", "method": method, "trials": 1, "epochs": 3, "device": "cpu"}
    found = times.work(asked)
    assert found["cold"] > 1e9, "from the start of the process"
    assert 0 < found["warm"] < 60
    assert 0 <= found["test_accuracy"] <= 1


def test_rows_name_what_was_run_and_what_failed(times, monkeypatch):
    def fresh(asked, kernels, limit):
        if asked["runner"] == "pyg":
            raise subprocess.CalledProcessError(1, "", stderr="Traceback\nModuleNotFoundError: no torch_geometric\n")
        if asked["runner"] == "plain dense":
            raise subprocess.TimeoutExpired("", limit)
        return {"cold": 5.0 if not started.count(kernels) else 4.0, "warm": 2.0} | {"x": started.append(kernels)}

    started: list[str] = []
    monkeypatch.setattr(times, "_fresh", fresh)
    rows = times.measure_all("cora", "cuda", {"graphmix": (100, 2000), "others": (1, 300)}, 7)
    assert [row["runner"] for row in rows] == ["graphmix"] * 2 + ["pyg"] * 2 + ["pyg, CUDA graphs"] + [
        "plain dense"
    ] * 2
    ours, graphs = rows[0], rows[4]
    assert (ours["trials"], ours["epochs"], ours["cold"], ours["cold_filled_cache"]) == (100, 2000, 5.0, 4.0)
    assert ours["ms"] == pytest.approx(0.01)
    assert (graphs["trials"], graphs["epochs"], graphs["ms"]) == (1, 300, pytest.approx(2000 / 300))
    assert rows[2]["error"] == "ModuleNotFoundError: no torch_geometric"
    assert rows[5]["error"] == "more than 7 s"
    on_cpu = times.measure_all("cora", "cpu", {"graphmix": (2, 3), "others": (1, 3)}, 7)
    assert all("graphs" not in row["runner"] and "cold_filled_cache" not in row for row in on_cpu)


def test_a_record_tells_date_commit_and_versions(times):
    told = times.about("abc1234", "a machine")
    assert told["commit"] == "abc1234"
    assert told["versions"]["torch"].startswith(torch.__version__.partition("+")[0])
    assert len(told["date"]) == 10


@pytest.mark.gpu
def test_a_replayed_trial_of_pyg_learns(pyg):
    graph, split = synthetic(nodes=400, seed=1)
    val, test = pyg.ReplayedTrial(graph, split, Config(method="supervised", trials=1, epochs=100), "cuda").run()
    assert min(val, test) > 2 / graph.num_classes
