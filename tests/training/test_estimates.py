"""What cannot be done is refused before it begins, and nothing else is."""

import pytest
import torch

from graphmix import Config, ConfigError, DataError, Task, fit, fit_tables, make_split, synthetic
from graphmix.experiments.cells import Asked, plan
from graphmix.experiments.spec import load_spec, names
from graphmix.training import devices, estimates
from graphmix.training.estimates import LONGEST, Least, check_possible, check_runs, least_of

GIB = 2**30


def test_the_least_memory_counted_by_hand():
    # Five curves of 4 bytes for 7 epochs, 500 bytes of scores, 11 weights, a table of 3 x 3 counts; all of it twice.
    config = Config(trials=10, epochs=7)
    each = 2 * (5 * 4 * 7 + 500 + 4 * 11 + 8 * 9)
    assert least_of(config, weights=11, classes=3).memory == 10 * each
    assert least_of(config, weights=11, classes=3, split_nodes=100).memory == 10 * (each + 23 * 100)


def test_the_least_time_counted_by_hand():
    assert least_of(Config(trials=10, epochs=7), seconds_a_trial=2).seconds == 140
    assert least_of(Config(trials=1, epochs=10**6)).seconds == pytest.approx(10)


@pytest.mark.parametrize(
    ("least", "parts"),
    [
        (
            Least(3 * GIB, 1),
            ["10 trials of 2,000 epochs need at least 3 GiB of memory (2 GiB are free); "],
        ),
        (Least(3 * GIB, 7200), ["(2 GiB are free) and 2 hours;"]),
        (Least(0, 3 * LONGEST), ["need at least 3 years;"]),
    ],
)
def test_one_sentence_says_what_is_needed(least, parts):
    with pytest.raises(ConfigError) as caught:
        check_possible(least, Config(trials=10), free=2 * GIB)
    assert all(part in str(caught.value) for part in parts)


def test_what_fits_within_a_year_passes():
    check_possible(Least(2 * GIB, LONGEST), Config(), free=2 * GIB)


def test_the_papers_runs_are_never_refused(monkeypatch):
    monkeypatch.setattr(estimates, "available_memory", lambda: 2**28)
    for name in names():
        for cell in plan(load_spec(name), Asked()):
            check_runs(cell.config)


def test_the_papers_largest_graph_is_not_refused(monkeypatch):
    # Coauthor-Physics has 34,493 nodes; these features are dense, and so larger than its words.
    graph, split = synthetic(nodes=34_493, classes=5, features=300)
    monkeypatch.setattr(devices, "free_memory", lambda _: 8 * GIB)
    config = Config(trials=100, hidden=64)
    devices.check_memory(graph, config, torch.device("cpu"))
    assert split.num_splits == 1


@pytest.mark.parametrize("settings", [{"trials": 10**9}, {"trials": 10**7, "epochs": 1}, {"epochs": 2**31 - 1}])
def test_training_refuses_at_once(settings, monkeypatch):
    graph, split = synthetic()
    monkeypatch.setattr(devices, "free_memory", lambda _: 16 * GIB)
    monkeypatch.setattr(Task, "of_masks", lambda *_, **__: pytest.fail("prepared for training"))
    with pytest.raises(ConfigError, match="of memory"):
        fit(graph, split, Config(**settings))


def test_a_fit_of_tables_refuses_before_it_reads_them():
    with pytest.raises(ConfigError, match=r"1,000,000,000 trials of 1 epochs need at least .* of memory"):
        fit_tables("nodes.csv", "edges.csv", label="x", trials=10**9)


def test_a_split_for_each_of_many_trials_is_refused_before_it_is_drawn():
    graph, _ = synthetic()
    with pytest.raises(DataError, match=r"1,000,000,000 splits of 1,000 nodes need at least .* lower `trials`"):
        make_split("5-per-class", graph, range(10**9))


def test_passes_without_end_are_refused():
    with pytest.raises(ConfigError, match="at most 100000, not 1000000000"):
        Config(perturbations=10**9)


def test_more_draws_than_memory_holds_are_refused(monkeypatch):
    graph, split = synthetic()
    monkeypatch.setattr(devices, "free_memory", lambda _: 16 * GIB)
    with pytest.raises(ConfigError, match=r"of memory, .*; lower `unlabeled`$"):
        fit(graph, split, Config(unlabeled=10**9, trials=2, epochs=2))
