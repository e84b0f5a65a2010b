"""The page of a mixture: who is in it, what each method reaches alone, how networks learned, what is mistaken."""

import html
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from plotly import graph_objects

from fitted_metrics import CLASSES, EVIL, make_metrics, make_mixture, make_model, make_test
from graphmix.errors import RunError
from graphmix.report import read, render
from repeats import repeats
from watched_page import Watched

CHARTS = ("members", "alone", "comparison", "learning", "mistakes")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_model(tmp_path / "model", make_mixture(), format=3)


def shell(folder: Path) -> str:
    """What the page of a folder says, without its scripts and styles."""
    return html.unescape(re.sub(r"<(script|style).*?</\1>", "", render(read(folder)), flags=re.DOTALL))


def of(folder: Path, **changes: Any) -> str:
    """What the page of a mixture says if its metrics are others."""
    (folder / "metrics.json").write_text(json.dumps(make_mixture(**changes)))
    return shell(folder)


def drawn(page: str) -> list[str]:
    return [name for name in CHARTS if f'data-chart="{name}"' in page]


def single(**changes: Any) -> dict[str, Any]:
    """What changes if GPR-GNN alone was asked for."""
    only = make_mixture()["candidates"][2] | {"behind": None, "certain": None} | changes
    del only["share"]
    return {"chosen": only["method"], "candidates": [only]}


def test_columns_of_the_tables_and_of_the_methods_have_a_table_each(folder: Path) -> None:
    use = {"table": "papers.csv", "name": "year", "read_as": "number", "features": 3, "remark": "one cell missing"}
    page = of(folder, columns=[use])
    uses, methods = re.findall(r"<table.*?</table>", page[page.index("What became of every column") :], re.DOTALL)[:2]
    assert all(word in uses for word in ("year", "number", "3", "one cell missing"))
    assert ">Share<" in methods
    assert "GPR-GNN" in methods


def test_what_the_model_is_comes_first_and_its_lead_with_the_methods(folder: Path) -> None:
    page = shell(folder)
    said = (
        "The model averages 2 methods of the 4 tried: GPR-GNN 65 %, Label propagation 35 %. It is right on 80.0 %",
        'id="comparison"',
        "Alone, Label propagation is right on 82.5 %, 2.5 points more than the mixture",
        "Each of 40 labels was held out once and predicted by methods that had not seen it.",
        "was chosen by other labels than the one that is judged",
        "The shares are those with which the average predicts held-out labels best",
        "a mixture of 2 methods",
    )
    places = [page.find(text) for text in said]
    assert min(places) >= 0, said[places.index(min(places))]
    assert places == sorted(places)
    assert drawn(page) == list(CHARTS)


def test_every_candidate_has_its_row(folder: Path) -> None:
    table = shell(folder).split('aria-label="Methods"')[1].split("</table>")[0]
    rows = re.findall(r"<tr><th scope=\"row\">(.*?)</th>(.*?)</tr>", table, flags=re.DOTALL)
    read_rows = [
        [name, *(" ".join(re.sub(r"<.*?>", " ", cell).split()) for cell in row.split("</td>")[:-1])]
        for name, row in rows
    ]
    noise, more = "? may be noise", "✓ more than noise"
    assert read_rows == [
        ["Mixture", "", "80.0 65.2 to 89.5", "78.0", "0.610", "–", "★ the model", "–", "12.3 s"],
        ["Label propagation", "35 %", "82.5 68.1 to 91.3", "80.5", "0.750", "−2.5 −6.5 to +1.5", noise, "–", "12.3 s"],
        ["GPR-GNN", "65 %", "77.5 62.5 to 87.7", "75.5", "0.700", "2.5 −1.5 to +6.5", noise, "30", "12.3 s"],
        ["GraphSAGE", "–", "72.5 57.2 to 83.9", "70.5", "0.900", "7.5 +2.5 to +12.5", more, "40", "12.3 s"],
        ["Features only (FCN)", "–", "55.0 39.8 to 69.3", "53.0", "1.100", "25.0 +15.0 to +35.0", more, "10", "12.3 s"],
    ]


def test_a_method_that_is_better_alone_by_more_than_noise(folder: Path) -> None:
    candidates = make_mixture()["candidates"]
    candidates[1] |= {"behind": [-5.0, -8.0, -2.0], "certain": True}
    assert "better alone" in of(folder, candidates=candidates)


def test_a_single_method_is_no_mixture(folder: Path) -> None:
    page = of(folder, **single())
    assert "The model is GPR-GNN. It is right on 77.5 %" in page
    assert drawn(page) == ["learning", "mistakes"]
    assert not re.search(r"mixture|Share</th>|Ahead is", page)
    assert drawn(of(folder, **single(method="label-propagation", curve=None, epochs=None))) == ["mistakes"]


def test_given_validation_labels_and_test_nodes(folder: Path) -> None:
    page = of(folder, judged_on="validation nodes", test=make_test())
    assert "judged on the same 40 validation labels, which trained nothing" in page
    assert "trained anew on all training labels" in page
    assert "too good" not in page
    assert "Its methods one by one" in page


def test_older_folders_are_shown_as_before(tmp_path: Path) -> None:
    page = shell(make_model(tmp_path / "old", make_metrics()))
    assert drawn(page) == ["comparison"]
    assert "Use GraphMix(GCN): it is right on 80.0 %" in page
    assert "Behind is how many points of accuracy the best is ahead" in page
    assert "The best was chosen by accuracy." in page
    assert not re.search(r"[Mm]ixture|Share</th>|Log loss|Epochs</th>|<small>65", page)


def test_very_many_classes_have_no_matrix(folder: Path) -> None:
    assert "mistakes" not in drawn(of(folder, confusion=None))
    assert "mistakes" not in drawn(of(folder, confusion=[[0] * 3] * 3))


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({"confusion": [[1, 2], [3, 4]]}, ["confusion", "3 by 3"]),
        ({"confusion": [[1, 2, 3], [4, 5, 6], [7, 8]]}, ["confusion", "3 by 3"]),
        ({"confusion": [[1, 2, 3], [4, 5, 6], [7, 8, -1]]}, ["confusion[2][2]"]),
        (
            single(curve={"epochs": [1, 2], "loss": [1.0], "accuracy": [1.0, 2.0]}),
            ["candidates[0].curve.loss", "1", "2"],
        ),
        (single(backbone="mlp"), ["candidates[0].backbone", "'mlp'"]),
        (single(epochs=-1), ["candidates[0].epochs"]),
        ({"chosen": "fcn"}, ["chosen", "mixture"]),
    ],
)
def test_damaged_mixtures_are_refused_in_a_sentence(folder: Path, changes: dict[str, Any], parts: list[str]) -> None:
    (folder / "metrics.json").write_text(json.dumps(make_mixture(**changes)))
    with pytest.raises(RunError) as caught:
        read(folder)
    assert all(part in str(caught.value) for part in parts), caught.value


def places(value: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where anything is in a JSON value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [way, *(place for key, part in inner for place in places(part, (*way, key)))]


@settings(max_examples=repeats(40, 400), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_whatever_is_changed_gives_a_page_or_one_sentence(folder: Path, data: st.DataObject) -> None:
    metrics = make_mixture(test=make_test())
    own = [place for place in places(metrics) if place and place[0] in ("candidates", "chosen", "confusion", "format")]
    *way, last = data.draw(st.sampled_from(own))
    inside = metrics
    for key in way:
        inside = inside[key]
    inside[last] = data.draw(st.sampled_from([None, True, -1, 0, 10**400, 0.5, "x", [], [1], {}, {"a": 1}, 1, "fcn"]))
    (folder / "metrics.json").write_text(json.dumps(metrics))
    sentence = "metrics.json"
    try:
        render(read(folder)).encode()
    except RunError as error:
        sentence = str(error)
    assert "metrics.json" in sentence
    assert "\n" not in sentence


@pytest.fixture(scope="module")
def opened(open_page: Any) -> Watched:
    return open_page(lambda folder: make_model(folder, make_mixture(), format=3))


@pytest.mark.browser
def test_every_chart_of_the_methods_is_drawn(opened: Watched) -> None:
    opened.draw_all()
    (bars,) = opened.traces("chart-members")
    assert bars["x"] == [65.0, 35.0]
    model, inside, outside = opened.traces("chart-alone")
    assert (model["x"], inside["x"], outside["x"]) == ([80.0], [82.5, 77.5], [72.5, 55.0])
    assert inside["error_x"]["array"] == [pytest.approx(91.25 - 82.5, abs=0.05), pytest.approx(87.68 - 77.5, abs=0.05)]
    first, certain, unsure = opened.traces("chart-comparison")
    assert (first["x"], certain["x"], unsure["x"]) == ([0], [-7.5, -25.0], [2.5, -2.5])
    curves = opened.traces("chart-learning")
    # Of each network a curve, then the mark of its epochs.
    assert [trace["x"] for trace in curves[::2]] == [[10, 20, 30, 40]] * 3
    assert [trace["x"] for trace in curves[1::2]] == [[30], [40], [10]]
    assert [trace["y"] for trace in curves[1::2]] == [[0.7], [0.8], [2.0]]
    opened.page.click("#chart-learning button[data-value=accuracy]")
    assert [trace["y"] for trace in opened.traces("chart-learning")[1::2]] == [[80.0], [77.5], [40.0]]
    (matrix,) = opened.traces("chart-mistakes")
    assert matrix["z"][0] == [90.0, 5.0, 5.0]
    names = opened.page.locator("#chart-mistakes .ytick text").all_text_contents()
    assert names[0] == CLASSES[0]


@pytest.mark.browser
def test_plotly_finds_no_fault_with_any_chart(opened: Watched) -> None:
    opened.draw_all()
    script = "[...document.querySelectorAll('.plot')].map(({ data, layout }) => JSON.stringify({ data, layout }))"
    for figure in opened.page.evaluate(script):
        graph_objects.Figure(**json.loads(figure))  # it refuses names and values that Plotly does not have


@pytest.mark.browser
def test_nothing_sticks_out_or_goes_wrong(opened: Watched) -> None:
    for width in (390, 1440):
        opened.page.set_viewport_size({"width": width, "height": 900})
        opened.draw_all()
        assert opened.overflow() <= 0
    label = opened.page.locator("#chart-members .plot").get_attribute("aria-label")
    assert "GPR-GNN 65 %, Label propagation 35 %" in label
    label = opened.page.locator("#chart-comparison .plot").get_attribute("aria-label")
    assert "Label propagation 2.5 points ahead, GPR-GNN 2.5 points behind" in label
    assert opened.problems == []
    assert len(opened.requests) == 1


def test_names_are_harmless(folder: Path) -> None:
    (folder / "metrics.json").write_text(json.dumps(make_mixture(dataset=EVIL)))
    page = render(read(folder))
    assert page.count("</script>") == page.count("<script")
    assert EVIL not in page
