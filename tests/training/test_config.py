import math

import numpy as np
import pytest

from graphmix import Config, ConfigError


def test_the_papers_defaults():
    config = Config.for_dataset("cora")
    assert (config.alpha, config.gamma, config.temperature, config.perturbations) == (1.0, 1.0, 0.1, 10)
    assert (config.epochs, config.rampup_start, config.rampup_end) == (2000, 500, 1000)
    assert (config.learning_rate, config.weight_decay, config.hidden) == (0.01, 5e-4, 16)
    assert (config.input_dropout, config.hidden_dropout) == (0.5, 0.0)
    assert (config.fcn_loss, config.unlabeled, config.lambda_per, config.ties) == (
        "cross-entropy",
        "all",
        "pair",
        "first",
    )


def test_the_released_codes_defaults():
    config = Config.for_dataset("cora", reading="released")
    assert (config.fcn_loss, config.unlabeled, config.lambda_per) == ("binary-cross-entropy", "labeled", "batch")
    assert (config.gamma, config.binarise, config.ties) == (10.0, True, "last")
    assert config.rampup_before == pytest.approx(math.exp(-5))


@pytest.mark.parametrize(("reading", "gammas"), [("paper", (1.0, 1.0, 10.0)), ("released", (10.0, 10.0, 1.0))])
def test_gamma_by_dataset_and_reading(reading, gammas):
    names = ("cora", "citeseer", "pubmed")
    assert tuple(Config.for_dataset(name, reading=reading).gamma for name in names) == gammas


def test_given_values_win_over_the_reading_and_none_is_not_given():
    config = Config.for_dataset("cora", reading="released", gamma=3.0, ties="first", epochs=400, alpha=None)
    assert (config.gamma, config.ties, config.alpha) == (3.0, "first", 1.0)
    assert (config.rampup_start, config.rampup_end) == (100, 200)


def test_the_appendix_by_dataset_and_backbone():
    gat = Config.for_dataset("cora", backbone="gat")
    assert (gat.hidden, gat.heads, gat.learning_rate, gat.weight_decay) == (8, 8, 0.005, 5e-4)
    assert (gat.input_dropout, gat.hidden_dropout, gat.alpha, gat.gamma) == (0.5, 0.5, 1.0, 1.0)
    gat = Config.for_dataset("pubmed", backbone="gat")
    assert (gat.input_dropout, gat.hidden_dropout, gat.alpha, gat.gamma) == (0.2, 0.2, 0.1, 10.0)
    physics = Config.for_dataset("coauthor-physics")
    assert (physics.hidden, physics.learning_rate, physics.weight_decay, physics.epochs) == (64, 0.001, 5e-4, 2000)
    assert (physics.alpha, physics.gamma, physics.rampup_start, physics.rampup_end) == (1.0, 1.0, 500, 1000)
    full = Config.for_dataset("cora-full")
    assert (full.input_dropout, full.weight_decay, full.gamma, full.epochs) == (0.2, 0.0, 10.0, 5000)
    assert (full.rampup_start, full.rampup_end) == (500, 1000)
    bitcoin = Config.for_dataset("bitcoin-otc")
    assert (bitcoin.hidden, bitcoin.learning_rate, bitcoin.weight_decay, bitcoin.epochs) == (128, 0.01, 0.0, 150)
    assert (bitcoin.alpha, bitcoin.gamma, bitcoin.rampup_start, bitcoin.rampup_end) == (0.1, 0.1, 75, 125)
    assert (bitcoin.input_dropout, bitcoin.select_by) == (0.5, "macro-f1")


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"alpha": -0.1}, "`alpha` must be at least 0, not -0.1"),
        ({"gamma": -1.0}, "`gamma` must be at least 0"),
        ({"temperature": 0.0}, "`temperature` must be above 0, not 0.0"),
        ({"perturbations": 0}, "`perturbations` must be at least 1 for graphmix"),
        ({"perturbations": 100_001}, "`perturbations` must be at least 0 and at most 100000, not 100001"),
        ({"target_alignment": 1.5}, "`target_alignment` must be at least 0 and at most 1"),
        ({"input_dropout": 1.0}, "`input_dropout` must be at least 0 and below 1, not 1.0"),
        ({"hidden_dropout": -0.5}, "`hidden_dropout` must be at least 0 and below 1"),
        ({"learning_rate": 0.0}, "`learning_rate` must be above 0"),
        ({"weight_decay": -1e-4}, "`weight_decay` must be at least 0"),
        ({"hidden": 0}, "`hidden` must be at least 1"),
        ({"trials": 0}, "`trials` must be at least 1"),
        ({"epochs": 0}, "`epochs` must be at least 1"),
        ({"epochs": 2.5}, "`epochs` must be a whole number"),
        ({"seed": -1}, "`seed` must be at least 0"),
        ({"alpha": math.nan}, "`alpha` must be a finite number, not nan"),
        ({"gamma": math.inf}, "`gamma` must be a finite number"),
        ({"rampup_start": 50, "rampup_end": 20}, "`rampup_end` (20) must not come before `rampup_start` (50)"),
        ({"unlabeled": "some"}, "`unlabeled` must be one of all, labeled, or a whole number of at least 1, not 'some'"),
        ({"unlabeled": 0}, "`unlabeled` must be"),
        ({"method": "magic"}, "`method` must be one of graphmix, supervised, fcn, self-training, fcn-self-training"),
        ({"backbone": "mlp"}, "`backbone` must be one of"),
        ({"fcn_loss": "mse"}, "`fcn_loss` must be one of"),
        ({"reading": "mine"}, "`reading` must be one of paper, released"),
        ({"trials": "5"}, "`trials` must be a whole number, not '5'"),
        ({"trials": True}, "`trials` must be a whole number, not True"),
        ({"bias": "no"}, "`bias` must be True or False, not 'no'"),
        ({"gamma": 1e30}, "`gamma` must be a number between -1e+30 and 1e+30, not 1e+30"),
        ({"gamma": 10**400}, "`gamma` must be a number between"),
        ({"epochs": 10**12}, "`epochs` must be at most"),
        ({"epochs": "10"}, "`epochs` must be a whole number, not '10'"),
        ({"reading": ["paper"]}, "`reading` must be one of"),
        ({"optimisation": "both"}, "`optimisation` must be one of alternate, joint, not 'both'"),
        ({"predictor": "mlp"}, "`predictor` must be one of auto, gnn, fcn, not 'mlp'"),
        ({"joint_weight": -1}, "`joint_weight` must be at least 0"),
        ({"heads": 0}, "`heads` must be at least 1"),
        ({"attention_dropout": 1}, "`attention_dropout` must be at least 0 and below 1"),
        ({"pool_ratios": 0.5}, "must be a list of one or two ratios, one per pooling, not 0.5"),
        ({"pool_ratios": ["half"]}, "must be a number above 0 and at most 1, not 'half'"),
        ({"depth": 3}, "there is no hyperparameter 'depth'"),
    ],
)
def test_values_out_of_range_are_refused_in_one_sentence(choices, message):
    with pytest.raises(ConfigError) as caught:
        Config.for_dataset("cora", **choices)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_dataset_is_a_name():
    with pytest.raises(ConfigError, match=r"`dataset` must be a name, such as 'cora' or graph\.name, not Config"):
        Config.for_dataset(Config())


def test_numbers_of_numpy_become_plain_ones():
    config = Config(trials=np.int64(3), alpha=np.float32(0.5), gamma=2)
    assert (type(config.trials), type(config.alpha), type(config.gamma)) == (int, float, float)


def test_a_late_ramp_moves_its_end_along():
    assert Config.for_dataset("", epochs=100, rampup_start=80).rampup_end == 80


def test_a_reading_is_not_recorded_for_another_ones_choices():
    with pytest.raises(ConfigError, match=r"Config\.for_dataset"):
        Config(reading="released")


def test_the_ramp_follows_the_epochs_however_a_config_is_made():
    assert (Config().rampup_start, Config().rampup_end) == (500, 1000)
    assert (Config(epochs=40).rampup_start, Config(epochs=40).rampup_end) == (10, 20)
    assert (Config(epochs=40, rampup_start=30).rampup_start, Config(epochs=40, rampup_start=30).rampup_end) == (30, 30)


def test_datasets_may_be_spelled_as_when_loading():
    assert Config.for_dataset("Bitcoin_OTC") == Config.for_dataset("bitcoin-otc")
