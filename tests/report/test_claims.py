"""The paper's claims in a report: what it says of them, and the grid in a browser."""

import html
import json
import re
from pathlib import Path
from typing import Any

import pytest

from graphmix.errors import RunError
from graphmix.report import read, render
from graphmix.report.wording import headline
from watched_page import Watched

SAYS = '"GraphMix is better & <b>not</b> sensitive."'
BETTER = {"row": "GraphMix(GCN)", "against": "GCN", "quantity": "test_accuracy", "expects": "higher", "margin": 0.5}
CHEAP = BETTER | {"quantity": "seconds", "expects": "at most", "bound": 1.5}
FLAT = {"row": "GraphMix(GCN)", "quantity": "grid", "expects": "at most", "bound": 1.0}


def found(asked: dict[str, Any], column: str, word: str = "undecided", **changes: Any) -> dict[str, Any]:
    return {"asked": asked, "column": column, "reading": "paper", "word": word, **changes}


HIGHER = {"ours": 84.26, "other": 82.0, "difference": 2.26, "interval": [2.0, 2.5], "p": 0.00001, "n": [5, 4]}
FINDINGS = [
    found(BETTER, "cora", "holds", **HIGHER),
    found(CHEAP, "cora", "does not hold", ours=3.0, other=1.5),
    found(BETTER, "pubmed"),
    found(CHEAP, "pubmed"),
]


def claim_record(make: Any, **changes: Any) -> dict[str, Any]:
    """A claim about two rows: run on cora, not on pubmed."""
    cells = [cell | {"details": None} for cell in make.record()["cells"] if cell["reading"] == "paper"]
    claim = {"says": SAYS, "word": "holds in part", "findings": FINDINGS}
    made = {"name": "claim-mine", "title": "It is better", "source": "Section 9", "claim": claim, "cells": cells}
    return make.record(**made | changes)


def save(folder: Path, *records: dict[str, Any]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for record in records:
        (folder / f"{record['name']}.json").write_text(json.dumps(record))
    return folder


def section(page: str) -> str:
    """The text of the claims on a page, without tags."""
    held = re.search(r'<section id="claims">(.*?)</section>', page, re.DOTALL)
    assert held is not None
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", " ", held[1])))


def test_a_claim_has_its_words_verdict_and_findings(make: Any, tmp_path: Path) -> None:
    page = render(read(save(tmp_path, claim_record(make), make.record())))
    text = section(page)
    for part in (SAYS, "◐ holds in part", "Section 9", "graphmix reproduce standard-split"):
        assert part in text
    better, cheap = text.index("GraphMix(GCN): higher than GCN"), text.index("GraphMix(GCN): at most 1.5 times GCN")
    assert "test accuracy (%) 84.26 and 82.00 +2.26 [+2.00, +2.50] ✓ holds ○ not run" in text[better:cheap]
    assert "seconds a trial 3.000 and 1.500 2.00 times ✕ does not hold ○ not run" in text[cheap:]
    assert 'data-tip="p &lt; 0.0001; n = 5 and 4"' in page
    # It stands among the claims alone, and its cells are still to be seen.
    assert '<a href="#claims">' in page
    assert [name for name in re.findall(r'<section id="([^"]*)"', page) if "record" in name] == ["record-0"]
    assert '<article id="record-1"' in page
    assert re.search(r"The scores of its rows: .* n 5, paper", text)


def test_a_report_says_what_became_of_claims(make: Any, tmp_path: Path) -> None:
    one = claim_record(make)
    assert headline(read(save(tmp_path, one))) == "1 claim: holds in part (cora 1 of 2, pubmed not run)."
    # No bar of the paper's cells: a claim's cells are none of these.
    assert 'class="tally-bar"' not in render(read(tmp_path))
    other = one | {"name": "claim-other", "claim": one["claim"] | {"findings": FINDINGS[2:]}}
    assert headline(read(save(tmp_path, other))) == "2 claims: 1 holds in part, 1 not run."
    assert headline(read(save(tmp_path, make.record()))) == (
        "2 of 5 cells reproduced; 1 higher, 1 lower, 1 undecided; 1 failed; 1 unavailable; 1 not run. "
        "2 claims: 1 holds in part, 1 not run."
    )
    assert "cora 1 of 2, pubmed not run" in section(render(read(tmp_path)))


@pytest.mark.parametrize("findings", [FINDINGS[2:], []])
def test_a_claim_without_cells_was_not_run(make: Any, tmp_path: Path, findings: list[dict[str, Any]]) -> None:
    claim = {"says": SAYS, "word": "undecided", "findings": findings}
    cells = [cell for cell in make.record()["cells"] if cell["status"] == "to do"]
    text = section(render(read(save(tmp_path, claim_record(make, claim=claim, cells=cells)))))
    assert "○ not run" in text
    assert not re.search(r"[✓✕◐?] (holds|does|undecided)", text)


def test_a_quantity_that_nobody_knows(make: Any, tmp_path: Path) -> None:
    claim = {"says": SAYS, "word": "holds", "findings": [found(BETTER | {"quantity": "beauty"}, "cora")]}
    with pytest.raises(RunError, match=r"claim-mine\.json.*quantity"):
        read(save(tmp_path, claim_record(make, claim=claim)))


def sensitivity(make: Any, folder: Path) -> Path:
    """The folder of a claim about a grid, and of one about rows."""
    made = json.loads((make.results(folder) / "selection.json").read_text())
    claim = {"says": SAYS, "word": "does not hold", "findings": [found(FLAT, "cora", "does not hold", ours=4.0)]}
    grid = made | {"name": "claim-grid", "title": "Flat", "claim": claim}
    return save(folder.parent / "claims", grid, claim_record(make))


@pytest.mark.browser
def test_claims_in_a_browser(open_page: Any, make: Any) -> None:
    watched: Watched = open_page(lambda folder: sensitivity(make, folder))
    watched.draw("chart-selection-1")
    grid = watched.traces("chart-selection-1")[0]
    assert [len(grid["z"]), len(grid["z"][0])] == [3, 4]
    for theme in ("light", "dark"):
        assert watched.page.locator("html").get_attribute("data-theme") == theme
        for width in (390, 1440):
            watched.page.set_viewport_size({"width": width, "height": 900})
            watched.draw("chart-selection-1")
            assert watched.overflow() <= 0
            # A grid of four by three needs no scrolling, even on a phone.
            box = watched.page.locator("#chart-selection-1 .scroll")
            assert box.evaluate("(box) => box.scrollWidth - box.clientWidth") <= 0
        colours = watched.page.locator("#claims .claims .chip, .claim > .scroll .chip").evaluate_all(
            "(chips) => Object.fromEntries(chips.map((chip) => [chip.classList[1], getComputedStyle(chip).color]))"
        )
        assert len(colours) == len(set(colours.values())) == 4
        watched.page.locator("#theme").click()
    watched.page.get_by_role("link", name="It is better").click()
    assert watched.page.evaluate("location.hash") == "#record-0"
    assert watched.problems == []
    assert len(watched.requests) == 1
