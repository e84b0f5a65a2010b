"""Searches: which points are tried, what chooses among them, and that test labels play no part."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from graphmix import Config
from graphmix.data import synthetic
from graphmix.errors import ConfigError
from graphmix.experiments import compute
from graphmix.experiments.cells import Asked, plan
from graphmix.experiments.records import kept
from graphmix.experiments.rows import Search
from graphmix.experiments.runner import reproduce
from graphmix.experiments.selection import SEARCH_SEEDS, choose, draw_points, finalists_of, points_of
from graphmix.experiments.spec import load_spec, names, parse
from graphmix.results.reader import parse as parse_json
from graphmix.results.record import CellResult, GridPoint
from graphmix.results.writer import to_json

VALUES = {"hops": [2, 4, 8], "gamma": [0.5, 1.0], "hop_weights": ["equal", "learned"]}
GRID = {"alphas": [0.0, 1.0], "gammas": [0.1, 10.0]}


def spec(**changes):
    table = {
        "name": "mine",
        "title": "t",
        "source": "Not in the paper",
        "about": "a",
        "kind": "selection",
        "trials": 3,
        "settings": {"split": "public", "epochs": 12, "hops": 3},
        "columns": [{"name": "Cora", "dataset": "cora"}],
        "rows": [{"name": "Ours", "method": "graphmix-grand"}],
        "search": {"points": 4, "trials": 2, "values": VALUES},
    }
    return parse({name: value for name, value in (table | changes).items() if value is not None}, "mine")


def tiny(cell):
    graph, split = synthetic(nodes=90, classes=3, features=20, labels_per_class=5, seed=1)
    return replace(graph, name=cell.dataset), replace(split, name="public")


def poisoned(cell):
    """The same graph, with wrong labels of test nodes."""
    graph, split = tiny(cell)
    wrong = torch.where(split.test[0], (graph.y + 1) % graph.num_classes, graph.y)
    return replace(graph, y=wrong), split


def search(folder, load=tiny, asked=None, **changes):
    (record,) = reproduce([spec(**changes)], asked or Asked(), folder, device="cpu", load=load)
    (cell,) = record.cells
    assert cell.status == "done", cell.error
    return cell


TWO_ROUNDS = {"points": 4, "trials": 2, "finalists": 2, "finalist_trials": 2, "values": VALUES}


@pytest.mark.parametrize(
    "changes", [{}, {"search": TWO_ROUNDS}, {"search": None, "grid": GRID}], ids=["search", "two rounds", "grid"]
)
def test_no_choice_changes_with_the_labels_of_test_nodes(tmp_path, changes):
    right, wrong = search(tmp_path / "a", tiny, **changes), search(tmp_path / "b", poisoned, **changes)
    # The labels were wrong indeed, where nothing is chosen.
    assert right.run.test_accuracy.values != wrong.run.test_accuracy.values
    assert to_json(right.outcome.selection) == to_json(wrong.outcome.selection)
    assert right.run.best_epoch == wrong.run.best_epoch
    assert right.run.val_accuracy.values == wrong.run.val_accuracy.values


def test_validation_labels_do_change_it(tmp_path):
    def scrambled(cell):
        graph, split = tiny(cell)
        return replace(graph, y=torch.where(split.val[0], (graph.y + 1) % graph.num_classes, graph.y)), split

    right, other = search(tmp_path / "a"), search(tmp_path / "b", scrambled)
    assert to_json(right.outcome.selection) != to_json(other.outcome.selection)


def test_the_best_mean_of_validation_is_trained_with_seeds_the_search_did_not_use(tmp_path):
    cell = search(tmp_path)
    found = cell.outcome.selection
    assert len(found.grid) == 4
    assert all(point.trials == 2 for point in found.grid)
    best = max(found.grid, key=lambda point: point.val_accuracy_mean)
    assert found.chosen.settings == best.settings
    assert {name: cell.run.settings[name] for name in VALUES} == best.settings
    assert (cell.run.settings["seed"], cell.run.trials) == (0, 3)
    seeds = {point.config.seed for _, point in points_of(spec(), plan(spec(), Asked())[0])}
    assert seeds == {SEARCH_SEEDS}
    assert not any("test" in name for point in to_json(found.grid) for name in point)


def test_a_search_goes_on_where_it_stopped(tmp_path, monkeypatch):
    first = search(tmp_path)
    more = search(tmp_path, search={"points": 6, "trials": 2, "values": VALUES})
    assert more.outcome.selection.grid[:4] == first.outcome.selection.grid
    monkeypatch.setattr(compute.engine, "train_once", None)
    assert search(tmp_path).outcome.selection == first.outcome.selection


def test_a_record_of_a_search_is_kept_unless_something_else_changes(tmp_path):
    held = search(tmp_path)
    again = parse_json(CellResult, to_json(held), Path("mine.json"))
    assert kept(spec(), plan(spec(), Asked())[0], again) is not None
    other = spec(settings={"split": "public", "epochs": 13, "hops": 3})
    assert kept(other, plan(other, Asked())[0], again) is None


def test_the_choice_has_the_key_of_the_same_cell_in_a_table(tmp_path):
    cell = search(tmp_path)
    table = spec(kind="table", search=None, settings=dict(spec().settings) | cell.outcome.selection.chosen.settings)
    assert plan(table, Asked())[0].key == cell.outcome.key


def test_drawn_splits_of_a_search_are_not_those_of_its_choice():
    drawn = spec(settings={"split": "20-per-class", "epochs": 12}, splits=2)
    (cell,) = plan(drawn, Asked())
    used = {seed for _, point in points_of(drawn, cell) for seed in point.split_seeds}
    assert used == {2, 3}
    assert set(cell.split_seeds) == {0, 1}


def test_the_best_points_are_tried_again_on_other_splits_and_chosen_among(tmp_path):
    loaded = []

    def load(cell):
        loaded.append((cell.split, cell.config.seed, tuple(cell.split_seeds), cell.config.trials))
        return tiny(cell)

    found = search(tmp_path, load, search=TWO_ROUNDS | {"finalist_trials": 3}).outcome.selection
    ranked = sorted(found.grid, key=lambda point: -point.val_accuracy_mean)
    assert [point.settings for point in found.finalists] == [point.settings for point in ranked[:2]]
    assert [point.trials for point in found.finalists] == [3, 3]
    best = max(found.finalists, key=lambda point: point.val_accuracy_mean)
    assert found.chosen.settings == best.settings
    assert set(loaded[4:6]) == {("public-redrawn", 2 * SEARCH_SEEDS, (2, 3, 4), 3)}
    assert loaded[6][:2] == ("public", 0)


def test_finalists_come_best_first_and_only_if_asked_for():
    (cell,) = plan(spec(), Asked())
    second = [GridPoint(1.0, 1.0, {"hops": hops}, val_score_mean=score) for hops, score in ((2, 70.0), (4, 71.0))]
    again = finalists_of(spec(search=TWO_ROUNDS), cell, second)
    assert [settings["hops"] for settings, _ in again] == [4, 2]
    assert finalists_of(spec(), cell, second) == []


def test_points_are_different_begin_with_the_start_and_stay_the_same():
    budget = Search(values={name: tuple(each) for name, each in VALUES.items()}, points=7, trials=2)
    start = {"hops": 3, "gamma": 1.0, "hop_weights": "equal"}
    points = draw_points(budget, start)
    assert points[0] == start
    assert len({tuple(point.values()) for point in points}) == 7
    assert draw_points(replace(budget, points=5), start) == points[:5]
    assert draw_points(replace(budget, seed=1), start) != points
    # There are 12, and the start is not one of them.
    assert len(draw_points(replace(budget, points=100), start)) == 13
    assert len(draw_points(replace(budget, points=100), start | {"hops": 4})) == 12


def test_the_first_of_equal_points_is_chosen():
    points = [
        GridPoint(1.0, 1.0, {"hops": hops}, val_score_mean=score) for hops, score in ((2, 70.0), (4, 71.0), (8, 71.0))
    ]
    assert choose(points).settings == {"hops": 4}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"search": {"points": 4, "trials": 2, "values": {"seed": [1]}}}, "'seed' cannot be searched"),
        ({"search": {"points": 4, "trials": 2, "values": {"hop": [1]}}}, "there is no hyperparameter 'hop'"),
        ({"search": {"points": 4, "trials": 2, "values": {"hops": []}}}, "no values of 'hops'"),
        ({"search": {"points": 4, "trials": 2, "values": VALUES, "finalists": 2}}, "finalists need finalist_trials"),
        ({"search": {"points": 4, "trials": 2, "values": {"hops": [0]}}}, "`hops` must be"),
        ({"search": {"trials": 2, "values": VALUES}}, "needs a budget"),
        ({"search": {"points": 4, "trials": 2, "values": VALUES, "many": 1}}, "values, points, trials"),
        ({"kind": "table"}, "only a selection"),
        ({"grid": GRID}, "grid"),
        ({"search": None}, "grid"),
    ],
)
def test_an_invalid_search_is_refused(changes, said):
    with pytest.raises(ConfigError, match=said):
        spec(**changes)


def test_every_committed_search_sets_where_it_starts():
    searches = [each for each in map(load_spec, names()) if each.search is not None]
    assert searches
    for each in searches:
        for cell in plan(each, Asked()):
            row, column = (
                next(x for x in some if x.name == name)
                for some, name in ((each.rows, cell.row), (each.columns, cell.column))
            )
            # Otherwise the first point would change with the defaults that are taken from the search.
            assert set(each.search.values) <= set(each.chosen(row, column))
            assert all(isinstance(point.config, Config) for _, point in points_of(each, cell))
