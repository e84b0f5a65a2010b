"""The run folder: whole files, resuming, refusing."""

import json
import signal
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from filelock import FileLock

from command_line import graphmix, graphmix_signalled
from graphmix import GCN, Config, ConfigError, RunError, files, load_run, synthetic, train, wrap
from graphmix.results.describe import fingerprint
from graphmix.results.writer import to_json
from graphmix.storage import runs
from graphmix.storage.files import write_json, write_tensors
from graphmix.storage.runs import train_once

CONFIG = Config.for_dataset("", trials=4, epochs=15)


@pytest.fixture(scope="module")
def dataset():
    return synthetic(nodes=150, features=60, seed=2)


def test_a_finished_run_reads_back(tmp_path, dataset):
    run = train(*dataset, CONFIG, tmp_path / "run", device="cpu")
    assert {path.name for path in run.folder.iterdir()} == {
        "config.json",
        "results.json",
        "curves.safetensors",
        "weights.safetensors",
    }
    back = load_run(run.folder)
    assert back.results == run.results
    assert back.fit.config == CONFIG
    assert torch.equal(back.fit.predict(dataset[0]), run.fit.predict(dataset[0]))
    assert torch.equal(back.fit.history.loss, run.fit.history.loss)
    for name in ("best_epoch", "val_score", "val_accuracy", "test_accuracy", "test_f1", "confusion", "reliability"):
        assert torch.equal(getattr(back.fit, name), getattr(run.fit, name)), name


def test_a_run_of_the_first_format_reads_back():
    folder = Path(__file__).parents[1] / "old_files" / "run"
    run = load_run(folder)
    shares = 100 * run.fit.test_accuracy
    assert shares.tolist() == pytest.approx(run.results.test_accuracy.values, abs=1e-4)
    assert run.fit.best_epoch.tolist() == list(run.results.best_epoch)


def test_results_say_everything(tmp_path, dataset):
    results = train(*dataset, CONFIG, tmp_path / "run", device="cpu").results
    assert results.settings == CONFIG.to_dict()
    accuracy = results.test_accuracy
    assert len(accuracy.values) == len(results.best_epoch) == 4
    assert accuracy.mean == pytest.approx(sum(accuracy.values) / 4, abs=1e-3)
    assert accuracy.std > 0
    assert results.device == "cpu"
    assert results.versions["torch"] == torch.__version__


def test_weights_are_those_of_the_best_epoch(tmp_path, dataset):
    graph, split = dataset
    run = train(graph, split, CONFIG, tmp_path / "run", device="cpu")
    right = run.fit.predict(graph)[:, split.test[0]] == graph.y[split.test[0]]
    torch.testing.assert_close(right.float().mean(1), run.fit.test_accuracy)
    curve = run.fit.history.test_accuracy
    torch.testing.assert_close(curve[torch.arange(4), run.fit.best_epoch], run.fit.test_accuracy)


def test_a_finished_run_is_not_touched(tmp_path, dataset):
    train(*dataset, CONFIG, tmp_path / "run", device="cpu")
    before = {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()}
    with pytest.raises(RunError, match="holds a finished run"):
        train(*dataset, CONFIG, tmp_path / "run", device="cpu")
    assert {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()} == before


def interrupt_after(batches):
    """A watcher that stops the run in the middle of a later batch."""

    def watch(progress):
        if progress.first >= batches and progress.epoch == 3:
            raise KeyboardInterrupt

    return watch


def test_an_interrupted_run_goes_on_and_gives_the_same(tmp_path, dataset):
    whole = train(*dataset, CONFIG, tmp_path / "whole", device="cpu", chunk=1)
    with pytest.raises(KeyboardInterrupt):
        train(*dataset, CONFIG, tmp_path / "halved", device="cpu", chunk=1, watch=interrupt_after(2))
    assert len(list((tmp_path / "halved" / "parts").iterdir())) == 2
    trained = []
    resumed = train(
        *dataset, CONFIG, tmp_path / "halved", device="cpu", chunk=1, watch=lambda step: trained.append(step.first)
    )
    assert set(trained) == {2, 3}
    assert replace(resumed.results, seconds=None) == replace(whole.results, seconds=None)
    for name in ("weights.safetensors", "curves.safetensors"):
        assert (tmp_path / "halved" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


@pytest.mark.parametrize("whole", [True, False], ids=["after a part", "in the middle of a part"])
def test_a_killed_process_leaves_whole_files_and_resumes(tmp_path, whole):
    options = ["train", "synthetic", "--trials", "4", "--epochs", "15", "--chunk", "1", "--device", "cpu"]
    options += ["--no-report", "--json", "--out"]
    killed = graphmix_signalled(*options, "run", cwd=tmp_path, send=signal.SIGKILL, files=2, whole=whole)
    assert killed.returncode == -signal.SIGKILL
    assert len(list(tmp_path.glob("run/parts/*.safetensors"))) == (2 if whole else 1)
    assert not (tmp_path / "run" / "results.json").exists()
    first, second = (json.loads(graphmix(*options, out, cwd=tmp_path).stdout) for out in ("run", "undisturbed"))
    for result in (first, second):
        del result["seconds"], result["out"]
    assert first == second
    for name in ("weights.safetensors", "curves.safetensors"):
        assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "undisturbed" / name).read_bytes()


@pytest.mark.parametrize(
    ("change", "message"),
    [({"seed": 5}, "another run (seed is 0 there and 5 here)"), ({"trials": 3}, "another run (trials is 4 there")],
)
def test_an_unfinished_other_run_is_refused(tmp_path, dataset, change, message):
    with pytest.raises(KeyboardInterrupt):
        train(*dataset, CONFIG, tmp_path / "run", device="cpu", chunk=1, watch=interrupt_after(1))
    with pytest.raises(RunError) as caught:
        train(
            *dataset, Config.for_dataset("", **({"trials": 4, "epochs": 15} | change)), tmp_path / "run", device="cpu"
        )
    assert message in str(caught.value)


@pytest.mark.parametrize("method", ["dropedge", "bvat"])
def test_a_run_that_is_refused_leaves_nothing(tmp_path, dataset, method):
    refused = replace(CONFIG, method=method, backbone="gat" if method == "dropedge" else "grand")
    (tmp_path / "mine").mkdir()
    for folder in (tmp_path / "a" / "b", tmp_path / "mine"):
        with pytest.raises(ConfigError, match=f"{method} needs"):
            train(*dataset, refused, folder)
    assert [each.name for each in tmp_path.iterdir()] == ["mine"]
    assert not any((tmp_path / "mine").iterdir())


def test_an_unfinished_run_is_not_read(tmp_path, dataset):
    with pytest.raises(KeyboardInterrupt):
        train(*dataset, CONFIG, tmp_path / "run", device="cpu", chunk=1, watch=interrupt_after(1))
    with pytest.raises(RunError, match="is not finished; train with the same arguments"):
        load_run(tmp_path / "run")


def test_other_data_is_another_run(tmp_path, dataset):
    with pytest.raises(KeyboardInterrupt):
        train(*dataset, CONFIG, tmp_path / "run", device="cpu", chunk=1, watch=interrupt_after(1))
    with pytest.raises(RunError, match=r"another run \(with other features, edges, labels or masks\)"):
        train(*synthetic(nodes=150, features=60, seed=3), CONFIG, tmp_path / "run", device="cpu")


def test_a_folder_with_other_files_is_refused_and_left_alone(tmp_path, dataset):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(RunError, match="holds other files"):
        train(*dataset, CONFIG, tmp_path, device="cpu")
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_file_in_place_of_the_folder_is_refused(tmp_path, dataset):
    (tmp_path / "run").write_text("mine")
    with pytest.raises(RunError, match="is a file"):
        train(*dataset, CONFIG, tmp_path / "run", device="cpu")


def test_two_processes_do_not_share_a_folder(tmp_path, dataset):
    (tmp_path / "run" / "parts").mkdir(parents=True)
    with FileLock(tmp_path / "run" / ".lock"), pytest.raises(RunError, match="another process is writing"):
        train(*dataset, CONFIG, tmp_path / "run", device="cpu")


def test_a_damaged_part_is_named(tmp_path, dataset):
    with pytest.raises(KeyboardInterrupt):
        train(*dataset, CONFIG, tmp_path / "run", device="cpu", chunk=1, watch=interrupt_after(1))
    part = next((tmp_path / "run" / "parts").iterdir())
    part.write_bytes(part.read_bytes()[:-100])
    with pytest.raises(RunError, match=part.name):
        train(*dataset, CONFIG, tmp_path / "run", device="cpu")


@pytest.mark.parametrize("name", ["results.json", "weights.safetensors", "curves.safetensors"])
def test_a_damaged_run_is_refused_in_one_sentence(tmp_path, dataset, name):
    folder = train(*dataset, CONFIG, tmp_path / "run", device="cpu").folder
    (folder / name).write_bytes((folder / name).read_bytes()[:20])
    with pytest.raises(RunError) as caught:
        load_run(folder)
    assert str(folder) in str(caught.value)


@pytest.mark.parametrize("write", [lambda path: write_json(path, {"a": 1}), lambda path: write_tensors(path, {})])
def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path, monkeypatch, write):
    path = tmp_path / "file"
    path.write_text("old")

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(RunError, match="No space left on device"):
        write(path)
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_without_test_nodes_accuracy_is_null_not_nan(tmp_path, dataset):
    graph, split = dataset
    from graphmix import Split

    blind = Split.build(split.train, split.val, split.test & False)
    results = train(graph, blind, CONFIG, tmp_path / "run", device="cpu").results
    assert results.test_accuracy.values == (None,) * 4
    assert results.test_accuracy.mean is None
    assert json.loads((tmp_path / "run" / "results.json").read_text()) == to_json(results)
    assert load_run(tmp_path / "run").fit.test_accuracy.isnan().all()


def test_fingerprint_tells_graphs_and_splits_apart(dataset):
    graph, split = dataset
    other, _ = synthetic(nodes=150, features=60, seed=3)
    assert fingerprint(graph, split) == fingerprint(*synthetic(nodes=150, features=60, seed=2))
    assert fingerprint(graph, split) != fingerprint(other, split)


class Net(torch.nn.Module):
    """A network of one's own: two linear layers, the second on the mean of a node and its neighbours."""

    def __init__(self, features, hidden, classes):
        super().__init__()
        self.first, self.second = torch.nn.Linear(features, hidden), torch.nn.Linear(hidden, classes)

    def forward(self, x, edge_index):
        source, target = edge_index[0], edge_index[1]
        hidden = self.first(x).relu()
        hidden = hidden + torch.zeros_like(hidden).index_add(0, target, hidden.index_select(0, source))
        return self.second(hidden)


def test_a_run_of_a_network_of_ones_own(tmp_path, dataset):
    graph, split = dataset
    model = wrap(Net(60, 8, graph.num_classes), mix_at="second")
    config = Config.for_dataset("", trials=2, epochs=6)
    run = train(graph, split, config, tmp_path / "run", model=model, device="cpu")
    assert (run.results.backbone, run.results.network) == ("custom", model.description)
    assert "Linear(in_features=60, out_features=8" in model.description
    assert "'second'" in model.description
    back = load_run(run.folder, model)
    assert torch.equal(back.fit.predict(graph), run.fit.predict(graph))
    with pytest.raises(ConfigError, match="give it to load_run as `model`"):
        load_run(run.folder).fit.predict(graph)
    with pytest.raises(RunError, match="another model"):
        load_run(run.folder, wrap(Net(60, 9, graph.num_classes), mix_at="second"))


def test_a_run_goes_on_only_with_its_own_network(tmp_path, dataset, monkeypatch):
    graph, split = dataset
    config = Config.for_dataset("", trials=2, epochs=6)
    model, other = (wrap(Net(60, hidden, graph.num_classes), mix_at="second") for hidden in (8, 9))
    whole = train(graph, split, config, tmp_path / "whole", model=model, device="cpu", chunk=1).fit

    def stop(progress):
        if progress.first == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(graph, split, config, tmp_path / "run", model=model, device="cpu", chunk=1, watch=stop)
    with pytest.raises(RunError, match="holds another run"):
        train(graph, split, config, tmp_path / "run", model=other, device="cpu")
    resumed = train(graph, split, config, tmp_path / "run", model=model, device="cpu", chunk=1).fit
    assert torch.equal(resumed.test_f1, whole.test_f1)
    assert torch.equal(resumed.predict(graph), whole.predict(graph))
    assert torch.equal(resumed.history.loss, whole.history.loss)


def test_a_custom_backbone_must_be_given(tmp_path, dataset):
    with pytest.raises(ConfigError, match="give it as `model`"):
        train(*dataset, Config(backbone="custom", trials=1, epochs=2), tmp_path / "run", device="cpu")
    assert not (tmp_path / "run").exists()


def test_networks_that_print_alike_are_told_apart():
    class Dropping(torch.nn.Module):
        def __init__(self, rate):
            super().__init__()
            self.first, self.second = torch.nn.Linear(6, 4), torch.nn.Linear(4, 3)
            self.share = rate

        def forward(self, x, edge_index):
            x = torch.nn.functional.dropout(x, self.share, training=self.training)
            return self.second(self.first(x).relu())

    first, same, other = (wrap(Dropping(rate), mix_at="second").description for rate in (0.5, 0.5, 0.9))
    assert first == same
    assert first != other
    gentle, harsh = (GCN({}, input_dropout=rate).description for rate in (0.1, 0.9))
    assert gentle != harsh


def test_what_a_kill_left_half_written_is_in_nobodys_way(tmp_path, dataset):
    graph, split = dataset
    config = Config(trials=2, epochs=3)
    (tmp_path / "run/parts").mkdir(parents=True)
    for place in (
        "run/.config.json.abc.graphmix.part",
        "run/parts/.trials-000000-000000.safetensors.abc.graphmix.part",
    ):
        (tmp_path / place).write_bytes(b"half")
    run = train(graph, split, config, tmp_path / "run", device="cpu")
    assert sorted(path.name for path in run.folder.rglob("*")) == [
        "config.json",
        "curves.safetensors",
        "results.json",
        "weights.safetensors",
    ]


def test_a_finished_run_is_read_and_the_lock_of_a_killed_process_goes(tmp_path, dataset, monkeypatch):
    graph, split = dataset
    first = train_once(graph, split, CONFIG, tmp_path / "run", device="cpu")
    (tmp_path / "run" / ".lock").write_text("")
    monkeypatch.setattr(runs, "train", None)
    again = train_once(graph, split, CONFIG, tmp_path / "run", device="cpu")
    assert torch.equal(again.fit.test_accuracy, first.fit.test_accuracy)
    assert not (tmp_path / "run" / ".lock").exists()
