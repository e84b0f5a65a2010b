"""Scores of points: those of validation nodes alone, the same wherever they are computed, and stopped by bars."""

from dataclasses import replace

import pytest
import torch

import graphmix
from graphmix.training.trace import OutOfTimeError
from graphmix.tuning import scoring
from graphmix.tuning.scoring import STEPS, score

CONFIG = graphmix.Config(trials=4, epochs=30, hidden=8, learning_rate=0.02)


@pytest.fixture(scope="module")
def tiny():
    return graphmix.synthetic(nodes=120, classes=3, features=20, labels_per_class=5, seed=1)


@pytest.mark.parametrize("select_by", ["accuracy", "macro-f1", "loss"])
def test_a_score_is_what_fit_measures(tiny, select_by):
    config = replace(CONFIG, select_by=select_by)
    found, fit = score(*tiny, config), graphmix.fit(*tiny, config)
    held = fit.val_accuracy if select_by == "loss" else fit.val_score
    assert found.values == pytest.approx((100 * held).tolist(), abs=1e-3)
    assert found.mean == pytest.approx(100 * held.mean().item(), abs=1e-3)
    assert found.std == pytest.approx(100 * held.std().item(), abs=1e-3)


def test_what_is_reached_is_the_mean_of_the_best_so_far(tiny):
    found, fit = score(*tiny, CONFIG), graphmix.fit(*tiny, CONFIG)
    best = fit.history.val_accuracy.cummax(dim=1).values.mean(dim=0)
    ends = [-(-CONFIG.epochs * step // STEPS) - 1 for step in range(1, STEPS + 1)]
    assert found.reached == pytest.approx([100 * best[end].item() for end in ends], abs=1e-3)
    assert not found.stopped


def test_test_labels_play_no_part(tiny):
    graph, split = tiny
    wrong = replace(graph, y=torch.where(split.test[0], (graph.y + 1) % graph.num_classes, graph.y))
    one, other = score(graph, split, CONFIG), score(wrong, split, CONFIG)
    assert (one.values, one.reached) == (other.values, other.reached)


def test_a_point_below_the_bar_is_stopped_there_and_not_before(tiny):
    whole = score(*tiny, CONFIG)
    bars = [100.0] * 6 + [0.0] * 4
    found = score(*tiny, CONFIG, bars)
    # Bars of the first four tenths stop nobody.
    assert found.stopped
    assert found.reached == whole.reached[:5]
    assert found.mean == whole.reached[4]
    assert score(*tiny, CONFIG, [100.0] * 4 + [0.0] * 6).values == whole.values
    assert score(*tiny, CONFIG, [*whole.reached[:9], 100.0]).values == whole.values


def test_batches_of_trials_in_threads_reach_the_same(tiny, monkeypatch):
    together = score(*tiny, CONFIG)
    monkeypatch.setattr(scoring, "trials_at_once", lambda *of: 2)
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        apart = score(*tiny, CONFIG)
        stopped = score(*tiny, CONFIG, [100.0] * 10)
    finally:
        torch.set_num_threads(threads)
    assert (apart.values, apart.reached) == (together.values, together.reached)
    assert stopped.reached == together.reached[:5]


def test_with_batches_one_after_the_other_the_first_decide(tiny, monkeypatch):
    monkeypatch.setattr(scoring, "trials_at_once", lambda *of: 2)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        found = score(*tiny, CONFIG)
    finally:
        torch.set_num_threads(threads)
    first = score(*tiny, replace(CONFIG, trials=2))
    assert len(found.values) == 4
    assert found.reached == first.reached


def test_a_point_gives_up_when_its_time_is_over(tiny):
    with pytest.raises(OutOfTimeError):
        score(*tiny, CONFIG, seconds=0.0)


def test_fewer_epochs_than_steps_count_for_several(tiny):
    found = score(*tiny, replace(CONFIG, epochs=3))
    assert len(found.reached) == STEPS
    assert len(set(found.reached)) <= 3
