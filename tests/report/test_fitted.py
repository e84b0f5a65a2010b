"""The page of a fitted model: what is read and refused, what it says, and what a browser draws of it."""

import html
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from plotly import graph_objects

from fitted_metrics import CLASSES, EVIL, make_bins, make_metrics, make_model, make_test
from graphmix.data import synthetic
from graphmix.errors import RunError
from graphmix.report import read, render, write
from graphmix.workflow.fitting import fit_problem
from graphmix.workflow.nodes import NodeProblem
from graphmix.workflow.options import FitOptions
from graphmix.workflow.plan import make_plan
from graphmix.workflow.survey import survey
from repeats import repeats
from watched_page import Watched, points


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_model(tmp_path / "model", make_metrics())


def shell(folder: Path) -> str:
    """What the page of a folder says, without its scripts and styles."""
    return html.unescape(re.sub(r"<(script|style).*?</\1>", "", render(read(folder)), flags=re.DOTALL))


def test_the_headline_comes_first_and_warnings_are_plain(folder: Path) -> None:
    page = shell(folder)
    said = (
        "Use GraphMix(GCN): it is right on 80.0 % of 40 labels, each held out once (95 % interval 65.2 to 89.5).",
        "<b>Take care.</b> Labels are few.",
        "<b>Not tried.</b> supervised was left out: its loss became infinite",
        "82 % of the 60 edges between labels join one class; 31 % would by chance.",
        "64 % of the unlabeled nodes are within two steps of a label.",
        "features: words (text)",
        "2.5 (−1.5 to +6.5)",
        "overconfident, its confidence 12.5 points off on average",
        "brings that down to 4.5 points",
        "Below a confidence of 0.55 predictions abstain: 250 of 1,000 (25.0 %)",
        "91.0 % of 30 held-out labels were predicted correctly (95 % interval",
        "For 91.5 % of 40 held-out labels the set held the right class (95 % interval",
        "with 1.4 classes on average",
        "Time for training",
        "0.75 GiB",
        "graphmix predict",
        "what the model predicts, one row for each",
    )
    places = [page.find(text) for text in said]
    assert min(places) >= 0, said[places.index(min(places))]
    assert places == sorted(places)
    assert 'id="test"' not in page
    assert "heldout.safetensors" not in page  # it is not there


def test_every_candidate_has_its_row_and_verdict(folder: Path) -> None:
    rows = re.findall(r'<tr><th scope="row">(.*?)</th>.*?class="chip (\S+)"', shell(folder))
    assert rows == [
        ("GraphMix(GCN)", "reproduced"),
        ("Label propagation", "undecided"),
        ("Features only (FCN)", "higher"),
    ]


def test_test_nodes_where_some_were_given(tmp_path: Path) -> None:
    given = make_model(tmp_path / "m", make_metrics(test=make_test(), judged_on="validation nodes"))
    page = shell(given)
    assert "on 300 test nodes" in page
    assert "76.0 to 80.0 %" in page
    assert "11.0 % before, 3.5 % after" in page
    assert "a little too good" in page


def test_what_cannot_be_had_is_said(tmp_path: Path) -> None:
    metrics = make_metrics(abstention=make_metrics()["abstention"] | {"level": None, "kept": 0.0, "accuracy": None})
    metrics["conformal"] |= {"threshold": None, "sizes": [0, 0, 1000]}
    metrics["survey"] |= {"homophily": None, "chance": None, "adjusted_homophily": None, "reached": None}
    metrics["calibration"] |= {"after": make_bins(20.0)}
    metrics["candidates"] = metrics["candidates"][:1]
    page = shell(make_model(tmp_path / "m", metrics))
    assert "all 1,000 predictions" in page
    assert "40 labels" in page
    assert "90 %" in page
    assert "no edge" in page
    assert "All nodes are labeled." in page
    assert "did not help" in page
    assert 'id="chart-comparison"' not in page


def of_few_labels(labels: int, **abstention: Any) -> dict[str, Any]:
    """The metrics of a fit with few held-out labels: not calibrated, nothing known of sets and levels."""
    metrics = make_metrics(held=labels)
    metrics["candidates"][0]["accuracy"] = 87.5
    metrics["calibration"] = {"temperature": 1.0, "before": make_bins(24.4), "after": make_bins(24.4), "fitted": False}
    metrics["conformal"] |= {"empirical": None, "mean_size": None, "threshold": None, "sizes": [0, 0, 1000]}
    metrics["abstention"] |= {"level": 0.0, "kept": 100.0, "accuracy": None, "labels": None} | abstention
    return metrics


def test_few_labels_are_not_said_to_prove_anything(tmp_path: Path) -> None:
    page = shell(make_model(tmp_path / "m", of_few_labels(8)))
    assert "Not calibrated: 8 held-out labels are too few to fit a temperature (13 are needed)" in page
    assert "8 held-out labels are too few to tell which predictions reach 90 % accuracy (20 are needed)" in page
    assert "sets that promise 90 % coverage (9 are needed), so every set holds all 3 classes" in page
    assert "on 8 held-out labels; 95 % interval 53 to 98 %" in page  # Wilson's for 7 of 8
    assert not re.search(r"before,|Calibration \(|meets the target|Sets cover", page)


def test_pages_of_older_folders_do_not_claim_more(tmp_path: Path) -> None:
    old = of_few_labels(8, accuracy=100.0)
    del old["calibration"]["fitted"], old["abstention"]["labels"]
    page = shell(make_model(tmp_path / "m", old))
    assert "Not calibrated: 8 held-out labels are too few" in page
    assert "too few to tell which predictions reach 90 %" in page
    whole = make_metrics()
    del whole["abstention"]["labels"]
    assert "91.0 % of the others were right" in shell(make_model(tmp_path / "whole", whole))


def test_names_are_harmless(tmp_path: Path) -> None:
    evil = {"dataset": EVIL, "notes": [EVIL], "failures": [EVIL]}
    metrics = make_metrics(**evil)
    metrics["survey"]["warnings"] = [EVIL]
    page = render(read(make_model(tmp_path / "m", metrics, config={EVIL: EVIL}, versions={EVIL: EVIL})))
    # Every script element is one of ours, and no name became an element.
    assert page.count("</script>") == page.count("<script")
    assert EVIL not in page
    assert "<b>Genetic" not in page


def test_a_few_of_very_many_classes_are_shown(tmp_path: Path) -> None:
    names, metrics = [f"class {place}" for place in range(10_000)], make_metrics()
    metrics["survey"] |= {"class_names": names, "class_counts": [1] * 9_000 + [2] * 1_000}
    metrics |= {"classes": names, "predicted": [1] * 9_000 + [3] * 1_000}
    metrics["conformal"]["sizes"] = [12_000] + [0] * 9_999
    page = shell(make_model(tmp_path / "m", metrics))
    assert re.search(r"\b30 classes\b.*\b10,000\b", page)
    assert '<th scope="row">9,970 other classes</th><td>10,940</td><td>11,910</td>' in page
    assert len(page) < 100_000


def test_the_curves_of_the_candidates(folder: Path, run_folder: Path, demo_folder: Path) -> None:
    assert "Training curves" not in shell(folder)
    (folder / "candidates").mkdir()
    run_folder.rename(folder / "candidates" / "graphmix")
    (record,) = read(folder).records
    assert record.rows == ("GraphMix(GCN)",)
    assert record.cells[0].details is not None
    assert record.cells[0].details.reliability is None
    assert "Training curves" in shell(folder)


def test_a_fit_that_is_not_done(folder: Path) -> None:
    (folder / "model.json").unlink()
    with pytest.raises(RunError, match=r"unfinished fit.*model\.json"):
        read(folder)


def change(*keys: Any, to: Any) -> Callable[[dict[str, Any]], None]:
    def changed(metrics: Any) -> None:
        *way, last = keys
        for key in way:
            metrics = metrics[key]
        metrics[last] = to

    return changed


@pytest.mark.parametrize(
    ("broken", "parts"),
    [
        (lambda metrics: metrics.pop("held"), ["'held'"]),
        (change("format", to=3), ["format", "3", "newer", "2"]),
        (change("candidates", to=[]), ["candidates", "empty"]),
        (change("candidates", 1, "behind", to=None), ["candidates[1].behind", "null"]),
        (change("candidates", 0, "behind", to=[1, 2, 3]), ["candidates[0].behind", "null"]),
        (change("candidates", 1, "certain", to=1), ["candidates[1].certain", "true", "false"]),
        (
            change("candidates", 0, "method", to="magic"),
            ["candidates[0].method", "'magic'", "mixture", "label-propagation", "graphmix"],
        ),
        (change("chosen", to="fcn"), ["chosen", "graphmix"]),
        (change("classes", to=["one"]), ["classes", "1", "3"]),
        (change("conformal", "sizes", to=[1, 2]), ["conformal.sizes", "2", "3"]),
        (change("abstention", "curve", "kept", to=[1]), ["abstention.curve.kept", "1", "5"]),
        (change("survey", "nodes", to="many"), ["survey.nodes", "number"]),
        (change("survey", "warnings", to=[3]), ["survey.warnings[0]", "text"]),
        (change("calibration", "before", "count", to=None), ["calibration.before.count", "list"]),
        (change("test", to={"nodes": 3}), ["test", "'accuracy'"]),
    ],
)
def test_damaged_metrics_are_refused_in_a_sentence(folder: Path, broken: Any, parts: list[str]) -> None:
    metrics = make_metrics()
    broken(metrics)
    path = folder / "metrics.json"
    path.write_text(json.dumps(metrics))
    with pytest.raises(RunError) as caught:
        read(folder)
    said = str(caught.value).removeprefix(str(path))
    assert said != str(caught.value)
    assert "\n" not in said
    assert all(part in said for part in parts), said


def test_other_files_are_refused_by_name(folder: Path) -> None:
    (folder / "metrics.json").write_text(json.dumps(make_metrics(held=float("nan"))))
    with pytest.raises(RunError, match=r"metrics\.json.*NaN"):
        read(folder)
    (folder / "metrics.json").unlink()
    with pytest.raises(RunError, match=r"without metrics\.json.*graphmix fit"):
        read(folder)
    (folder / "metrics.json").write_text(json.dumps(make_metrics()))
    (folder / "model.json").write_text('{"format": 7}')
    with pytest.raises(RunError, match=r"model\.json.*7.*newer"):
        read(folder)


def places(value: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where anything is in a JSON value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [way, *(place for key, part in inner for place in places(part, (*way, key)))]


@settings(max_examples=repeats(40, 400), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_whatever_is_changed_gives_a_page_or_one_sentence(folder: Path, data: st.DataObject) -> None:
    metrics = make_metrics(test=make_test())
    *way, last = data.draw(st.sampled_from(places(metrics)[1:]))
    strange = st.sampled_from([None, True, -1, 0, 10**400, 0.5, "x", "\ud800", [], [1], {}, {"a": 1}])
    change(*way, last, to=data.draw(strange))(metrics)
    (folder / "metrics.json").write_text(json.dumps(metrics))
    sentence = "metrics.json"
    try:
        render(read(folder)).encode()
    except RunError as error:
        sentence = str(error)
    assert "metrics.json" in sentence
    assert "\n" not in sentence


def test_what_a_fit_writes_can_be_read(tmp_path: Path) -> None:
    made, split = synthetic(nodes=120)
    graph = replace(made, class_names=tuple(f"class {place}" for place in range(made.num_classes)))
    problem = NodeProblem(graph=graph, split=split, ids=[str(node) for node in range(120)], notes=("a note",))
    options = FitOptions(methods=("label-propagation", "fcn"))
    plan = make_plan(graph, options.methods, {"trials": 2, "epochs": 20})
    fitted = fit_problem(problem, plan, options, tmp_path / "model")
    assert fitted.metrics is not None
    contents = read(tmp_path / "model")
    assert contents.fitted is not None
    assert contents.fitted.metrics == fitted.metrics
    model, *others = fitted.metrics.candidates
    assert (model.method, {one.method for one in others}) == ("mixture", {"label-propagation", "fcn"})
    assert sum(one.share or 0 for one in others) == pytest.approx(100)
    assert contents.records == ()
    assert contents.fitted.metrics.test is not None
    assert contents.fitted.metrics.survey == survey(graph, problem.known)
    page = render(contents)
    assert f"{fitted.metrics.candidates[0].accuracy:.1f} % of" in page
    assert "a note" in page
    assert "How the networks learned" in page


@pytest.fixture(scope="module")
def opened(open_page: Any, make: Any) -> Watched:
    def make_in(folder: Path) -> Path:
        made = make_model(folder, make_metrics(test=make_test()))
        make.demo(made / "candidates")
        return made

    return open_page(make_in)


@pytest.mark.browser
def test_every_chart_is_drawn_with_all_its_points(opened: Watched) -> None:
    opened.draw_all()
    best, certain, unsure = opened.traces("chart-comparison")
    assert (best["x"], certain["x"], unsure["x"]) == ([0], [-25.0], [-2.5])
    assert (unsure["error_x"]["array"], unsure["error_x"]["arrayminus"]) == ([4.0], [4.0])
    _, before, after = opened.traces("chart-calibration")
    assert (before["x"], after["y"]) == ([40.0, 80.0], [50.0, 90.0])
    assert ("12.5" in before["name"], "4.5" in after["name"]) == (True, True)
    curve, target, level = opened.traces("chart-abstention")
    # Of 40 labels the first two points keep 4 and 12, which is luck.
    assert (curve["x"], curve["y"]) == ([50.0, 70.0, 100.0], [92.0, 90.0, 80.0])
    assert target["y"] == [90.0, 90.0]
    # Half way between the confidences 0.6 and 0.5, and so between the shares.
    assert (level["x"], level["y"]) == ([pytest.approx(60.0)], [91.0])
    assert opened.traces("chart-sizes")[0]["y"] == [70.0, 25.0, 5.0]
    _, labels, predicted = opened.traces("chart-classes")
    assert (labels["x"], predicted["x"]) == ([50.0, 37.5, 12.5], [60.0, 35.0, 5.0])
    assert points(opened.traces("chart-curves")) == 3 * 40


@pytest.mark.browser
def test_plotly_finds_no_fault_with_any_chart(opened: Watched) -> None:
    opened.draw_all()
    script = "[...document.querySelectorAll('.plot')].map(({ data, layout }) => JSON.stringify({ data, layout }))"
    for figure in opened.page.evaluate(script):
        graph_objects.Figure(**json.loads(figure))  # it refuses names and values that Plotly does not have


@pytest.mark.browser
def test_names_stay_text_and_nothing_sticks_out_or_goes_wrong(opened: Watched) -> None:
    for width in (390, 1440):
        opened.page.set_viewport_size({"width": width, "height": 900})
        opened.draw_all()
        assert opened.overflow() <= 0
    names = opened.page.locator("#chart-classes .annotation-text").all_text_contents()
    assert names == CLASSES
    label = opened.page.locator("#chart-calibration .plot").get_attribute("aria-label")
    assert all(part in label for part in ("calibration", "12.5 % before", "4.5 % after")), label
    assert len(opened.page.pdf(format="A4")) > 50_000
    assert opened.problems == []
    assert len(opened.requests) == 1


@pytest.mark.browser
def test_a_page_without_runs_is_drawn(browser: Any, folder: Path, tmp_path: Path) -> None:
    metrics = make_metrics(abstention=make_metrics()["abstention"] | {"level": None, "accuracy": None})
    (folder / "metrics.json").write_text(json.dumps(metrics))
    write(read(folder), tmp_path / "report.html")
    watched = Watched(browser, tmp_path / "report.html")
    watched.draw_all()
    assert len(watched.traces("chart-abstention")) == 2
    assert watched.problems == []
    watched.page.close()
