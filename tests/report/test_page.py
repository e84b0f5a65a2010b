"""What a report says and how it is written; what it draws is for test_browser.py."""

import base64
import hashlib
import html
import itertools
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from graphmix.errors import RunError
from graphmix.report import read, render, write
from graphmix.report.tables import result_table
from graphmix.report.wording import headline
from graphmix.results.wording import duration, spread, summarise
from graphmix.text import signed


def embedded(page: str) -> Any:
    """The data of a page's charts."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def shell(page: str) -> str:
    """A page without its scripts and styles."""
    return re.sub(r"<(script|style).*?</\1>", "", page, flags=re.DOTALL)


def change(folder: Path, **changes: Any) -> None:
    path = folder / "results.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def save(path: Path, record: dict[str, Any]) -> Path:
    path.write_text(json.dumps(record))
    return path


def test_a_demo_in_one_sentence(demo_folder: Path) -> None:
    change(demo_folder / "graphmix", test_accuracy_mean=74.21)
    change(demo_folder / "supervised", test_accuracy_mean=71.2)
    sentence = "GraphMix(GCN) reaches 74.2 % on citeseer, 3.0 points above GCN (5 trials each)."
    assert headline(read(demo_folder)) == sentence
    change(demo_folder / "graphmix", test_accuracy_mean=70.0, diverged=[0, 2])
    assert headline(read(demo_folder)) == (
        "GraphMix(GCN) reaches 70.0 % on citeseer, 1.2 points below GCN (5 trials each). 2 of 10 trials failed."
    )
    change(demo_folder / "graphmix", test_accuracy_mean=71.21, diverged=[])
    assert headline(read(demo_folder)) == "GraphMix(GCN) reaches 71.2 % on citeseer, as GCN does (5 trials each)."


def test_a_run_in_one_sentence(run_folder: Path) -> None:
    change(run_folder, test_accuracy_mean=83.94)
    assert headline(read(run_folder)) == "GraphMix(GCN) reaches 83.9 % on cora (5 trials)."
    change(run_folder, test_accuracy_mean=None)
    assert headline(read(run_folder)) == "No trial has a result."


def test_records_in_one_sentence(tmp_path: Path, record: dict[str, Any], results_folder: Path) -> None:
    (drawn,) = read(save(tmp_path / "r.json", record)).records
    assert summarise([drawn]) == (
        "2 of 5 cells reproduced; 1 higher, 1 lower, 1 undecided; 1 failed; 1 unavailable; 1 not run"
    )
    # A search trains a cell of a table again, so it is not counted beside the table.
    assert headline(read(results_folder)).startswith("2 of 5 cells reproduced; 1 higher, 1 lower, 1 undecided;")
    selection = read(results_folder / "selection.json")
    assert headline(selection) == "1 of 1 cell reproduced."


def test_a_cell_that_two_tables_share_is_counted_once(tmp_path: Path, record: dict[str, Any]) -> None:
    once = headline(read(save(tmp_path / "first.json", record)))
    save(tmp_path / "second.json", record | {"name": "second", "cells": record["cells"][3:6]})
    assert headline(read(tmp_path)) == once
    # With other settings it is another cell.
    other = json.loads(json.dumps(record["cells"][3]))
    other["run"]["alpha"] = 0.5
    save(tmp_path / "second.json", record | {"name": "second", "cells": [other]})
    assert headline(read(tmp_path)).startswith("3 of 6 cells reproduced")


def test_cells_without_a_verdict_are_not_called_undecided(tmp_path: Path, record: dict[str, Any]) -> None:
    record["cells"] = [cell | {"verdict": None} for cell in record["cells"][3:5]]
    contents = read(save(tmp_path / "r.json", record))
    assert headline(contents) == "2 of 2 cells done; no verdicts."
    page = shell(render(contents))
    assert 'class="chip no-verdict"' in page
    assert "undecided" not in page


def test_mistakes_are_left_out_where_there_are_no_test_nodes(run_folder: Path) -> None:
    assert "confusion" in embedded(render(read(run_folder)))["cells"][0]
    details = json.loads((run_folder / "details.json").read_text())
    details["confusion"] = [[0] * len(row) for row in details["confusion"]]
    details["reliability"] = {"count": [0, 0], "confidence": [None] * 2, "accuracy": [None] * 2, "ece": None}
    save(run_folder / "details.json", details)
    page = render(read(run_folder))
    assert not {"confusion", "reliability"} & set(embedded(page)["cells"][0])
    assert 'id="confusion"' not in page


def test_a_leaderboard_is_sorted_by_its_first_column_and_shows_seconds(tmp_path: Path, record: dict[str, Any]) -> None:
    made = next(cell for cell in record["cells"] if cell["row"] == "GCN")

    def cell(row: str, mean: float) -> dict[str, Any]:
        return made | {"row": row, "run": made["run"] | {"test_accuracy_mean": mean, "seconds": 2.5}}

    cells = [made | {"row": "ICA", "status": "to do", "run": None}, cell("GCN", 81.7), cell("GRAND", 85.4)]
    paper = record | {"rows": ["ICA", "GCN", "GRAND"], "columns": ["cora"], "readings": ["paper"], "cells": cells}

    def shown(changes: dict[str, Any]) -> tuple[list[str], str]:
        contents = read(save(tmp_path / "r.json", paper | changes))
        names = [row["name"] for row in result_table(contents.records[0])["rows"]]
        return names, html.unescape(shell(render(contents)))

    names, page = shown({"name": "leaderboard", "source": "Not in the paper"})
    assert names == ["GRAND", "GCN", "ICA"]
    assert "n 5, 2.5 s" in page
    assert "sorted by cora" in page
    # The number beside it need not be of this paper.
    assert "published 80.50 ± 0.60" in page
    assert "paper 80.50" not in page
    names, page = shown({})
    assert names == ["ICA", "GCN", "GRAND"]
    assert "n 5, 2.5 s" not in page
    assert "paper 80.50 ± 0.60" in page
    _, page = shown({"source": "Not in the paper", "cells": cells[1:2]})
    assert "sorted by" not in page


def test_numbers_in_words() -> None:
    assert spread(83.944, 0.566) == "83.94 ± 0.57"
    assert spread(83.944, None) == "83.94"
    assert spread(None, None) == "–"
    assert signed(-0.5) == "−0.50"
    assert signed(-0.001) == "−0.00"
    assert signed(0.25) == "+0.25"
    assert [duration(seconds) for seconds in (3.14, 240, 36_000)] == ["3.1 s", "4 min", "10.0 h"]


def test_every_cell_is_on_the_page_whatever_became_of_it(tmp_path: Path, record: dict[str, Any]) -> None:
    page = html.unescape(shell(render(read(save(tmp_path / "r.json", record)))))
    for word in ("reproduced", "higher", "lower", "undecided", "failed", "unavailable", "not run", "quoted"):
        assert f'class="chip {word.replace(" ", "-")}"' in page
    assert "2 of 5 trials failed" in page
    assert "pubmed could not be fetched." in page
    assert "the loss was infinite." in page
    assert "n 5, paper" in page
    assert "n 5, released" in page
    parts = ("5 trials", "−2.50", "−3.00 to −2.00", "p = 0.0002", "n = 100")
    assert re.search(".*".join(map(re.escape, parts)), page)
    assert "p < 0.0001" in page
    assert page.count("paper 80.50 ± 0.60") == 11


def test_a_part_of_a_table_says_so(tmp_path: Path, record: dict[str, Any]) -> None:
    record["cells"] = record["cells"][3:5]
    page = shell(render(read(save(tmp_path / "r.json", record))))
    assert "without a cell" in page
    assert "ManiReg" not in page
    assert '<th scope="col">pubmed</th>' not in page


def test_code_and_emphasis_in_a_description(tmp_path: Path, record: dict[str, Any]) -> None:
    record["about"] = "`graphmix <select>` does that, & `this; *Soft-rank*: 2 * 3 * 4"
    page = shell(render(read(save(tmp_path / "r.json", record))))
    assert "<code>graphmix &lt;select&gt;</code> does that, &amp; `this; <em>Soft-rank</em>: 2 * 3 * 4" in page


def test_a_search_over_other_settings_has_no_grid(results_folder: Path) -> None:
    assert 'data-chart="selection"' in render(read(results_folder / "selection.json"))
    record = json.loads((results_folder / "selection.json").read_text())
    for place, point in enumerate(record["cells"][0]["grid"]):
        point["settings"] = {"hops": place}
    page = render(read(save(results_folder / "selection.json", record)))
    assert 'data-chart="selection"' not in page


def test_names_are_harmless(tmp_path: Path, record: dict[str, Any]) -> None:
    evil = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&"
    record |= {"title": evil, "about": evil, "source": evil, "command": evil, "rows": [evil, "GCN", "GraphMix(GCN)"]}
    for cell in record["cells"][:3]:
        cell |= {"row": evil, "error": evil}
    page = render(read(save(tmp_path / "r.json", record)))
    assert "alert(1)</script>" not in page
    assert "<img" not in shell(page)
    assert embedded(page)["records"][0]["title"] == evil
    assert embedded(page)["classes"] == [record["cells"][3]["details"]["classes"]]


def test_the_same_input_gives_the_same_bytes(results_folder: Path, tmp_path: Path) -> None:
    for name in ("first", "second"):
        write(read(results_folder), tmp_path / name)
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()


def test_the_page_stands_alone(results_folder: Path) -> None:
    page = render(read(results_folder))
    assert not re.search(r"""(src|href)=["'](?!#)""", shell(page))
    assert "@import" not in page.split("<script>")[0]
    assert "url(" not in page.split("<script>")[0]


def test_the_policy_allows_the_scripts_of_the_page_and_no_others(run_folder: Path) -> None:
    page = render(read(run_folder))
    allowed = set(re.findall(r"'sha256-([^']+)'", page))
    scripts = re.findall(r"<script>(.*?)</script>", page, flags=re.DOTALL)
    assert allowed == {base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts}
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    assert policy[1].startswith("default-src 'none'; script-src 'sha256-")
    assert "script-src 'unsafe" not in policy[1]


def test_headings_are_in_order(results_folder: Path) -> None:
    levels = [int(level) for level in re.findall(r"<h([1-6])", shell(render(read(results_folder))))]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))


def test_ids_are_unique(results_folder: Path) -> None:
    ids = re.findall(r'\sid="([^"]+)"', shell(render(read(results_folder))))
    assert len(ids) == len(set(ids))


def test_a_page_of_many_pictures_keeps_fewer_nodes_of_each(tmp_path: Path, record: dict[str, Any]) -> None:
    cloud = record["cells"][3]["details"]["embedding"]
    for name in ("x", "y", "node", "label", "predicted", "confidence", "role"):
        cloud[name] = (cloud[name] * 34)[:2000]
    done = record["cells"][3]
    record["cells"] = [done | {"row": str(row)} for row in range(150)]
    record["rows"] = [str(row) for row in range(150)]
    page = render(read(save(tmp_path / "r.json", record)))
    data = embedded(page)
    assert {len(cell["embedding"]["x"]) for cell in data["cells"]} == {400}
    assert {len(cell["embedding"]["role"]) for cell in data["cells"]} == {400}
    assert (
        len(page.encode()) - len(max(re.findall(r"<script>.*?</script>", page, re.DOTALL), key=len).encode())
        < 3_000_000
    )


def test_halves_of_characters_are_shown_escaped(run_folder: Path, tmp_path: Path) -> None:
    change(run_folder, dataset="cora\ud800")
    write(read(run_folder), tmp_path / "report.html")
    assert "cora\\ud800" in (tmp_path / "report.html").read_text()


def test_a_place_that_cannot_be_written(run_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(RunError, match="nowhere"):
        write(read(run_folder), tmp_path / "nowhere" / "report.html")


def test_without_plotly(run_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    contents = read(run_folder)
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    with pytest.raises(RunError, match="plotly"):
        render(contents)


def test_classes_of_known_datasets_have_their_names(tmp_path: Path, make: Any) -> None:
    folder, numbers = make.results(tmp_path / "results"), [str(place) for place in range(7)]
    record = make.record()
    for cell in record["cells"]:
        if cell["details"] is not None:
            cell["details"] = make.details(classes=numbers)
    save(folder / f"{record['name']}.json", record)
    named = {cell["column"]: embedded_names(render(read(folder)), cell) for cell in record["cells"] if cell["details"]}
    assert named["cora"][:2] == ["Theory", "Reinforcement learning"]
    # Citeseer has six classes: seven are not its own.
    assert named["citeseer"][0] == "class 0"


def embedded_names(page: str, cell: dict[str, Any]) -> list[str]:
    """The names of a cell's classes, as the charts of the first record have them."""
    data = embedded(page)
    shown = (one for one in data["cells"] if one["record"] == 0 and "classes" in one)
    return data["classes"][next(one["classes"] for one in shown if one["column"] == cell["column"])]


def test_a_run_of_ones_own_keeps_its_numbers(run_folder: Path, make: Any) -> None:
    # It may be of a graph that only has the name of a known one.
    (run_folder / "details.json").write_text(json.dumps(make.details(classes=[str(place) for place in range(7)])))
    assert embedded(render(read(run_folder)))["classes"] == [[f"class {place}" for place in range(7)]]


def test_the_means_of_four_networks_are_below_the_single_ones(tmp_path: Path, record: dict[str, Any]) -> None:
    cell = next(cell for cell in record["cells"] if cell["status"] == "done")
    cell["details"] = {"classes": ["a", "b"], "measured": {"ensemble_accuracy": [80.0, 82.0, None]}}
    page = render(read(save(tmp_path / "r.json", record)))
    assert page.count("means of four: 81.00 ± 1.41 (2)") == 1
