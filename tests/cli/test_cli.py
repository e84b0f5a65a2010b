"""The command line as people meet it: its two streams and its exit code, in a real process where those matter."""

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from command_line import COMMAND, QUICK, arrays, graphmix, graphmix_process, graphmix_signalled, refused, save


def test_train_prints_exactly_one_json_object(tmp_path):
    options = [*QUICK, "--json", "--gamma", "2.5", "--out", "run"]
    result = graphmix_process("train", "synthetic", *options, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    (note,) = result.stderr.splitlines()
    assert "epochs" in note
    assert len(result.stdout.strip().splitlines()) == 1
    answer = json.loads(result.stdout)
    assert (answer["dataset"], answer["method"], answer["backbone"]) == ("synthetic", "graphmix", "gcn")
    assert (answer["reading"], answer["trials"], answer["gamma"], answer["epochs"]) == ("paper", 2, 2.5, 8)
    assert len(answer["test_accuracy"]) == len(answer["best_epoch"]) == 2
    assert answer["test_accuracy_mean"] == pytest.approx(np.mean(answer["test_accuracy"]), abs=1e-3)
    assert answer["test_accuracy_std"] == pytest.approx(np.std(answer["test_accuracy"], ddof=1), abs=1e-3)
    assert {"val_accuracy_mean", "seconds", "device", "versions"} <= set(answer)
    saved = json.loads((tmp_path / "run" / "results.json").read_text())
    assert saved == {key: value for key, value in answer.items() if key != "out"}


def test_every_hyperparameter_has_an_option(tmp_path):
    from graphmix import Config

    shown = graphmix("train", "--help", cwd=tmp_path, COLUMNS="200").stdout
    for name in Config.__dataclass_fields__:
        assert f"--{name.replace('_', '-')}" in shown, name


def test_every_hyperparameter_reaches_the_run(tmp_path):
    chosen = {
        "method": "graphmix", "reading": "released", "alpha": 0.3, "gamma": 2.0, "temperature": 0.5,
        "perturbations": 3, "rampup_start": 2, "rampup_end": 5, "rampup_before": 0.1, "unlabeled": 25,
        "fcn_loss": "cross-entropy", "lambda_per": "pair", "ties": "first", "backbone": "gcn", "hidden": 8,
        "input_dropout": 0.3, "hidden_dropout": 0.2, "epochs": 6, "learning_rate": 0.02, "weight_decay": 0.001,
        "trials": 2, "seed": 11,
    }  # fmt: skip
    options = [part for name, value in chosen.items() for part in (f"--{name.replace('_', '-')}", value)]
    result = graphmix("train", "synthetic", *options, "--bias", "--no-binarise", "--json", "--no-report", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    answer = json.loads(result.stdout)
    assert {name: answer[name] for name in chosen} == chosen
    assert (answer["bias"], answer["binarise"]) == (True, False)


def test_train_prints_a_table_and_where_the_run_is(tmp_path):
    result = graphmix("train", "synthetic", *QUICK, "--method", "supervised", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "GCN" in result.stdout
    assert "±" in result.stdout
    folder = tmp_path / result.stdout.split("Run written to ")[1].strip()
    assert folder.is_relative_to(tmp_path / "runs")
    assert (folder / "weights.safetensors").exists()


def test_a_graph_of_ones_own(tmp_path):
    save(tmp_path / "mine.npz")
    result = graphmix("train", "mine.npz", *QUICK, "--json", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["dataset"] == "mine"


def test_trials_with_masks_of_their_own(tmp_path):
    held = arrays()
    masks = {name: np.stack([held[name]] * 2) for name in ("train", "val", "test")}
    save(tmp_path / "mine.npz", **masks)
    assert graphmix("train", "mine.npz", *QUICK, cwd=tmp_path).returncode == 0
    refused(graphmix("train", "mine.npz", *QUICK, "--trials", "3", cwd=tmp_path), "masks", "2 trials", "3")


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["train", "coar"], ["'coar'", "'cora'"]),
        (["data", "get", "pubmd"], ["'pubmd'", "'pubmed'"]),
        (["train", "synthetic", "--alpha", "-0.5"], ["alpha", "at least 0", "-0.5"]),
        (["train", "synthetic", "--temperature", "0"], ["temperature", "above 0"]),
        (["train", "synthetic", "-T", "-1"], ["temperature", "above 0", "-1"]),
        (["train", "synthetic", "--perturbations", "0"], ["perturbations", "at least 1", "0"]),
        (["train", "synthetic", "-K", "0"], ["perturbations", "at least 1", "0"]),
        (["train", "synthetic", "--input-dropout", "1"], ["input", "dropout", "below 1"]),
        (["train", "synthetic", "--hidden-dropout", "1.0"], ["hidden", "dropout", "below 1"]),
        (["train", "synthetic", "--alpha", "nan"], ["alpha", "finite", "nan"]),
        (["train", "synthetic", "--method", "magic"], ["method", "graphmix, supervised", "magic"]),
        (["train", "synthetic", "--reading", "mine"], ["reading", "paper, released", "mine"]),
        (["train", "synthetic", "--unlabeled", "some"], ["unlabeled", "some"]),
        (["train", "synthetic", "--trials", "many"], ["--trials"]),
        (["train", "synthetic", "--trials", "0"], ["trials", "at least 1"]),
        (["train", "synthetic", "--chunk", "0"], ["chunk", "0"]),
        (["train", "synthetic", "--device", "abacus"], ["device", "'abacus'"]),
        (["train", "synthetic", "--device", "cuda:99"], ["device", "'cuda:99'"]),
        (["train", "synthetic", "--colour", "red"], ["--colour"]),
        (["train"], ["dataset"]),
        (["train", "nowhere.npz"], ["nowhere.npz"]),
        (["paint"], ["paint"]),
        (["demo", "--epochs", "0"], ["epochs", "at least 1"]),
    ],
)  # fmt: skip
def test_bad_options_get_one_sentence_and_leave_nothing(tmp_path, arguments, parts):
    refused(graphmix(*arguments, cwd=tmp_path), *parts)
    assert list(tmp_path.iterdir()) == []


def test_a_real_process_is_refused_with_the_same_exit_code(tmp_path):
    refused(graphmix_process("train", "coar", cwd=tmp_path), "'coar'", "'cora'")
    assert list(tmp_path.iterdir()) == []


def overlapping():
    train = arrays()["train"].copy()
    train[10] = True
    return {"train": train}


def empty_for_one_trial():
    held = arrays()
    masks = {name: np.stack([held[name]] * 2) for name in ("train", "val", "test")}
    masks["train"][1] = False
    return masks


def with_nan():
    x = arrays()["x"].copy()
    x[3, 4] = np.nan
    return {"x": x}


def with_stray_edge():
    edges = arrays()["edges"].copy()
    edges[1, 7] = 40
    return {"edges": edges}


def with_stray_label():
    y = arrays()["y"].copy()
    y[5] = 9
    return {"y": y, "num_classes": 3}


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        (overlapping, ["overlap", "node 10"]),
        (empty_for_one_trial, ["trial 1", "training"]),
        (with_nan, ["node 3", "feature 4"]),
        (with_stray_edge, ["40"]),
        (with_stray_label, ["node 5", "9"]),
        (lambda: {"y": arrays()["y"][:-1]}, ["39", "40"]),
    ],
    ids=["masks overlap", "empty training mask", "NaN", "edge to nowhere", "label outside", "too few labels"],
)
def test_bad_graphs_are_named_with_the_culprit(tmp_path, changes, parts):
    save(tmp_path / "mine.npz", **changes())
    refused(graphmix("train", "mine.npz", *QUICK, cwd=tmp_path), "mine.npz", *parts)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.npz"]


def test_a_file_named_like_a_dataset_is_still_the_users(tmp_path):
    save(tmp_path / "cora.npz")
    result = graphmix("train", "cora.npz", *QUICK, "--reading", "released", "--json", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    answer = json.loads(result.stdout)
    assert (answer["split"], answer["gamma"]) == ("custom", 1.0)
    refused(graphmix("data", "get", "cora.npz", cwd=tmp_path), "cora.npz")


def test_features_in_csr_form(tmp_path):
    import scipy.sparse as sp

    held = arrays()
    x = sp.csr_array(held.pop("x"))
    parts = {"x_data": x.data.astype(np.float16), "x_indices": x.indices, "x_indptr": x.indptr, "x_shape": x.shape}
    np.savez(tmp_path / "mine.npz", **held, **parts)
    assert graphmix("train", "mine.npz", *QUICK, cwd=tmp_path).returncode == 0
    np.savez(tmp_path / "broken.npz", **held, **(parts | {"x_indices": x.indices + 100}))
    refused(graphmix("train", "broken.npz", *QUICK, cwd=tmp_path), "broken.npz", "CSR")


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"num_classes": np.array([3, 4])}, "num_classes"),
        ({"num_classes": 3.7}, "num_classes"),
        ({"num_classes": 10**12}, "1,000,000"),
        ({"y": np.full(40, 10**9)}, "classes"),
        ({"train": arrays()["train"].astype(str)}, "bool"),
        ({"edges": arrays()["edges"].astype(float)}, "edges"),
    ],
)
def test_arrays_of_the_wrong_kind(tmp_path, changes, part):
    save(tmp_path / "mine.npz", **changes)
    refused(graphmix("train", "mine.npz", *QUICK, cwd=tmp_path), "mine.npz", part)


def test_more_memory_than_there_is(tmp_path):
    refused(graphmix("train", "synthetic", "--hidden", "2000000000", "--out", "run", cwd=tmp_path), "GiB")
    assert not (tmp_path / "run").exists()


def test_out_folders_that_cannot_be(tmp_path):
    refused(graphmix("train", "synthetic", *QUICK, "--out", "x" * 300, cwd=tmp_path), "x" * 300)
    (tmp_path / "file").write_text("mine")
    refused(graphmix("train", "synthetic", *QUICK, "--out", "file/run", cwd=tmp_path), "file/run")


def test_a_parts_folder_of_somebody_elses_is_left_alone(tmp_path):
    (tmp_path / "run" / "parts").mkdir(parents=True)
    (tmp_path / "run" / "parts" / "notes.txt").write_text("mine")
    refused(graphmix("train", "synthetic", *QUICK, "--out", "run", cwd=tmp_path), "run", "other files")
    assert (tmp_path / "run" / "parts" / "notes.txt").read_text() == "mine"


def test_a_terminal_that_knows_only_ascii(tmp_path):
    result = graphmix_process("train", "synthetic", *QUICK, cwd=tmp_path, PYTHONIOENCODING="ascii")
    assert result.returncode == 0, result.stderr
    assert "Run written to" in result.stdout
    assert graphmix_process("train", "--help", cwd=tmp_path, PYTHONIOENCODING="ascii").returncode == 0


def test_divergence_is_said(tmp_path):
    result = graphmix("train", "synthetic", *QUICK, "--learning-rate", "1e29", "--json", cwd=tmp_path)
    assert result.returncode == 0
    assert json.loads(result.stdout)["diverged"] == [0, 1]
    assert "trials 0, 1" in result.stderr


def test_ctrl_c_says_how_to_go_on_and_that_works(tmp_path):
    options = ["train", "synthetic", "--trials", "3", "--epochs", "8", "--chunk", "1"]
    options += ["--device", "cpu", "--no-report", "--json", "--out", "run"]
    ended = graphmix_signalled(*options, cwd=tmp_path, send=signal.SIGINT, files=1)
    assert ended.returncode == 130
    assert ended.stdout == ""
    warning, line = ended.stderr.strip().splitlines()
    assert "--epochs" in warning
    assert "interrupted" in line
    assert "--out run" in line
    assert len(list(tmp_path.glob("run/parts/*.safetensors"))) == 1
    done = graphmix(*options, cwd=tmp_path)
    assert len(json.loads(done.stdout)["test_accuracy"]) == 3


def test_an_interrupted_demo_goes_on(tmp_path):
    offline = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "", "https_proxy": "http://127.0.0.1:9"}
    small = ["demo", "--trials", "2", "--epochs", "8", "--device", "cpu", "--no-report", "--out", "d"]
    first = graphmix(*small, cwd=tmp_path, **offline)
    assert first.returncode == 0, first.stderr
    (tmp_path / "d" / "graphmix" / "results.json").unlink()
    for name in ("weights", "curves"):
        (tmp_path / "d" / "graphmix" / f"{name}.safetensors").unlink()
    again = graphmix(*small, cwd=tmp_path, **offline)
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "d" / "graphmix" / "results.json").exists()


def test_no_command_shows_the_help_and_nothing_else(tmp_path):
    result = graphmix(cwd=tmp_path)
    assert "Usage" in result.stdout
    assert result.stderr == ""


def test_a_file_that_is_no_graph(tmp_path):
    (tmp_path / "mine.npz").write_text("nodes and edges")
    refused(graphmix("train", "mine.npz", cwd=tmp_path), "mine.npz")
    with (tmp_path / "renamed.npz").open("wb") as file:
        np.save(file, np.eye(3))
    refused(graphmix("train", "renamed.npz", cwd=tmp_path), "renamed.npz")
    np.savez(tmp_path / "other.npz", x=np.eye(3))
    refused(graphmix("train", "other.npz", cwd=tmp_path), "other.npz", "'edges'")
    np.savez(tmp_path / "pickled.npz", **arrays(y=np.array([{}] * 40, dtype=object)))
    refused(graphmix("train", "pickled.npz", cwd=tmp_path), "pickled.npz")


@pytest.mark.data
def test_a_checksum_that_does_not_match(tmp_path, data_root):
    raw = tmp_path / "root" / "Cora" / "raw"
    raw.mkdir(parents=True)
    for source in (data_root / "Cora" / "raw").iterdir():
        (raw / source.name).write_bytes(source.read_bytes())
    content = bytearray((raw / "ind.cora.graph").read_bytes())
    content[100] ^= 1
    (raw / "ind.cora.graph").write_bytes(content)
    refused(graphmix("train", "cora", "--data-root", tmp_path / "root", cwd=tmp_path), "ind.cora.graph")
    assert (raw / "ind.cora.graph").read_bytes() == content


def test_an_output_folder_that_holds_another_run(tmp_path):
    assert graphmix("train", "synthetic", *QUICK, "--out", "run", cwd=tmp_path).returncode == 0
    before = {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()}
    refused(graphmix("train", "synthetic", *QUICK, "--seed", "9", "--out", "run", cwd=tmp_path), "run", "holds")
    refused(graphmix("train", "synthetic", *QUICK, "--out", "run", cwd=tmp_path), "run", "finished")
    assert {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()} == before


def test_data_list_names_every_dataset(tmp_path):
    shown = graphmix("data", "list", cwd=tmp_path).stdout
    for name in ("cora", "citeseer", "pubmed", "synthetic"):
        assert name in shown


@pytest.mark.data
def test_data_get_checks_what_is_there(tmp_path, data_root):
    result = graphmix("data", "get", "Cora", "--data-root", data_root, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "8 files" in result.stdout


def test_demo_without_network_says_so_and_runs_on_the_synthetic_graph(tmp_path):
    # No route out: proxies that refuse at once, and pip told to use no index.
    nowhere = "http://127.0.0.1:9"
    blocked = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "", "https_proxy": nowhere, "http_proxy": nowhere}
    result = graphmix("demo", "--trials", "2", "--epochs", "8", "--device", "cpu", cwd=tmp_path, **blocked)
    assert result.returncode == 0, result.stderr
    told, warned = result.stderr.splitlines()
    assert "Citeseer" in told
    assert "synthetic" in told
    assert "--epochs 8" in warned
    assert "GraphMix(GCN)" in result.stdout
    folder = tmp_path / result.stdout.split("Runs written to ")[1].splitlines()[0].strip()
    assert {path.name for path in folder.iterdir()} == {"graphmix", "supervised", "report.html"}


@pytest.mark.data
def test_demo_on_citeseer_shows_the_papers_numbers(tmp_path, data_root):
    result = graphmix("demo", "--trials", "2", "--epochs", "4", "--no-report", "--data-root", data_root, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "70.61 ± 0.22" in result.stdout
    assert "74.72 ± 0.59" in result.stdout


def test_progress_shows_epoch_accuracy_and_time_left_on_a_terminal(tmp_path):
    screen, terminal = pty.openpty()
    command = [*COMMAND, "train", "synthetic", "--trials", "2", "--epochs", "150", "--json", "--no-report"]
    variables = os.environ | {"OMP_NUM_THREADS": "1", "COLUMNS": "140", "TERM": "xterm-256color"}
    process = subprocess.Popen(command, cwd=tmp_path, env=variables, stdout=subprocess.PIPE, stderr=terminal)
    os.close(terminal)
    seen = b""
    while True:
        try:
            chunk = os.read(screen, 4096)
        except OSError:  # the terminal closes with the process
            break
        seen += chunk
    os.close(screen)
    answer, _ = process.communicate()
    assert process.returncode == 0
    json.loads(answer)
    text = seen.decode()
    assert "epoch 150/150" in text
    assert "validation" in text
    assert "0:00:0" in text


def test_version_and_help(tmp_path):
    version = graphmix_process("--version", cwd=tmp_path)
    assert version.returncode == 0
    assert version.stdout.startswith("graphmix ")
    for command in ([], ["train"], ["demo"], ["data"], ["data", "get"]):
        result = graphmix(*command, "--help", cwd=tmp_path)
        assert result.returncode == 0
        assert "Usage" in result.stdout


def test_the_package_installs_from_its_wheel(tmp_path):
    project = Path(__file__).parents[2]
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(project)]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("graphmix_learn-*.whl")
    empty = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(empty)], check=True)
    python = empty / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python)]
    subprocess.run([*pip, "install", "-q", "--no-deps", "--no-index", wheel], check=True)
    # Dependencies are borrowed from here; the package itself must come from the wheel.
    site = next((empty / "lib").glob("python*/site-packages"))
    (site / "borrowed.pth").write_text(str(Path(np.__file__).parents[1]))
    variables = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    streams = {"env": variables, "cwd": tmp_path, "check": True, "capture_output": True, "text": True}
    shown = subprocess.run([empty / "bin" / "graphmix", "data", "list"], **streams)
    assert "citeseer" in shown.stdout
    where = subprocess.run([python, "-c", "import graphmix; print(graphmix.__file__)"], **streams)
    assert where.stdout.startswith(str(empty))
