"""What the commands say where the labels are few: nothing that these do not show."""

import csv
import json

import pytest

from command_line import QUICK, graphmix
from small_tables import rows, write_edges, write_nodes


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A fit of which eight labels are held out: five folds of 4 AI and 4 DB, each held out once."""
    folder = tmp_path_factory.mktemp("few")
    topics = {f"p{number}": ("AI", "DB")[number % 2] for number in range(8)}
    nodes = write_nodes(folder / "n.csv", [{**row, "topic": topics.get(row["id"], "")} for row in rows()])
    tables = ["--nodes", nodes, "--edges", write_edges(folder / "e.csv"), "--label", "topic"]
    options = ["--methods", "label-propagation,fcn", *QUICK, "--trials", "5"]
    return folder, graphmix("fit", *tables, "--out", folder / "model", *options, cwd=folder)


def test_a_fit_on_eight_labels_claims_neither_calibration_nor_coverage_nor_a_target(made):
    folder, result = made
    assert result.returncode == 0, result.stderr
    said = " ".join(result.stdout.split())
    metrics = json.loads((folder / "model" / "metrics.json").read_text())
    assert metrics["held"] == 8
    assert "Not calibrated: 8 held-out labels are too few to fit a temperature (13 are needed)" in said
    assert "8 held-out labels are too few for prediction sets that promise 90 % coverage (9 are needed)" in said
    for claim in ("Calibrated", "before,", "meets", "cover 100"):
        assert claim not in said
    calibration, sets = metrics["calibration"], metrics["conformal"]
    assert (calibration["fitted"], calibration["temperature"]) == (False, 1.0)
    assert calibration["before"] == calibration["after"]
    assert (sets["empirical"], sets["mean_size"], sets["threshold"]) == (None, None, None)


def test_whether_predictions_abstain_follows_from_what_eight_labels_can_show(made):
    folder, _ = made
    metrics = json.loads((folder / "model" / "metrics.json").read_text())
    right = metrics["candidates"][0]["accuracy"] / 100
    # Five right of eight are at most 86.3 %, surely below 90; six may not be, with 92.9 %: scipy's Wilson interval.
    all_abstain = right * 8 < 5.5
    result = graphmix("predict", folder / "model", "--out", folder / "p.csv", cwd=folder)
    with (folder / "p.csv").open(newline="") as file:
        abstain = {row["abstain"] for row in csv.DictReader(file)}
    assert abstain == ({"true"} if all_abstain else {"false"})
    told = "too few to tell which predictions reach 90 % accuracy"
    assert (told in " ".join(result.stdout.split())) is not all_abstain
