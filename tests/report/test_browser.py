"""A report in a browser: what is drawn, what a click does, and that nothing leaves the page."""

import copy
import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from plotly import graph_objects

from graphmix.report import read, write
from watched_page import Watched, points

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def demo(open_page: Any, make: Any) -> Watched:
    return open_page(make.demo)


@pytest.fixture(scope="module")
def results(open_page: Any, make: Any) -> Watched:
    return open_page(make.results)


def test_charts_wait_until_they_come_into_view(results: Watched) -> None:
    drawn = results.page.evaluate("graphmix.figures.map((figure) => figure.drawn)")
    assert drawn[0]
    assert not drawn[-1]
    results.page.locator("#chart-confusion").scroll_into_view_if_needed()
    results.page.wait_for_selector("#chart-confusion .plot .main-svg")


def test_the_tally_bar_is_in_proportion(results: Watched) -> None:
    for width in (390, 1440):
        results.page.set_viewport_size({"width": width, "height": 900})
        script = "[...document.querySelectorAll('.tally-bar span')].map((part) => part.getBoundingClientRect().width)"
        widths = results.page.evaluate(script)
        counts = [int(text) for text in results.page.locator(".tally b").all_text_contents()]
        assert len(counts) == len(widths) > 3
        assert [width / sum(widths) for width in widths] == pytest.approx(
            [count / sum(counts) for count in counts], abs=0.01
        )


def test_every_chart_of_a_demo_is_drawn_with_all_its_points(demo: Watched, make: Any) -> None:
    demo.draw_all()
    details = make.details(seed=1)
    boxes = demo.traces("chart-distribution")
    assert [trace["type"] for trace in boxes] == ["box", "box"]
    assert points(boxes) == 10
    curves = demo.traces("chart-curves")
    assert [len(trace["y"]) for trace in curves] == [40] * 6
    assert points(demo.traces("chart-embedding")) == len(details["embedding"]["x"])
    assert [len(trace["y"]) for trace in demo.traces("chart-soft-rank")] == [4, 4]
    shares = demo.traces("chart-confusion")[0]["z"]
    assert [round(sum(row)) for row in shares] == [100] * 4
    assert points(demo.traces("chart-confusion", 1)[2:]) == 13


def test_every_chart_of_results_is_drawn(results: Watched, make: Any) -> None:
    results.draw_all()
    assert points(results.traces("chart-differences")) == 6
    assert points(results.traces("chart-embedding-3")) == 60
    assert len(results.traces("chart-soft-rank-4")) == 2
    assert len(results.traces("chart-curves-2")) == 6
    grid, chosen, paper = results.traces("chart-selection-1")
    assert [len(grid["z"]), len(grid["z"][0])] == [3, 4]
    assert grid["z"][0][0] is None
    assert (chosen["name"], paper["name"]) == ("chosen here", "chosen in the paper")
    loss = results.traces("chart-bound-5")[1]
    assert len(loss["y"]) == 4
    # The failed trials, and the paper's number beside every row.
    failed, quoted = results.traces("chart-distribution")[-2:]
    assert len(failed["x"]) == 2
    assert len(quoted["x"]) == 4


def test_plotly_finds_no_fault_with_any_chart(demo: Watched, results: Watched) -> None:
    script = "[...document.querySelectorAll('.plot')].map(({ data, layout }) => JSON.stringify({ data, layout }))"
    for watched in (demo, results):
        watched.draw_all()
        drawn = watched.page.evaluate(script)
        assert len(drawn) >= 6
        for figure in drawn:
            graph_objects.Figure(**json.loads(figure))  # it refuses names and values that Plotly does not have


def test_graphmix_and_its_plain_network_stand_side_by_side(demo: Watched, make: Any) -> None:
    demo.page.set_viewport_size({"width": 1440, "height": 900})
    demo.draw_all()
    panels = demo.page.locator("#chart-embedding .panel")
    assert panels.locator(".panel-title").all_text_contents() == ["GCN", "GraphMix(GCN)"]
    labels = [plot.get_attribute("aria-label") for plot in panels.locator(".plot").all()]
    assert labels == [f"t-SNE of the hidden states: {name} on citeseer" for name in ("GCN", "GraphMix(GCN)")]
    for place, seed in enumerate((2, 1)):
        assert points(demo.traces("chart-embedding", place)) == len(make.details(seed=seed)["embedding"]["x"])
    first, second = (panel.bounding_box() for panel in panels.all())
    assert first["y"] == second["y"]
    assert first["width"] == pytest.approx(second["width"], abs=1)
    caption = demo.page.locator("#chart-embedding figcaption").inner_text()
    assert caption.index("GCN, trial 0") < caption.index("GraphMix(GCN), trial 0")


def test_a_click_switches_the_method_of_the_embedding(demo: Watched, make: Any) -> None:
    demo.draw_all()
    before = demo.traces("chart-embedding", 1)
    demo.page.locator('#chart-embedding [data-switch=name] button[data-value="GCN"]').click()
    after = demo.traces("chart-embedding")
    assert demo.page.locator("#chart-embedding-name-0").get_attribute("aria-pressed") == "true"
    assert demo.page.locator("#chart-embedding .panel").count() == 1
    assert after != before
    assert points(after) == len(make.details(seed=2)["embedding"]["x"])
    text = next(trace["text"][0] for trace in after if trace.get("text"))
    assert all(word in text for word in ("node ", "class ", "predicted ", "confidence "))
    # Wrong predictions are open marks, and only they.
    for trace in after:
        for line in trace.get("text", []):
            assert ("(wrong)" in line) == trace["marker"]["symbol"].endswith("-open")


def test_a_click_switches_the_quantity_of_the_curves(demo: Watched) -> None:
    demo.draw_all()
    demo.page.get_by_role("button", name="Validation loss").click()
    assert demo.traces("chart-curves")[2]["y"][3] is None
    demo.page.get_by_role("button", name="Validation accuracy").click()
    assert demo.traces("chart-curves")[2]["y"][3] is not None


def test_no_two_curves_look_the_same(browser: Any, make: Any, tmp_path: Path) -> None:
    rows, made = [f"GraphMix(network {place})" for place in range(11)], make.record()["cells"][3]
    record = make.record(rows=rows, columns=["cora"], cells=[made | {"row": row} for row in rows])
    (tmp_path / "r.json").write_text(json.dumps(record))
    write(read(tmp_path / "r.json"), tmp_path / "report.html")
    watched = Watched(browser, tmp_path / "report.html", width=390)
    watched.draw("chart-curves")
    lines = [trace["line"] for trace in watched.traces("chart-curves") if trace.get("name")]
    assert len({(line["color"], line["dash"]) for line in lines}) == 11
    # On a phone the names stand above the curves and leave them room.
    area = watched.page.locator("#chart-curves .plot .nsewdrag").first.bounding_box()
    assert area["height"] > 210
    watched.page.close()


def test_a_menu_switches_the_experiment_and_the_rest_follows(results: Watched) -> None:
    results.draw_all()
    results.page.locator("#chart-confusion-record").select_option(label="About embedding")
    label = results.page.locator("#chart-confusion .plot").first.get_attribute("aria-label")
    assert label == "Confusion: GraphMix(GCN) on cora"


def test_names_stay_text_in_charts(demo: Watched) -> None:
    demo.draw_all()
    shown = demo.page.locator("#chart-embedding .legendtext").all_text_contents()
    assert "<b>Genetic</b> & friends" in shown
    assert any(text.startswith("</script><script>") for text in shown)


def test_the_theme_changes_the_charts_too(demo: Watched) -> None:
    demo.draw_all()
    script = "document.querySelector('#chart-curves .plot').layout.font.color"
    light = demo.page.evaluate(script)
    demo.page.locator("#theme").click()
    assert demo.page.locator("html").get_attribute("data-theme") == "dark"
    assert demo.page.evaluate(script) != light
    demo.page.locator("#theme").click()
    assert demo.page.evaluate(script) == light


def test_a_verdict_explains_itself(results: Watched) -> None:
    results.page.locator("button.chip.lower").first.hover()
    assert "95 % interval −3.00 to −2.00" in results.page.locator("#hint").inner_text()
    results.page.keyboard.press("Escape")
    assert results.page.locator("#hint").is_hidden()


def test_a_command_can_be_copied(demo: Watched) -> None:
    demo.page.locator(".command .copy").first.click()
    demo.page.locator(".command .copy", has_text="Copied").first.wait_for()


@pytest.mark.parametrize("width", [390, 1440])
def test_nothing_sticks_out(results: Watched, demo: Watched, width: int) -> None:
    for watched in (results, demo):
        watched.page.set_viewport_size({"width": width, "height": 900})
        watched.draw_all()
        assert watched.overflow() <= 0
        watched.page.set_viewport_size({"width": 1440, "height": 900})


def test_a_name_without_spaces_is_not_broken_on_a_phone(results: Watched) -> None:
    results.page.set_viewport_size({"width": 390, "height": 900})
    lines = results.page.locator("#record-0-table th", has_text="GraphMix(GCN)").evaluate(
        "(name) => { const all = new Range(); all.selectNodeContents(name); return all.getClientRects().length; }"
    )
    results.page.set_viewport_size({"width": 1440, "height": 900})
    assert lines == 1


def test_printing_draws_everything_in_light_colours(results: Watched) -> None:
    results.page.locator("#theme").click()
    printed = results.page.evaluate(
        "() => { dispatchEvent(new Event('beforeprint')); return document.documentElement.dataset.theme; }"
    )
    assert printed == "light"
    results.page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert results.page.locator("html").get_attribute("data-theme") == "dark"
    assert len(results.page.pdf(format="A4")) > 100_000
    assert all(results.page.evaluate("graphmix.figures.map((figure) => figure.drawn)"))


def test_many_classes_stay_legible(browser: Any, make: Any, tmp_path: Path) -> None:
    names = [f"class {number}" for number in range(67)]
    record = make.record()
    record["cells"] = [copy.deepcopy(record["cells"][3]) | {"details": make.details(names, nodes=300)}]
    (tmp_path / "r.json").write_text(json.dumps(record))
    write(read(tmp_path / "r.json"), tmp_path / "report.html")
    watched = Watched(browser, tmp_path / "report.html", width=390)
    watched.draw_all()
    assert watched.overflow() <= 0
    ticks = watched.page.locator("#chart-confusion .plot").first.locator(".ytick text")
    assert ticks.count() == 67
    boxes = [ticks.nth(place).bounding_box() for place in range(3)]
    assert all(before["y"] + before["height"] <= after["y"] + 2 for before, after in itertools.pairwise(boxes))
    assert watched.problems == []
    watched.page.close()


def test_nothing_went_wrong_and_nothing_went_out(demo: Watched, results: Watched) -> None:
    for watched in (demo, results):
        watched.draw_all()
        assert watched.problems == []
        assert len(watched.requests) == 1
        assert watched.requests[0].startswith("file:")


def test_a_script_that_got_into_the_page_does_not_run(browser: Any, make: Any, tmp_path: Path) -> None:
    write(read(make.demo(tmp_path / "demo")), tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    planted = '<script>window.got = "in"</script><img src="data:," onerror="window.got = 1">'
    (tmp_path / "report.html").write_text(page.replace("<main", f"{planted}<main", 1))
    watched = Watched(browser, tmp_path / "report.html")
    watched.draw_all()
    assert watched.page.evaluate("typeof window.got") == "undefined"
    assert any("Content Security Policy" in problem for problem in watched.problems)
    watched.page.close()
