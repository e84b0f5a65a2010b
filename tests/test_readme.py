"""The README keeps its word: its code runs, its tables are those of the results files, its files exist."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

PROJECT = Path(__file__).parents[1]
README = (PROJECT / "README.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


@pytest.mark.data
def test_the_code_runs_as_it_stands(data_root, monkeypatch, capsys):
    monkeypatch.setenv("GRAPHMIX_DATA", str(data_root))
    rng = np.random.default_rng(0)
    masks = np.arange(60) // 20 == np.arange(3)[:, None]
    own = {"x": rng.random((60, 8)), "edges": rng.integers(0, 60, (2, 150)), "y": np.arange(60) % 3}
    names = own | dict(zip(("train", "val", "test"), masks, strict=True))
    assert len(BLOCKS) == 5
    for block in BLOCKS:
        # Word for word but for the number of epochs: 20 show that it runs.
        exec(re.sub(r"trials=(\d+)(, epochs=\d+)?", r"trials=\1, epochs=20", block), names)
        if "classes" in names:
            assert names["classes"].shape == (3327,)
            assert "test accuracy" in capsys.readouterr().out
            del names["classes"]
        if "model" in names and "MyNet" in block:
            assert names["fit"].predict(names["graph"]).shape == (2, 3327)
    assert names["loss"].shape == (3,)
    assert names["val_accuracy"].shape == (3,)


def test_the_tables_are_made_from_the_results():
    check = [sys.executable, "benchmarks/tables.py", "--check"]
    subprocess.run(check, cwd=PROJECT, check=True)


def test_a_changed_result_would_be_noticed(monkeypatch):
    spec = importlib.util.spec_from_file_location("tables", PROJECT / "benchmarks" / "tables.py")
    tables = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tables)
    real = tables.read

    def worse(name):
        record = real(name)
        for row in record.get("cells", []) + record.get("runs", []) + record.get("rows", []):
            row["test_accuracy_mean" if "test_accuracy_mean" in row else "ours_ms"] += 1
        return record

    shown = [tables.TABLES[name]() for name in tables.TABLES]
    monkeypatch.setattr(tables, "read", worse)
    for name, before in zip(tables.TABLES, shown, strict=True):
        assert tables.TABLES[name]() != before


def test_what_it_links_to_exists():
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (PROJECT / target).exists(), target


def test_the_make_targets_it_names_exist():
    targets = set(re.findall(r"^([a-z]+):", (PROJECT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"`?make ([a-z]+)", README)) <= targets
