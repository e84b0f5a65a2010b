"""What is trained on Ray is what is trained in this process, byte for byte, times aside."""

import json
import os
import signal
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from command_line import graphmix_process
from graphmix import Columns, Config, FitOptions, fit_tables, synthetic, train
from graphmix.errors import ConfigError, DataError
from graphmix.executors import LOCAL
from graphmix.experiments.cells import Asked
from graphmix.experiments.runner import reproduce
from graphmix.experiments.spec import parse
from graphmix.storage.files import parse_tensors, tensor_bytes
from graphmix.workflow.elsewhere import own_folder
from graphmix.workflow.watching import Watcher
from small_tables import pairs, rows, tree, write_edges, write_nodes

# How long it took, and how much memory; all else is compared.
TIMES = ("seconds", "peak_memory_gib")


def timeless(value):
    if isinstance(value, dict):
        return {name: timeless(inner) for name, inner in value.items() if name not in TIMES}
    return [timeless(inner) for inner in value] if isinstance(value, list) else value


def content(folder):
    """The bytes of every file of a folder, without times."""
    held = {}
    for name, found in tree(folder).items():
        if name.endswith(".json"):
            held[name] = json.dumps(timeless(json.loads(found))).encode()
        elif name.endswith("heldout.safetensors"):
            tensors = parse_tensors(found, Path(name))
            held[name] = tensor_bytes({key: tensor for key, tensor in tensors.items() if key not in TIMES})
        else:
            held[name] = found
    return held


def assert_same(one, other):
    one, other = content(one), content(other)
    assert [name for name in one | other if one.get(name) != other.get(name)] == []
    assert one


def kill_a_worker(job):
    """Kill a process that has begun a job of a name, and return its number; Ray calls the process after the job."""
    for process in Path("/proc").iterdir():
        try:
            found = process.name.isdecimal() and (process / "cmdline").read_bytes().startswith(f"ray::{job}".encode())
        except OSError:  # it has ended
            continue
        if found:
            time.sleep(0.1)
            os.kill(int(process.name), signal.SIGKILL)
            return [int(process.name)]
    return []


@pytest.mark.parametrize("kills", [True, False], ids=["a worker killed", "undisturbed"])
def test_a_run(ray_executor, tmp_path, capsys, kills):
    graph, split = synthetic(nodes=100, features=20, labels_per_class=5, seed=1)
    config = Config.for_dataset("", trials=4, epochs=200 if kills else 5)
    train(graph, split, config, tmp_path / "local", device="cpu", chunk=2)
    killed, over = [], threading.Event()

    def kill():
        while not killed and not over.wait(0.01):
            killed.extend(kill_a_worker("trial"))

    killer = threading.Thread(target=kill if kills else list)
    killer.start()
    try:
        train(graph, split, config, tmp_path / "ray", device="cpu", chunk=2, executor=ray_executor)
    finally:
        over.set()
        killer.join()
    assert_same(tmp_path / "local", tmp_path / "ray")
    assert len(killed) == kills
    # Standard output is for results.
    assert capsys.readouterr().out == ""


def test_one_batch_with_two_threads(ray_executor, tmp_path):
    """With one thread the last bits differ, so a worker must have as many as this process."""
    graph, split = synthetic(nodes=300, features=80, labels_per_class=5, seed=1)
    config = Config.for_dataset("", trials=8, epochs=15)
    torch.set_num_threads(2)
    try:
        for name, executor in (("local", LOCAL), ("ray", ray_executor)):
            train(graph, split, config, tmp_path / name, device="cpu", chunk=8, executor=executor)
    finally:
        torch.set_num_threads(1)
    assert_same(tmp_path / "local", tmp_path / "ray")


def test_what_cannot_be_trained_is_refused_before_a_folder_is_made(ray_executor, tmp_path):
    graph, split = synthetic(nodes=100, seed=1)
    split = replace(split, val=split.val & False)
    with pytest.raises(ConfigError, match="no validation nodes"):
        train(graph, split, Config(trials=1, epochs=1), tmp_path / "run", device="cpu", executor=ray_executor)
    assert not list(tmp_path.iterdir())


def test_a_fit(ray_executor, tmp_path):
    nodes = write_nodes(tmp_path / "nodes.csv", rows(60))
    edges = write_edges(tmp_path / "edges.csv", pairs(60))
    begun = []

    class Told(Watcher):
        def begins(self, what, place, steps):
            begun.append((place, steps))
            return super().begins(what, place, steps)

    for name, executor in (("local", LOCAL), ("ray", ray_executor)):
        fit_tables(
            nodes,
            edges,
            out=tmp_path / name,
            columns=Columns(label="topic"),
            options=FitOptions(methods=("label-propagation", "logistic-regression", "supervised", "fcn"), device="cpu"),
            watch=Told(),
            executor=executor,
            trials=3,
            epochs=20,
            hidden=8,
            backbone="gpr",
        )
    assert_same(tmp_path / "local", tmp_path / "ray")
    # The same steps are told, in the same order.
    assert begun[: len(begun) // 2] == begun[len(begun) // 2 :]


SPEC = {
    "name": "mine",
    "title": "t",
    "source": "s",
    "about": "a",
    "kind": "table",
    "trials": 3,
    "settings": {"split": "public", "epochs": 4},
    "columns": [{"name": "Cora", "dataset": "cora"}, {"name": "Citeseer", "dataset": "citeseer"}],
    "rows": [
        {"name": "GCN", "method": "supervised", "paper": {"Cora": [81.3, 0.66]}},
        {"name": "GraphMix(GCN)", "method": "graphmix", "paper": {"Cora": [83.94, 0.57]}},
        {"name": "Label propagation", "method": "label-propagation", "paper": {}},
    ],
}
SEARCH = SPEC | {
    "name": "search",
    "kind": "selection",
    "columns": SPEC["columns"][:1],
    "rows": SPEC["rows"][1:2],
    "grid": {"alphas": [0.0, 1.0], "gammas": [0.1]},
}


def load(cell):
    if cell.dataset == "citeseer":
        raise DataError("citeseer is broken")
    return synthetic(nodes=90, classes=3, features=20, labels_per_class=5, seed=1)


def test_tables_and_searches(ray_executor, tmp_path):
    specs = [parse(each, each["name"]) for each in (SPEC, SEARCH)]
    for name, executor in (("local", LOCAL), ("ray", ray_executor)):
        table, search = reproduce(
            specs, Asked(trials=2), tmp_path / name, device="cpu", load=load, commit="c", executor=executor
        )
        assert [cell.status for cell in table.cells] == ["done", "failed"] * 3
        assert {cell.error for cell in table.cells} == {None, "DataError: citeseer is broken"}
        assert len(search.cells[0].outcome.selection.grid) == 2
    assert_same(tmp_path / "local", tmp_path / "ray")


def test_files_go_to_a_worker_and_only_new_ones_come_back():
    with own_folder({"old": b"1"}) as (folder, files):
        assert (folder / "old").read_bytes() == b"1"
        (folder / "new").write_bytes(b"2")
    assert files == {"new": b"2"}
    assert not folder.exists()


@pytest.mark.slow
@pytest.mark.data
def test_the_paper_s_table_on_a_ray_of_its_own(tmp_path, data_root):
    pytest.importorskip("ray")
    asked = ["--only", "GCN/*", "--trials", "2", "--epochs", "5", "--device", "cpu", "--no-report"]
    for name in ("local", "ray"):
        where = ["--executor", name, "--out", name, "--data-root", data_root]
        done = graphmix_process("reproduce", "standard-split", *asked, *where, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert "[6/6]" in done.stderr
    assert_same(tmp_path / "local", tmp_path / "ray")
