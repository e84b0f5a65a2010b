"""The page of a search: its words, its charts in a browser, and names that are markup."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from graphmix.report import read, render
from graphmix.results import formats
from graphmix.results.tuned import Comparison, Point, TuneResult, best_of
from graphmix.results.writer import to_json
from watched_page import Watched, points

MARKUP = "<img src=x onerror=alert(1)>"


def made(**changes: Any) -> TuneResult:
    """A search of nine points: the defaults, two that were stopped, one that failed, and the best, number 5."""
    scores = [72.0, 71.0, 73.5, 70.0, None, 75.25, 74.0, 40.0, 73.0]
    states = ["done", "done", "done", "stopped", "failed", "done", "done", "stopped", "done"]
    tried = []
    for number, (score, state) in enumerate(zip(scores, states, strict=True)):
        settings = {
            "backbone": "gpr" if number % 2 else "gcn",
            "hidden": 16 * (1 + number % 3),
            "gamma": 0.1 * 1.7**number,
        }
        settings |= {"hops": 3 + number} if number % 2 else {}
        values = (score - 1, score + 1) if state == "done" and score is not None else ()
        error = f"it cannot be {MARKUP}" if state == "failed" else None
        std = 1.4142 if values else None
        device = "cuda (H200)" if number == 8 else "cpu"
        tried.append(
            Point(number, state, settings, score, std, values, (60.0,) * 10, 2.5, number == 0, error, device)  # type: ignore[arg-type]
        )
    space = {"backbone": ["gcn", "gpr"], "hidden": [16, 32, 48], "gamma": {"low": 0.1, "high": 20.0, "log": True}}
    found = TuneResult(
        format=formats.TUNED,
        dataset=MARKUP,
        split="public",
        task="nodes",
        of_tables=False,
        metric="accuracy",
        method="graphmix",
        trials=2,
        asked=9,
        settings={"epochs": 300},
        space=space | {"hops": {"low": 2, "high": 12}},
        points=tuple(tried),
        best=best_of(tuple(tried)),
        importances={"gamma": 0.6, "hidden": 0.3, "backbone": 0.1},
        checked=Comparison((74.0, 75.0), (72.0, 72.5), 2.25, -0.9, 5.4),
        study="mine",
        storage="study.db",
        versions={"graphmix": "0.2.0"},
    )
    return replace(found, **changes)


def write_search(folder: Path, found: TuneResult | None = None) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tune.json").write_text(json.dumps(to_json(found or made())))
    return folder


def test_the_page_says_what_was_found_and_shows_names_as_text(tmp_path: Path) -> None:
    page = render(read(write_search(tmp_path)))
    assert "75.25 ± 1.41" in page
    assert "9 points of 9: 6 trained to the end, 2 stopped early, 1 failed." in page
    assert "this may be luck" in page
    assert "cpu, cuda (H200)" in page
    assert "graphmix train" in page
    assert MARKUP not in page


def test_a_search_of_tables_names_the_command_that_fits_them(tmp_path: Path) -> None:
    page = render(read(write_search(tmp_path, made(of_tables=True))))
    assert "graphmix fit --nodes" in page
    assert "Train with the best settings" not in page


def test_a_search_that_has_just_begun_has_a_page(tmp_path: Path) -> None:
    begun = made(points=(), best=None, importances={}, checked=None)
    page = render(read(write_search(tmp_path, begun)))
    assert "No point is done yet." in page
    assert 'data-chart="history"' not in page


@pytest.fixture(scope="module")
def search(open_page: Any) -> Watched:
    return open_page(write_search)


@pytest.mark.browser
def test_every_chart_of_a_search_is_drawn_with_all_its_points(search: Watched) -> None:
    search.draw_all()
    line, *marks = search.traces("chart-history")
    assert line["y"] == [72.0, 72.0, 73.5, 75.25, 75.25, 75.25]
    # The point that failed has no score.
    assert points(marks) == 8
    assert [trace["name"] for trace in marks] == ["trained to the end", "stopped early", "the defaults", "the best"]
    assert marks[-1]["x"] == [5]
    (bars,) = search.traces("chart-importances")
    assert bars["x"] == [60, 30, 10]
    assert points(search.traces("chart-slices")) == 8
    assert search.problems == []
    assert [address for address in search.requests if not address.startswith("file:")] == []


@pytest.mark.browser
def test_a_slice_shows_the_points_that_have_the_hyperparameter(search: Watched) -> None:
    search.draw_all()
    search.page.locator("#chart-slices [data-value=hops], #chart-slices select").first.wait_for()
    search.page.evaluate(
        "graphmix.figures.find((figure) => figure.element.id === 'chart-slices').choose('name', 'hops')"
    )
    assert points(search.traces("chart-slices")) == 4
    search.page.evaluate(
        "graphmix.figures.find((figure) => figure.element.id === 'chart-slices').choose('name', 'gamma')"
    )
    kind = search.page.evaluate("document.querySelector('#chart-slices .plot').layout.xaxis.type")
    assert kind == "log"
    for width in (390, 1440):
        search.page.set_viewport_size({"width": width, "height": 900})
        assert search.overflow() <= 0
