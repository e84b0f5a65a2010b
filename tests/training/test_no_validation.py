"""Training without validation nodes: a fixed number of epochs, and the weights of the last one."""

import pytest
import torch
from torch.testing import assert_close

from graphmix import Config, ConfigError, DataError, fit, load_run, make_split, synthetic, train
from graphmix.analysis.details import curves
from graphmix.baselines import judge
from graphmix.training.expectations import unused_settings

LAST = {"select_by": "last", "epochs": 30, "rampup_start": 5, "rampup_end": 15, "hidden": 8}


@pytest.fixture(scope="module")
def graph():
    return synthetic(nodes=120, classes=3, features=30, labels_per_class=5, seed=1)[0]


def drawn(graph, rule, trials=3):
    return make_split(rule, graph, range(trials))


@pytest.mark.parametrize("method", ["supervised", "graphmix", "grand", "graphmix-steady"])
@pytest.mark.parametrize("ties", ["first", "last"])
def test_the_last_epoch_is_kept(graph, method, ties):
    config = Config.for_dataset(method=method, trials=3, ties=ties, **LAST)
    split = drawn(graph, "2-per-class-no-validation")
    trained = fit(graph, split, config, device="cpu")
    assert trained.best_epoch.tolist() == [29, 29, 29]
    assert trained.val_accuracy.isnan().all()
    assert trained.val_score.isnan().all()
    assert_close(trained.test_accuracy, trained.history.test_accuracy[:, -1], rtol=0, atol=0)
    right = (trained.predict(graph) == graph.y) & split.test
    assert_close(trained.test_accuracy, right.sum(dim=1) / split.test.sum(dim=1))


def test_there_is_no_validation_loss():
    graph, _ = synthetic(nodes=90, features=12, labels_per_class=3, seed=1)
    trained = fit(graph, drawn(graph, "2-per-class-no-validation"), Config(trials=3, epochs=4, select_by="last"))
    assert trained.history.val_loss.isnan().all()
    assert trained.history.train_loss.isfinite().all()
    assert set(curves(trained).val_loss.mean) == {None}


def test_validation_nodes_change_nothing_but_what_is_measured(graph):
    config = Config(trials=3, **LAST)
    without = drawn(graph, "2-per-class-no-validation")
    given = drawn(graph, "2-per-class-40-validation")
    assert torch.equal(without.train, given.train)
    one, two = fit(graph, without, config, device="cpu"), fit(graph, given, config, device="cpu")
    for name, weight in one.weights.items():
        assert torch.equal(weight, two.weights[name])
    assert not two.val_accuracy.isnan().any()
    # The epoch that validation would choose has other weights.
    chosen = fit(graph, given, Config(trials=3, **(LAST | {"select_by": "accuracy"})), device="cpu")
    assert (chosen.best_epoch < 29).any()


def test_a_trial_alone_equals_the_trial_in_a_batch(graph):
    split = drawn(graph, "2-per-class-no-validation")
    together = fit(graph, split, Config(trials=3, **LAST), device="cpu")
    alone = fit(graph, make_split(split.name, graph, [2]), Config(trials=1, seed=2, **LAST), device="cpu")
    for name, weight in together.weights.items():
        assert torch.equal(weight[2:], alone.weights[name])


@pytest.mark.gpu
@pytest.mark.parametrize("method", ["graphmix", "grand"])
def test_cuda_keeps_the_last_epoch_too(graph, method):
    config = Config.for_dataset(method=method, trials=3, **LAST)
    trained = fit(graph, drawn(graph, "2-per-class-no-validation"), config, device="cuda")
    assert trained.best_epoch.tolist() == [29, 29, 29]
    assert trained.val_accuracy.isnan().all()
    assert_close(trained.test_accuracy, trained.history.test_accuracy[:, -1], rtol=0, atol=0)


@pytest.mark.parametrize("score", ["accuracy", "macro-f1", "loss"])
def test_nothing_can_be_chosen_without_validation_nodes(graph, score):
    with pytest.raises(ConfigError, match=r"no validation nodes to choose the epoch by; .* `select_by='last'`"):
        fit(graph, drawn(graph, "2-per-class-no-validation", 1), Config(trials=1, epochs=5, select_by=score))


def test_baselines_that_choose_by_validation_nodes_refuse_and_others_run(graph):
    split = drawn(graph, "2-per-class-no-validation", 2)
    for name in ("ica", "manireg", "semiemb", "planetoid", "planetoid-inductive"):
        with pytest.raises(DataError, match="has no validation nodes"):
            judge(name, graph, split, trials=2)
    for name in ("label-propagation", "logistic-regression"):
        run = judge(name, graph, split, trials=2)
        assert run.val_accuracy.values == (None, None)
        assert run.test_accuracy.mean > 40


def test_a_run_is_stored_and_read_back(graph, tmp_path):
    split, config = drawn(graph, "2-per-class-no-validation"), Config(trials=3, **LAST)
    run = train(graph, split, config, tmp_path / "run", device="cpu")
    assert run.results.val_score == (None, None, None)
    assert run.results.val_accuracy.mean is None
    assert load_run(tmp_path / "run").fit.test_accuracy.tolist() == pytest.approx(run.fit.test_accuracy.tolist())


def test_a_choice_among_equal_epochs_has_no_effect_on_the_last():
    config = Config(select_by="last", ties="last")
    assert unused_settings(config, {"ties": "last"}) == "`ties` has no effect with the last epoch selected"
    assert unused_settings(Config(ties="last"), {"ties": "last"}) is None
