"""What objects show of themselves in a notebook: right numbers, and nothing of a table's text as markup."""

from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import graphmix
from graphmix import Config, FitOptions, Graph, fit, fit_tables, synthetic, train
from graphmix.notebook import html_facts, html_table, html_text
from graphmix.report.explained import write_explanations
from graphmix.workflow.advice import Advice
from graphmix.workflow.output import OutputTable

MARKUP = "<script>alert(1)</script>"
EVIL = "<img src=x onerror=alert(1)>"


class Tags(HTMLParser):
    """The tags and the text of a piece of HTML."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.text = set(), ""
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)

    def handle_data(self, data):
        self.text += data


def shown(thing):
    """What a notebook shows; only our own tags are there."""
    html = Tags(thing._repr_html_())
    assert html.tags <= {"div", "strong", "table", "tr", "th", "td", "p"}
    return html.text


@pytest.fixture(scope="module")
def model():
    """A model whose ids, columns, words and classes are markup."""
    rng = np.random.default_rng(0)
    nodes = pd.DataFrame({MARKUP: [f"{EVIL}{number}" for number in range(30)]})
    nodes["label"] = [[MARKUP, EVIL, None][number % 3] for number in range(30)]
    nodes[f"size {EVIL}"] = np.arange(30) % 3 + rng.normal(size=30)
    nodes["text"] = [f"some {MARKUP} words and script{number % 3} there" for number in range(30)]
    ends = {"source": nodes[MARKUP], "target": [nodes[MARKUP][(number + 3) % 30] for number in range(30)]}
    options = FitOptions(methods=("logistic-regression",), device="cpu")
    columns = graphmix.Columns(id=MARKUP)
    return fit_tables(nodes, pd.DataFrame(ends), label="label", columns=columns, options=options)


def test_a_graph():
    graph = Graph.build([[1.0], [2.0], [3.0]], [[0, 1], [1, 2]], [0, 1, -1], name=MARKUP, class_names=(EVIL, "b"))
    text = shown(graph)
    assert f"Graph {MARKUP}" in text
    assert EVIL in text
    assert "labeled nodes2" in text


def test_fits_and_runs(tmp_path):
    graph, split = synthetic(nodes=60, classes=2, features=5, labels_per_class=4, seed=0)
    config = Config(trials=2, epochs=3)
    fitted = fit(graph, split, config, device="cpu")
    assert f"{100 * fitted.test_accuracy.double().mean():.1f}" in shown(fitted)
    assert "trials2" in shown(fitted)
    run = train(graph, split, config, tmp_path / "run", device="cpu")
    assert "Run on synthetic" in shown(run)
    assert len(repr(run)) < 1000


def test_a_fit_says_in_a_line_what_was_trained_and_tested():
    graph, split = synthetic(nodes=60, classes=2, features=5, labels_per_class=4, seed=0)
    config = Config(trials=1, epochs=1)
    assert "1 trial × 1 epoch: test accuracy " in repr(fit(graph, split, config, device="cpu"))
    untested = replace(split, test=split.test & False)
    assert ": no test nodes, " in repr(fit(graph, untested, config, device="cpu"))


def test_models_predictions_and_reasons_show_markup_as_text(model):
    assert MARKUP in shown(model)
    assert "Logistic regression 100%" in shown(model)
    text = shown(model.predict())
    assert "30 rows" in text
    assert "and 20 more" in text
    assert f"{EVIL}9" in text
    assert f"{EVIL}10" not in text
    assert EVIL in shown(model.explain(f"{EVIL}4"))


def test_predictions_are_a_frame(model):
    frame = model.predictions
    assert isinstance(frame, pd.DataFrame)
    assert list(frame[MARKUP]) == [f"{EVIL}{number}" for number in range(30)]
    assert set(frame["predicted"]) <= {MARKUP, EVIL}


@pytest.mark.browser
def test_a_page_of_reasons_shows_markup_as_text(model, browser, tmp_path):
    write_explanations(model.explain([f"{EVIL}4", f"{EVIL}5"]), tmp_path / "page.html")
    page = browser.new_page(viewport={"width": 390, "height": 800})
    asked, said = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.on("dialog", lambda dialog: said.append("a dialog"))
    page.goto((tmp_path / "page.html").as_uri())
    assert page.locator("section h2").count() == 2
    assert page.locator("img").count() == 0
    assert EVIL in page.inner_text("body")
    assert len(asked) == 1
    assert said == []
    # Nothing is wider than a phone.
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.locator("#theme").press("Enter")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before
    page.close()


def test_advice_shows_both_tables():
    table = OutputTable({"id": [EVIL], "reason": ["a"]}, ("id",))
    text = shown(Advice(table, table, notes=(MARKUP,)))
    assert text.count(EVIL) == 2
    assert MARKUP in text


def test_pieces():
    assert "1,234" in html_facts("a", [("n", 1234), ("none", None), ("empty", "")])
    assert "none" not in html_facts("a", [("none", None)])
    assert "&lt;b&gt;" in html_table("t", ["<b>"], [["<i>", 0.123456, None]])
    assert "0.1235" in html_table("t", ["<b>"], [["<i>", 0.123456, None]])
    assert html_text("t", ["<p>"]) == "<div><strong>t</strong><p>&lt;p&gt;</p></div>"
