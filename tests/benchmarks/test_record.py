"""The record's parts name cells that exist, and collecting loses no trials."""

from dataclasses import replace
from pathlib import Path

import pytest

from graphmix.experiments.cells import Asked, plan
from graphmix.experiments.spec import load_spec
from graphmix.results import formats
from graphmix.results.reader import read_file
from graphmix.results.record import Record

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def record(benchmark_module):
    return benchmark_module("record")


@pytest.fixture(scope="module")
def links():
    return read_file(Record, ROOT / "results" / "links.json", formats.RECORD)


def with_trials(links, trials):
    """The record with another number of trials in its first cell."""
    first = links.cells[0]
    run = replace(first.run, settings=first.run.settings | {"trials": trials})
    cell = replace(first, outcome=replace(first.outcome, run=run))
    return replace(links, cells=(cell, *links.cells[1:]))


def test_every_part_names_cells_to_run(record):
    for spec, cells, trials in [job for jobs in record.PARTS.values() for job in jobs]:
        plan(load_spec(spec), Asked(trials=trials, only=cells or "/"))


@pytest.mark.parametrize(("held", "found", "kept"), [(30, 10, 30), (10, 30, 30), (30, 30, 30)])
def test_collecting_keeps_the_cell_with_more_trials(record, links, held, found, kept):
    merged = record.with_most_trials(with_trials(links, held), with_trials(links, found))
    assert record.many(merged.cells[0]) == kept


def test_collecting_nothing_new_changes_nothing(record, links):
    assert record.with_most_trials(links, replace(links, command="another")) is links
    assert record.with_most_trials(None, links) is links
