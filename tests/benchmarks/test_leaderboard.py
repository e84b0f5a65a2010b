"""The leaderboard: every number comes from a results file, and the best comes first."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from graphmix.experiments.cells import Asked, plan
from graphmix.experiments.spec import load_spec, paper_specs
from graphmix.results.run import Score

ROOT = Path(__file__).parents[2]
WORDS = ("reproduced", "higher", "lower", "undecided", "–")


@pytest.fixture(scope="module")
def rows(benchmark_module):
    return benchmark_module("leaderboard_rows")


@pytest.fixture(scope="module")
def board(benchmark_module):
    return benchmark_module("leaderboard_page")


@pytest.fixture(scope="module")
def found(rows):
    return rows.read_places()


def by_name(found):
    return {(place.result.row, place.result.column, place.split): place for place in found}


def changed(place, mean=80.0, seconds=5.0, trials=100, incomparable=False):
    """The place with another result."""
    settings = place.result.run.settings | {"trials": trials}
    score = Score((mean,) * trials, mean, 0.0)
    run = replace(place.result.run, settings=settings, seconds=seconds, test_accuracy=score)
    outcome = replace(place.result.outcome, run=run)
    return replace(place, result=replace(place.result, outcome=outcome), incomparable=incomparable)


def test_every_method_dataset_and_split_has_one_place(found):
    specs = [load_spec(name) for name in ("leaderboard", "leaderboard-random")]
    wanted = [(cell.row, cell.column) for spec in specs for cell in plan(spec, Asked())]
    assert [(place.result.row, place.result.column) for place in found] == wanted
    assert len(by_name(found)) == len(wanted)


def test_a_cell_of_the_papers_tables_has_their_number_and_verdict(rows, found):
    places, seen = by_name(found), 0
    for name, split in (("standard-split", "public"), ("random-splits", "random")):
        (record,) = rows.read_records(name)
        for cell in record.cells:
            place = places.get((cell.row, cell.column, split))
            if place is None or cell.reading != "paper" or cell.run is None or cell.run != place.result.run:
                continue
            seen += 1
            assert (place.result.paper, place.result.verdict) == (cell.paper, cell.verdict), cell.place
    assert seen >= 15


def test_a_cell_that_two_records_have_is_of_current_code_then_of_most_trials(rows):
    (record,) = rows.read_records("standard-split")
    cell = next(cell for cell in record.cells if cell.place == ("GCN", "Cora", "paper"))
    few = replace(cell.run, settings=cell.run.settings | {"trials": 10}, seconds=1.0)
    current = replace(cell.outcome, run=few, code="data 1, training 1")
    old = [replace(cell, outcome=replace(cell.outcome, code=None)), replace(cell, outcome=replace(current, code=None))]

    def chosen(*cells):
        return by_name(rows.places([replace(record, cells=cells)]))["GCN", "Cora", "public"]

    assert (chosen(*old).result.run.trials, chosen(*old).incomparable) == (cell.run.trials, True)
    both = chosen(*old, replace(cell, outcome=current))
    assert (both.result.run.trials, both.incomparable, both.scaled, both.seconds) == (10, False, True, 10.0)
    # Other seeds are other trials.
    reseeded = replace(cell.run, settings=cell.run.settings | {"seed": 10})
    assert chosen(replace(cell, outcome=replace(cell.outcome, run=reseeded))).result.run is None


def test_a_number_that_is_not_the_papers_is_not_shown_as_its(found):
    numbers = {quoted.mean for spec in paper_specs() for row in spec.rows for quoted in row.paper.values()}
    assert {place.result.paper.mean for place in found if place.result.paper} <= numbers
    assert not any(place.result.paper for place in found if place.result.row in ("GRAND", "APPNP", "GCNII", "GATv2"))


def test_the_table_has_every_run_cell_and_the_best_first(board, found):
    cells = [line.strip("| ").split(" | ") for line in board.every(found).splitlines()[2:]]
    assert len(cells) == sum(place.mean is not None for place in found)
    assert {words[-1] for words in cells} <= set(WORDS)
    for group in {(words[1], words[2]) for words in cells}:
        means = [float(words[3].split()[0]) for words in cells if (words[1], words[2]) == group]
        assert means == sorted(means, reverse=True)
    for words in cells:
        place = by_name(found)[tuple(words[:3])]
        score = place.result.run.test_accuracy
        assert words[3] == f"{score.mean:.2f} ± {score.std:.2f}"
        assert int(words[4].split()[0]) == place.result.run.trials


def test_a_place_without_a_run_says_so(board, found):
    glance = {line.strip("| ").split(" | ")[0]: line for line in board.glance(found).splitlines()[2:]}
    assert set(glance) == {place.result.row for place in found}
    for row, line in glance.items():
        assert line.count("–") == sum(place.mean is None for place in found if place.result.row == row)
    waiting = [place for place in found if place.mean is None and place.result.paper is not None]
    assert all(place.result.row in board.missing(found) for place in waiting)
    assert ("## Not run yet" in board.page(found)) == bool(waiting)


def test_seconds_say_how_they_were_measured(board, found):
    place = next(place for place in found if place.mean is not None)
    assert board.timed(changed(place)) == "5.0"
    assert board.timed(changed(place, trials=10)) == "≈ 50.0"
    assert board.timed(changed(place, seconds=1234.5, incomparable=True)) == "1,234 †"


def test_the_line_joins_what_nothing_beats(found, benchmark_module):
    pytest.importorskip("matplotlib")
    picture = benchmark_module("leaderboard_picture")
    place = next(place for place in found if place.mean is not None)
    fast, slow, beaten = changed(place, 80, 1), changed(place, 84, 9), changed(place, 79, 5)
    timed_before = changed(place, 90, 0.5, incomparable=True)
    assert picture.front([beaten, slow, timed_before, fast]) == [fast, slow]
    assert picture.front([]) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_committed_pictures_are_those_of_the_results(found, theme, benchmark_module):
    pytest.importorskip("matplotlib")
    picture = benchmark_module("leaderboard_picture")
    for dataset in ("Cora", "Citeseer", "Pubmed"):
        drawn = picture.draw(found, dataset, benchmark_module("front_picture").THEMES[theme])
        # Positions of names depend on the fonts of a machine, but not which dots there are.
        committed = (ROOT / "docs/_static/leaderboard" / f"{dataset.lower()}-{theme}.svg").read_bytes()
        assert dots(committed) == dots(drawn)
        assert b"seconds for 100 trials" in drawn
        assert picture.draw(found, dataset, benchmark_module("front_picture").THEMES[theme]) == drawn


def dots(drawn):
    return re.findall(rb'<use xlink:href="#m[^"]*" x="[^"]*" y="[^"]*" style="[^"]*"', drawn)


def test_a_place_knows_whether_it_ran_on_a_cpu(found):
    timed = [place for place in found if place.mean is not None]
    assert {place.on_cpu for place in timed} == {True, False}
    assert all(place.on_cpu != place.result.run.device.startswith("cuda") for place in timed)
