"""The README keeps its word: its tables are those of the results files, its files exist."""

import importlib
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[1]
README = (PROJECT / "README.md").read_text()


def test_it_is_short():
    assert len(README.splitlines()) < 150


def test_the_tables_are_made_from_the_results():
    check = [sys.executable, "benchmarks/tables.py", "--check"]
    subprocess.run(check, cwd=PROJECT, check=True)


@pytest.fixture
def tables(monkeypatch):
    monkeypatch.syspath_prepend(str(PROJECT / "benchmarks"))
    yield importlib.import_module("tables")
    for name in ("tables", "findings", "own_tables", "results_overview", "results_page", "settings_table"):
        sys.modules.pop(name, None)


# What the tables of docs/tables.md show.
OWN = ("fit_mean", "new_mean", "ece_before_mean", "precision", "peak_memory_gib", "accuracy")


def worse(value):
    """The same results with every accuracy, time and term a little off, and no cell reproduced."""
    if isinstance(value, list):
        return [worse(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    changed = {name: worse(inner) for name, inner in value.items()}
    scores = ("test_accuracy_mean", "val_accuracy_mean", "test_macro_f1_mean")
    for name in (*scores, "ours_ms", "peak_gib", "V", "difference", *OWN):
        if isinstance(changed.get(name), int | float):
            changed[name] += 1
    if "soft_rank" in changed:
        changed["soft_rank"] = [[rank + 1 for rank in trial] for trial in changed["soft_rank"]]
    claimed = "findings" in changed or "asked" in changed
    return changed | ({"word": "does not hold" if claimed else "lower"} if "word" in changed else {})


def every_page(tables):
    return "\n".join(tables.pages().values())


def test_a_changed_result_would_be_noticed(tables, monkeypatch):
    import findings

    every = tables.TABLES | findings.FINDINGS | tables.OWN_TABLES | {"leaderboard": tables.leaderboard}
    for name in ("cora_score", "cora_folds"):
        del every[name]  # lines as they were printed
    shown = {name: table() for name, table in every.items()}
    whole = every_page(tables)
    real = json.loads
    monkeypatch.setattr(json, "loads", lambda text, **options: worse(real(text, **options)))
    for name, table in every.items():
        assert table() != shown[name], name
    # Line by line: every number of the page changes, and its words stay.
    lines = list(zip(whole.splitlines(), every_page(tables).splitlines(), strict=True))
    tabled = [(one, two) for one, two in lines if one.startswith("|") and re.search(r"\d\s± ?|-0\.\d{3}", one)]
    quoted = [one for one, two in tabled if one == two]
    assert len(tabled) > 100
    # What stays the same are the rows that the paper quotes from the literature.
    assert all("±" in line and line.count("|") <= 5 for line in quoted)


def test_what_it_links_to_exists():
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (PROJECT / target).exists(), target


def test_the_make_targets_it_names_exist():
    targets = set(re.findall(r"^([a-z]+):", (PROJECT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"`?make ([a-z]+)", README)) <= targets
