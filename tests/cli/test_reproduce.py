"""reproduce, report and select as people meet them."""

import json
import os
import subprocess
import time

import pytest

from command_line import COMMAND, QUICK, graphmix, graphmix_process, refused, save
from graphmix.cli.reproduce import _wanted
from graphmix.experiments.cells import Asked
from graphmix.experiments.spec import names, paper_specs

FEW = ["--trials", "2", "--epochs", "5", "--device", "cpu"]


def test_the_list_names_every_table_and_figure(tmp_path):
    result = graphmix("reproduce", "--list", cwd=tmp_path)
    assert result.returncode == 0
    assert all(name in result.stdout for name in names())
    assert "Table 1" in result.stdout
    assert "[dim]" not in result.stdout
    claims = [name for name in names() if name.startswith("claim-")]
    assert result.stdout.count("Not in the paper") == len(names()) - len(paper_specs()) - len(claims)


def test_all_is_the_paper():
    assert [spec.name for spec in _wanted("all", Asked())] == [spec.name for spec in paper_specs()]
    assert [spec.name for spec in _wanted("leaderboard", Asked())] == ["leaderboard"]


def test_a_claim_ends_with_its_verdict(tmp_path, monkeypatch):
    from graphmix import synthetic
    from graphmix.cli import reproduce as command
    from graphmix.experiments import runner
    from graphmix.experiments.spec import parse

    claim = {
        "name": "claim-mine",
        "title": "The network is better",
        "source": "Section 9",
        "about": "",
        "kind": "table",
        "trials": 3,
        "says": "The network beats itself.",
        "compares": [{"row": "A", "against": "B", "quantity": "test_accuracy", "expects": "higher"}],
        "settings": {"split": "public", "epochs": 4},
        "columns": [{"name": "Here", "dataset": "cora"}],
        "rows": [{"name": "A", "method": "supervised"}, {"name": "B", "method": "supervised"}],
    }
    made = parse(claim, "claim-mine")
    monkeypatch.setattr(command, "load_spec", lambda name: made)
    monkeypatch.setattr(runner, "loader", lambda *_: lambda cell: synthetic(nodes=120, labels_per_class=4, seed=3))
    out = str(tmp_path / "out")
    result = graphmix("reproduce", "claim-mine", "--device", "cpu", "--no-report", "--out", out, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "The network beats itself." in result.stdout
    # The same trials differ by nothing, for sure or not.
    assert "holds (Here" not in result.stdout.replace("does not hold", "")
    assert json.loads((tmp_path / "out/claim-mine.json").read_text())["claim"]["word"] in ("does not hold", "undecided")
    short = ["--device", "cpu", "--no-report", "--out", str(tmp_path / "short"), "--epochs", "2"]
    assert "beats itself" not in graphmix("reproduce", "claim-mine", *short, cwd=tmp_path).stdout


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        ([], ["all", "--list"]),
        (["table-9"], ["'table-9'", "standard-split"]),
        (["links", "--only", "MLP/Cora"], ["links", "'MLP/Cora'", "DeepWalk, GMNN"]),
        # A row that is only quoted.
        (["state-of-the-art", "--only", "GCN (Kipf and Welling)"], ["state-of-the-art", "'GCN (Kipf and Welling)'"]),
        (["all", "--only", "MLP/Rome"], ["'MLP/Rome'"]),
        (["links", "--trials", "0"], ["--trials"]),
        (["links", "--device", "abacus"], ["abacus"]),
    ],
)
def test_what_cannot_be_reproduced_is_said(arguments, parts, tmp_path):
    refused(graphmix("reproduce", *arguments, cwd=tmp_path), *parts)
    assert not (tmp_path / "reproduction").exists()


def test_without_data_it_says_what_is_missing_and_fails(tmp_path):
    result = graphmix("reproduce", "links", *FEW, "--only", "GCN", "--no-report", cwd=tmp_path)
    assert result.returncode == 2
    assert "bitcoin-otc" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.data
def test_a_cell_is_reproduced_with_a_verdict_and_a_report(tmp_path, data_root):
    arguments = ["reproduce", "random-splits", *FEW, "--only", "*GCN*/Cora/paper", "--data-root", data_root]
    first = graphmix(*arguments, cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    assert "GraphMix(GCN)" in first.stdout
    assert "verdict" in first.stdout
    assert "2 cells:" in first.stdout
    assert "[2/2]" in first.stderr
    assert "GraphMix(GCN) / Cora / paper" in first.stderr
    assert "reproduction/report.html" in first.stdout
    page = (tmp_path / "reproduction/report.html").read_text()
    assert "82.07" in page  # the paper's number
    before = (tmp_path / "reproduction/random-splits.json").read_bytes()
    again = graphmix(*arguments, cwd=tmp_path)
    assert again.returncode == 0
    assert (tmp_path / "reproduction/random-splits.json").read_bytes() == before


@pytest.mark.data
def test_a_failed_cell_fails_the_command_and_is_named(tmp_path, data_root):
    root = tmp_path / "data/Cora/raw"
    root.mkdir(parents=True)
    for file in (data_root / "Cora/raw").iterdir():
        (root / file.name).write_bytes(file.read_bytes()[:100])
    arguments = ["reproduce", "joint-optimisation", *FEW, "--only", "GCN/Cora", "--no-report"]
    result = graphmix(*arguments, "--data-root", tmp_path / "data", cwd=tmp_path)
    assert result.returncode == 1
    assert "GCN / Cora" in result.stderr
    assert "Traceback" not in result.stderr


def test_train_writes_a_report_and_says_where(tmp_path):
    save(tmp_path / "mine.npz")
    result = graphmix("train", "mine.npz", *QUICK[:-1], "--out", "run", cwd=tmp_path)
    assert result.returncode == 0
    assert "run/report.html" in result.stdout
    assert {"details.json", "report.html", "results.json"} <= {path.name for path in (tmp_path / "run").iterdir()}
    # The same from the folder alone, later.
    page = (tmp_path / "run/report.html").read_bytes()
    again = graphmix("report", "run", "-o", "again.html", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert "again.html" in again.stdout
    assert (tmp_path / "again.html").read_bytes() == page
    without = graphmix("train", "mine.npz", *QUICK, "--json", cwd=tmp_path)
    assert not list((tmp_path / json.loads(without.stdout)["out"]).glob("*.html"))


def test_json_of_train_stays_one_object_with_a_report(tmp_path):
    save(tmp_path / "mine.npz")
    result = graphmix("train", "mine.npz", *QUICK[:-1], "--json", "--out", "run", cwd=tmp_path)
    assert json.loads(result.stdout)["out"] == "run"
    assert (tmp_path / "run/report.html").exists()


def test_a_machine_without_plotly_trains_all_the_same(tmp_path):
    (tmp_path / "plotly.py").write_text("raise ImportError('not here')")
    first = f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    save(tmp_path / "mine.npz")
    result = graphmix_process("train", "mine.npz", *QUICK[:-1], "--out", "run", cwd=tmp_path, PYTHONPATH=first)
    assert result.returncode == 0, result.stderr
    assert "no report" in result.stderr
    assert "pip install 'graphmix-learn[report]'" in result.stderr
    assert (tmp_path / "run/results.json").exists()
    refused(graphmix_process("report", "run", cwd=tmp_path, PYTHONPATH=first), "plotly")


@pytest.mark.parametrize("damage", [b"", b'{"format": 1, "na', b"[]", b'{"format": 99}', b"\xff\xfe\x00"])
def test_a_report_of_damaged_results_is_refused_and_they_are_left(damage, tmp_path):
    path = tmp_path / "standard-split.json"
    path.write_bytes(damage)
    refused(graphmix("report", path, "-o", "page.html", cwd=tmp_path), "standard-split.json")
    assert path.read_bytes() == damage
    assert not (tmp_path / "page.html").exists()


def test_a_half_written_run_is_refused(tmp_path):
    assert graphmix("train", "synthetic", *QUICK, "--out", "run", cwd=tmp_path).returncode == 0
    whole = (tmp_path / "run/results.json").read_bytes()
    (tmp_path / "run/results.json").write_bytes(whole[: len(whole) // 2])
    refused(graphmix("report", "run", cwd=tmp_path), "run/results.json")
    assert (tmp_path / "run/results.json").read_bytes() == whole[: len(whole) // 2]
    refused(graphmix("report", "nowhere", cwd=tmp_path), "nowhere")
    refused(graphmix("report", "run", "-o", "run/results.json", cwd=tmp_path), "run/results.json")


SEARCH = [*FEW, "--alphas", "0,1", "--gammas", "0.1,1", "--no-report"]


def test_select_chooses_and_judges(tmp_path):
    result = graphmix("select", "synthetic", *SEARCH, "--json", "--out", "found", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    best = max(found["grid"], key=lambda point: point["val_accuracy_mean"])
    assert found["chosen"] == {"alpha": best["alpha"], "gamma": best["gamma"]}
    assert found["run"]["seed"] == 2
    record = json.loads((tmp_path / "found/select-synthetic-gcn.json").read_text())
    assert record["command"].startswith("graphmix select synthetic --alphas 0,1 --gammas 0.1,1")
    assert "--epochs" in result.stderr  # so few are warned of
    again = graphmix("select", "synthetic", *SEARCH, "--report", "--json", "--out", "found", cwd=tmp_path)
    assert json.loads(again.stdout) == found
    assert (tmp_path / "found/report.html").exists()
    table = graphmix("select", "synthetic", *SEARCH, "--out", "found", cwd=tmp_path)
    assert "→" in table.stdout
    assert f"--alpha {best['alpha']:g}" in table.stdout
    assert "seeds" in table.stdout


def test_select_takes_a_graph_of_ones_own_and_notices_another(tmp_path):
    save(tmp_path / "mine.npz")
    arguments = ["select", "mine.npz", *SEARCH, "--json", "--out", "found"]
    first = json.loads(graphmix(*arguments, cwd=tmp_path).stdout)
    assert first["run"]["dataset"] == "mine"
    save(tmp_path / "mine.npz", x=__import__("numpy").eye(40))
    second = json.loads(graphmix(*arguments, cwd=tmp_path).stdout)
    assert second["run"]["data"] != first["run"]["data"]


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["atlantis"], ["'atlantis'"]),
        (["synthetic", "--alphas", "one,two"], ["alphas", "'one,two'"]),
        (["synthetic", "--gammas", "-1"], ["at least 0", "-1"]),
        (["synthetic", "--backbone", "mlp"], ["backbone", "gcn, gat, unet", "'mlp'"]),
        (["nothing.npz"], ["nothing.npz"]),
        (["synthetic", "--split", "1-per-class-no-validation"], ["needs validation nodes", "another --split"]),
    ],
)
def test_select_refuses_what_it_cannot_search(arguments, parts, tmp_path):
    refused(graphmix("select", *arguments, *FEW[:2], cwd=tmp_path), *parts)


def test_select_refuses_a_damaged_graph_and_makes_no_folder(tmp_path):
    save(tmp_path / "mine.npz", edges=[[0, 99], [1, 2]])
    result = graphmix("select", "mine.npz", *SEARCH, "--out", "found", cwd=tmp_path)
    refused(result, "mine.npz", "node 99")
    assert "Error" not in result.stderr
    assert not (tmp_path / "found").exists()


@pytest.mark.slow
@pytest.mark.data
def test_the_whole_paper_in_small(tmp_path, data_root):
    started = time.monotonic()
    command = [*COMMAND, "reproduce", "all", "--trials", "2", "--epochs", "50"]
    command += ["--device", "cpu", "--out", str(tmp_path / "all")]
    variables = os.environ | {"OMP_NUM_THREADS": "2", "GRAPHMIX_DATA": str(data_root)}
    done = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    records = {path.stem: json.loads(path.read_text()) for path in (tmp_path / "all").glob("*.json")}
    assert set(records) == {spec.name for spec in paper_specs()}
    for record in records.values():
        for cell in record["cells"]:
            # Cora-Full's file is not among the datasets.
            wanted = {"done", "quoted"} if cell["column"] != "Cora-Full" else {"unavailable", "quoted"}
            assert cell["status"] in wanted, (record["name"], cell["row"], cell["column"], cell["error"])
    assert (tmp_path / "all/report.html").stat().st_size > 5_000_000
    assert "report.html" in done.stdout
    assert time.monotonic() - started < 3600
