"""docs/tables.md, from two CSV files to predictions: its commands, in order, in an empty folder."""

import csv
import re
import runpy
import shlex
import sys
from pathlib import Path

import pytest
import torch

from graphmix import Config, fit, load
from graphmix.cli.main import app
from graphmix.data.datasets.sources import SourceUnavailable

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "tables.md").read_text()
# A command, or a file that the page shows: `name.csv`: and then its contents.
STEP = re.compile(
    r"^\$ (?P<command>[^\n]+)$|`(?P<name>\w+\.csv)`:\n\n```text\n(?P<content>.*?)```", re.MULTILINE | re.DOTALL
)


def walk(folder, monkeypatch, capsys, *quick):
    """Do what the page says in a folder; return what the commands printed, by their first words."""
    monkeypatch.chdir(folder)
    printed = {}
    for step in STEP.finditer(PAGE):
        if step["name"]:
            Path(step["name"]).write_text(step["content"])
            continue
        program, *words = shlex.split(step["command"], comments=True)
        capsys.readouterr()
        if program == "python":
            run_script(words, monkeypatch)
        else:
            short = [*quick, "--device", "cpu", "--no-report"] if words[0] == "fit" else []
            assert app([*words, *short], standalone_mode=False) in (None, 0), words
        printed.setdefault(words[0], capsys.readouterr().out)
    return printed


def run_script(words, monkeypatch):
    monkeypatch.setattr(sys, "argv", [str(ROOT / words[0]), *words[1:]])
    try:
        with pytest.raises(SystemExit) as ended:
            runpy.run_path(str(ROOT / words[0]), run_name="__main__")
    except SourceUnavailable as error:
        pytest.skip(str(error))
    if ended.value.code == 2:
        pytest.skip("the papers' ids cannot be fetched here")
    assert ended.value.code == 0


def rows(path):
    with Path(path).open(newline="") as stream:
        return list(csv.DictReader(stream))


@pytest.mark.data
def test_the_commands_of_the_page_run(data_root, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("GRAPHMIX_DATA", str(data_root))
    printed = walk(tmp_path, monkeypatch, capsys, "--epochs", "25", "--trials", "2")
    assert all(word in printed["fit"] for word in ("Mixture", "Label propagation", "GPR-GNN", "GraphSAGE"))
    assert "640 of them labeled" in printed["fit"]
    papers, predictions = rows("papers.csv"), rows("model/predictions.csv")
    assert [row["id"] for row in predictions] == [row["id"] for row in papers]
    assert [row["label"] for row in predictions] == [row["topic"] for row in papers]
    assert re.search(r"right on \d\d\.\d% of 1,000", printed["examples/score.py"])
    assert [row["id"] for row in rows("new.csv")] == ["p1", "p2"]
    assert len(rows("strict.csv")) == 2708
    assert len(rows("advice/label_next.csv")) == 20
    unlabeled = {row["id"] for row in papers if not row["topic"]}
    assert {row["id"] for row in rows("advice/label_next.csv")} <= unlabeled
    assert not {row["id"] for row in rows("advice/suspects.csv")} & unlabeled


@pytest.mark.slow
@pytest.mark.data
def test_the_page_is_no_worse_than_training_in_python(data_root, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("GRAPHMIX_DATA", str(data_root))
    printed = walk(tmp_path, monkeypatch, capsys)
    accuracy = float(re.search(r"right on (\d+\.\d)% of 1,000", printed["examples/score.py"])[1])
    graph, split = load("cora", data_root=data_root)
    trained = 100 * fit(graph, split, Config.for_dataset("cora", trials=5), device="cpu").test_accuracy.double()
    # Two standard deviations of a network.
    assert accuracy > trained.mean() - 2 * max(0.5, trained.std()), (accuracy, trained)
    assert torch.isfinite(trained).all()
