"""Words for results: numbers, verdicts and tallies."""

from dataclasses import replace

import pytest

from graphmix.results.record import NOT_IN_PAPER, CellResult, Outcome, Quoted, Record, Verdict
from graphmix.results.run import RunResult
from graphmix.results.wording import (
    COMPARED,
    MARKS,
    MEANINGS,
    duration,
    each_once,
    outcome,
    spread,
    summarise,
    tally,
)
from graphmix.text import counted


def cell(word=None, status="done", row="GCN", **settings):
    run = RunResult(dataset="cora", settings={"method": "supervised", "trials": 2, **settings}, versions={})
    return CellResult(
        row,
        "Cora",
        None,
        status,
        paper=Quoted(80.0),
        verdict=None if word is None else Verdict(word),
        outcome=Outcome(run=run if status == "done" else None),
    )


def record(*cells, kind="table", source="s"):
    return Record(1, "r", "t", source, "", kind, (), "test_accuracy", 2, ("GCN",), ("Cora",), (), None, {}, cells)


def test_every_word_has_a_mark_and_a_meaning():
    assert set(MARKS) == set(MEANINGS)
    assert set(COMPARED) <= set(MARKS)
    assert len(set(MARKS.values())) == len(MARKS)


@pytest.mark.parametrize("status", ["failed", "unavailable", "quoted", "to do"])
def test_a_status_speaks_for_a_cell_that_is_not_done(status):
    assert outcome(cell("higher", status)) == {"to do": "not run"}.get(status, status)


def test_a_finished_cell_is_called_by_its_verdict():
    assert outcome(cell("lower")) == "lower"
    assert outcome(cell()) == "no verdict"
    assert outcome(CellResult("GCN", "Cora", None, "done")) is None


def test_a_computed_cell_is_counted_once_and_where_it_comes_first():
    missing = cell(status="to do", row="missing")
    first = record(
        cell("reproduced", alpha=1.0), cell("lower", alpha=0.0), cell(status="quoted", row="quoted"), missing
    )
    second = record(cell("higher", alpha=1.0), cell("higher", alpha=0.5), cell(status="failed"))
    assert tally([first]) == "2 cells: 1 reproduced, 1 lower"
    assert tally([first, second]) == "4 cells: 1 reproduced, 1 higher, 1 lower, 1 failed"
    assert summarise([first, second]) == "1 of 3 cells reproduced; 1 higher, 1 lower; 1 failed; 1 not run"


def test_a_cell_without_a_run_is_counted_once_if_the_papers_number_is_the_same():
    missing = cell(status="to do")
    other = replace(missing, paper=Quoted(81.0))
    unknown = replace(missing, paper=None)
    assert len(each_once([record(missing), record(missing), record(other)])) == 2
    assert len(each_once([record(unknown), record(unknown)])) == 2


def test_a_search_is_counted_only_without_tables():
    search = record(cell("higher", seed=7), kind="selection")
    assert tally([search]) == "1 cell: 1 higher"
    assert tally([record(cell("lower")), search]) == "1 cell: 1 lower"


def test_the_page_and_the_terminal_give_the_same_numbers():
    both = record(cell(alpha=1.0), cell(alpha=0.5))
    assert tally([both]) == "2 cells: 2 without a verdict"
    assert summarise([both]) == "2 of 2 cells done; no verdicts"
    mixed = record(cell("reproduced", alpha=1.0), cell(alpha=0.5))
    assert summarise([mixed]) == "1 of 1 cell reproduced; 1 without a verdict"


def test_numbers():
    assert (spread(1.234, 0.5), spread(1.234, None), spread(None, None)) == ("1.23 ± 0.50", "1.23", "–")
    assert (counted(1, "trial"), counted(1200, "trial")) == ("1 trial", "1,200 trials")
    assert [duration(seconds) for seconds in (3.14, 240, 36_000)] == ["3.1 s", "4 min", "10.0 h"]


def test_what_is_not_in_the_paper_is_counted_only_alone():
    board = record(cell("lower", row="GRAND", alpha=5.0), cell(status="to do", row="ICA"), source=NOT_IN_PAPER)
    assert not board.of_paper
    assert tally([record(cell("reproduced")), board]) == "1 cell: 1 reproduced"
    assert summarise([record(cell("reproduced")), board]) == "1 of 1 cell reproduced"
    assert tally([board]) == "1 cell: 1 lower"
    # A figure of the paper has none of its cells in a leaderboard.
    assert tally([record(cell("higher"), kind="figure"), board]) == "1 cell: 1 higher"
