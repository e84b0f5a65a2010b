"""The table of a fit: the model first, every number in its place, and never wider than the screen."""

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from fitted_metrics import make_mixture
from graphmix.cli.outcome_table import outcome_table
from graphmix.results.fit import FitMetrics
from graphmix.results.reader import parse

ALL = ["method", "share", "accuracy", "macro F1", "log loss", "model ahead by", "epochs", "seconds"]


@pytest.fixture
def mixture():
    return parse(FitMetrics, make_mixture(), Path("metrics.json"))


def printed(metrics, width):
    console = Console(file=io.StringIO(), width=width, color_system=None)
    console.print(outcome_table(metrics, width))
    return console.file.getvalue().splitlines()


def cells(line):
    return [cell.strip() for cell in line.strip("│┃").replace("┃", "│").split("│")]


def table(metrics, width):
    """The header and the rows, without the lines between them."""
    return [cells(line) for line in printed(metrics, width) if line[:1] in "│┃"]


def test_the_model_comes_first_and_what_is_more_than_noise_is_marked(mixture):
    title = printed(mixture, 140)[0].strip()
    assert title == "Percent of 40 held-out labels (95 % interval); * is more than noise"
    header, *rows = table(mixture, 140)
    assert header == ALL
    assert rows == [
        ["Mixture", "", "80.0 (65 to 90)", "78.0", "0.61", "", "", "12.3"],
        ["Label propagation", "35 %", "82.5 (68 to 91)", "80.5", "0.75", "−2.5 (−6.5 to 1.5)", "", "12.3"],
        ["GPR-GNN", "65 %", "77.5 (62 to 88)", "75.5", "0.70", "2.5 (−1.5 to 6.5)", "30", "12.3"],
        ["GraphSAGE", "–", "72.5 (57 to 84)", "70.5", "0.90", "7.5 (2.5 to 12.5)*", "40", "12.3"],
        ["Features only (FCN)", "–", "55.0 (40 to 69)", "53.0", "1.10", "25.0 (15.0 to 35.0)*", "10", "12.3"],
    ]


@pytest.mark.parametrize("width", [50, 60, 70, 80, 90, 100, 110, 120, 140])
def test_columns_are_left_out_rather_than_wrapped(mixture, width):
    lines = printed(mixture, width)
    assert max(map(len, lines)) <= width
    header, *rows = table(mixture, width)
    assert header == [name for name in ALL if name in header]
    assert header[0] == "method"
    assert "accuracy" in header
    assert len(rows) == 5
    assert "…" not in "".join(lines)


def test_a_terminal_of_80_columns_shows_the_shares_and_the_lead(mixture):
    # The longest name there is.
    long = replace(mixture.candidates[3], method="graphmix-steady", behind=(12.5, 10.2, 14.6))
    header, *rows = table(replace(mixture, candidates=(*mixture.candidates[:3], long)), 80)
    assert header[:4] == ["method", "share", "accuracy", "model ahead by"]
    assert rows[3][0] == "Steady GraphMix(GraphSAGE)"


def test_a_single_method_has_no_share_and_no_lead(mixture):
    only = replace(mixture.candidates[2], behind=None, certain=None, share=None)
    single = replace(mixture, chosen="supervised", candidates=(only,))
    header, row = table(single, 100)
    assert header == ["method", "accuracy", "macro F1", "log loss", "epochs", "seconds"]
    assert row[:2] == ["GPR-GNN", "77.5 (62 to 88)"]
    assert "noise" not in " ".join(printed(single, 100))
