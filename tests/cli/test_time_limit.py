"""Durations as people write them, and a fit that ends in time."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from command_line import graphmix, refused
from graphmix.cli.durations import parse_duration
from graphmix.errors import ConfigError
from graphmix.workflow.options import FitOptions
from small_tables import pairs, rows, write_edges, write_nodes


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90),
        ("90s", 90),
        ("1.5", 1.5),
        ("5m", 300),
        ("0.5m", 30),
        ("1h", 3600),
        ("1h30m", 5400),
        ("1h30m5s", 5405),
        ("1h5s", 3605),
        ("2m30", 150),
        (" 5M ", 300),
        ("0h5m", 300),
    ],
)
def test_durations(text, seconds):
    assert parse_duration(text, "time_limit") == seconds


@pytest.mark.parametrize(
    "text", ["", " ", "0", "0s", "0m0s", "-5m", "5 m", "5d", "5m1h", "m", "s", "five", "1e3", "5,5m", "1h30m5s7", "inf"]
)
def test_what_is_no_duration(text):
    with pytest.raises(ConfigError, match="`time_limit` must be a time like 90s, 5m or 1h30m, not") as raised:
        parse_duration(text, "time_limit")
    assert repr(text) in str(raised.value)


@given(st.text(alphabet="0123456789.hms +-", max_size=8))
def test_any_text_is_a_time_or_one_sentence(text):
    try:
        seconds = parse_duration(text, "time_limit")
    except ConfigError:
        return
    assert seconds > 0


def test_seconds_that_cannot_be():
    for seconds in (0, -1, float("nan"), float("inf")):
        with pytest.raises(ConfigError, match="`time_limit` must be a number of seconds above 0"):
            FitOptions(time_limit=seconds)


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    nodes, edges = write_nodes(folder / "nodes.csv", rows(60)), write_edges(folder / "edges.csv", pairs(60))
    return ["--nodes", nodes, "--edges", edges, "--label", "topic", "--device", "cpu", "--no-report"]


def test_a_fit_ends_in_time_with_what_it_has(tables, tmp_path):
    # Half of so many epochs pass before GraphMix may stop early: that takes minutes. Label propagation takes a moment.
    long = ["--epochs", "100000", "--methods", "label-propagation,logistic-regression,graphmix"]
    began = time.monotonic()
    result = graphmix("fit", *tables, *long, "--time-limit", "6s", "--json", "--out", tmp_path / "model")
    assert result.returncode == 0, result.stderr
    assert time.monotonic() - began < 60
    told = json.loads(result.stdout)
    assert {place["method"] for place in told["candidates"]} >= {"label-propagation"}
    assert all(place["method"] != "graphmix" for place in told["candidates"])
    assert any("the time limit of 6 s" in failure for failure in told["failures"])
    assert "the time limit of 6 s" in result.stderr
    assert (tmp_path / "model" / "model.json").exists()


def test_enough_time_changes_nothing(tables, tmp_path):
    quick = ["--trials", "3", "--epochs", "3", "--methods", "label-propagation,supervised"]
    for name, limit in (("without", []), ("with", ["--time-limit", "1h"])):
        result = graphmix("fit", *tables, *quick, *limit, "--out", tmp_path / name)
        assert result.returncode == 0, result.stderr
    for file in ("predictions.csv", "weights.safetensors", "model.json", "config.json"):
        assert (tmp_path / "with" / file).read_bytes() == (tmp_path / "without" / file).read_bytes()


def test_time_for_nothing_is_one_sentence(tables, tmp_path):
    given = ["--methods", "graphmix", "--epochs", "100000", "--time-limit", "0.1s", "--out", tmp_path / "model"]
    result = graphmix("fit", *tables, *given)
    assert result.returncode == 2
    assert "the time limit of 0.1 s leaves no time for it" in result.stderr.strip().splitlines()[-1]
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("text", ["soon", "0", "-5m"])
def test_a_limit_that_is_none_is_refused_before_anything_is_read(tables, tmp_path, text):
    refused(graphmix("fit", *tables, f"--time-limit={text}", "--out", tmp_path / "m"), "--time-limit must be a time")
    assert not (tmp_path / "m").exists()


def test_what_there_was_no_time_for_is_tried_when_it_is_resumed(tables, tmp_path):
    """A finished model is not changed; an unfinished one goes on, whatever its limit was."""
    quick = ["--trials", "3", "--epochs", "3", "--methods", "label-propagation,supervised", "--out", tmp_path / "m"]
    assert graphmix("fit", *tables, *quick, "--time-limit", "1h").returncode == 0
    (tmp_path / "m" / "model.json").unlink()
    result = graphmix("fit", *tables, *quick, "--resume", "--time-limit", "2h")
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "m" / "model.json").exists()
