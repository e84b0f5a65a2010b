"""A hyperparameter is one field: its checks, its words and its parameters follow from it."""

import dataclasses
import functools
import itertools
import subprocess
import sys
from pathlib import Path

import pytest

import graphmix
from graphmix import Config, ConfigError
from graphmix.baselines import BASELINES
from graphmix.method import LOSSES
from graphmix.models.registry import NETWORKS
from graphmix.training.config import ADDED, HYPERPARAMETERS
from graphmix.training.methods import METHODS, fit_methods, possible_in_fits, report_order, trained_methods
from graphmix.training.paper import GAMMAS, RAMPS, READINGS, SETTINGS, varies_by
from graphmix.training.settings import GROUPS, Setting, check_value, parameters, setting, settings_of


@dataclasses.dataclass(frozen=True)
class Two:
    depth: int = setting(3, help="Layers", symbol="L", at_least=1, at_most=9)
    shape: str | int = setting("round", help="Shape", choices=("round", "square"), unlisted=("odd",), or_count=True)


def test_a_field_carries_its_setting():
    assert Two() == Two(3, "round")
    held = settings_of(Two)
    assert list(held) == ["depth", "shape"]
    assert held["depth"] == Setting(kind=int, default=3, help="Layers", symbol="L", at_least=1, at_most=9)
    assert settings_of(Two()) == held


@pytest.mark.parametrize(
    ("name", "value", "kept"),
    [("depth", 9, 9), ("shape", "square", "square"), ("shape", "odd", "odd"), ("shape", 4, 4)],
)
def test_values_within_the_rules_are_kept(name, value, kept):
    assert check_value(name, value, settings_of(Two)[name]) == kept


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("depth", 0, "`depth` must be at least 1 and at most 9, not 0"),
        ("depth", 10, "`depth` must be at least 1 and at most 9, not 10"),
        ("depth", 2.0, "`depth` must be a whole number, not 2.0"),
        ("depth", True, "`depth` must be a whole number, not True"),
        ("shape", "flat", "`shape` must be one of round, square, or a whole number of at least 1, not 'flat'"),
        ("shape", 0, "`shape` must be one of"),
        ("shape", 2**31, "`shape` must be one of"),
        ("shape", True, "`shape` must be one of"),
    ],
)
def test_other_values_are_refused_by_name(name, value, message):
    with pytest.raises(ConfigError) as caught:
        check_value(name, value, settings_of(Two)[name])
    assert message in str(caught.value)


def test_parameters_for_an_estimator():
    (depth,) = parameters(Two, "depth")
    assert depth == ("depth", 3, "Layers [L].")
    assert [name for name, _, _ in parameters(Two)] == ["depth", "shape"]
    alpha, epochs = parameters(Config, "alpha", "epochs")
    assert (alpha.name, alpha.default, epochs.default) == ("alpha", Config.alpha, Config.epochs)
    with pytest.raises(KeyError):
        list(parameters(Config, "depth"))


def test_every_hyperparameter_is_declared_in_full():
    for field in dataclasses.fields(Config):
        rules = HYPERPARAMETERS[field.name]
        assert rules.help[0].isupper(), field.name
        assert not rules.help.endswith("."), field.name
        assert rules.group in GROUPS
        assert rules.values, f"{field.name} allows what?"
        assert rules.default == field.default
        # The annotation says the same as the declaration.
        assert str(field.type).startswith(("<class 'str'>", "str", "tuple", f"<class '{rules.kind.__name__}'>"))
        if rules.default is not None:
            assert check_value(field.name, rules.default, rules) == rules.default
        else:
            assert rules.default_text


def test_the_docstring_of_config_holds_every_hyperparameter():
    assert Config.__doc__ is not None
    for name, rules in HYPERPARAMETERS.items():
        assert f"    {name}: {rules.help}" in Config.__doc__


def test_choices_are_those_of_the_code_that_uses_them():
    assert HYPERPARAMETERS["fcn_loss"].choices == tuple(LOSSES)
    assert {*HYPERPARAMETERS["backbone"].choices, *HYPERPARAMETERS["backbone"].unlisted} == set(NETWORKS)
    assert HYPERPARAMETERS["reading"].choices == tuple(READINGS) == tuple(GAMMAS)


def test_the_papers_tables_name_hyperparameters():
    for values in (*READINGS.values(), *SETTINGS.values()):
        assert set(values) <= set(HYPERPARAMETERS)
    assert READINGS["paper"] == {name: getattr(Config, name) for name in READINGS["paper"]}
    assert set(RAMPS) <= {dataset for dataset, _ in SETTINGS}


RULED = tuple(name for name, method in METHODS.items() if method.rule is not None)

CHOICES = {
    "dataset": ("", "cora", "citeseer", "pubmed", "cora-full", "coauthor-cs", "bitcoin-otc"),
    "backbone": ("gcn", "gat", "appnp", "chebyshev", "gcn2", "gatv2", "monet", "disengcn", "grand"),
    "reading": ("paper", "released"),
    "method": ("graphmix", "graphmix-steady", *(name for name in RULED if METHODS[name].backbone != "sgan")),
}


@functools.cache
def defaults(**fixed):
    """The config of every combination of choices."""
    combinations = itertools.product(*CHOICES.values())
    return {said: Config.for_dataset(**dict(zip(CHOICES, said, strict=True)), **fixed) for said in combinations}


@pytest.mark.parametrize("name", [name for name in HYPERPARAMETERS if name not in CHOICES])
def test_defaults_vary_by_what_is_said(name):
    # The ramp is a share of the epochs, which some methods set.
    configs = defaults(epochs=2000) if name in ("rampup_start", "rampup_end") else defaults()
    found = {said: getattr(config, name) for said, config in configs.items()}
    for place, what in enumerate(CHOICES):
        # Take the choice out of the key: whatever falls together then must differ only if it varies by that choice.
        together = {}
        for key, value in found.items():
            together.setdefault(key[:place] + key[place + 1 :], set()).add(value)
        assert (what in varies_by(name)) == any(len(values) > 1 for values in together.values()), what


def test_baselines_are_methods_that_train_nothing():
    assert {name for name, method in METHODS.items() if method.baseline} == set(BASELINES)
    assert set(trained_methods()) == set(METHODS) - set(BASELINES)
    assert HYPERPARAMETERS["method"].choices == trained_methods()


def test_methods_have_an_order_in_reports_and_in_fits():
    assert set(report_order()) == set(METHODS)
    assert len({method.report_place for method in METHODS.values()}) == len(METHODS)
    assert (report_order()[0], report_order()[-1]) == ("label-propagation", "graphmix-grand")
    # What takes no gradient first: a time limit keeps what was tried by then.
    cheap = ("label-propagation", "logistic-regression", "random-forest")
    assert fit_methods() == (*cheap, "fcn", "supervised", "graphmix-steady")
    assert all(METHODS[name].baseline for name in cheap)
    assert possible_in_fits()[: len(fit_methods())] == fit_methods()
    classics = {"deepwalk", "manireg", "ica", "semiemb", "planetoid", "planetoid-inductive"}
    assert set(possible_in_fits()) == set(METHODS) - classics - set(RULED)


@pytest.mark.parametrize(
    ("method", "gnn", "targets", "predicts"),
    [
        ("graphmix", True, True, True),
        ("supervised", True, False, True),
        ("fcn", False, False, False),
        ("self-training", True, True, True),
        ("fcn-self-training", False, True, True),
        ("fcn-mixup", False, True, True),
        ("graphmix-steady", True, True, True),
        *((name, True, False, True) for name in RULED),
    ],
)
def test_what_a_method_does(method, gnn, targets, predicts):
    config = Config(method=method)
    assert (config.trains_gnn, config.predicts_targets, config.predicts_with_gnn) == (gnn, targets, predicts)
    assert not Config(method=method, gamma=0).predicts_targets
    assert Config(method=method, predictor="gnn").predicts_with_gnn
    assert not Config(method=method, predictor="fcn").predicts_with_gnn


def test_hyperparameters_are_checked_without_torch():
    source = Path(graphmix.__file__).parent
    # The package itself may import torch; its modules here must not.
    code = (
        "import sys, types; package = types.ModuleType('graphmix'); package.__path__ = [sys.argv[1]]; "
        "sys.modules['graphmix'] = package; "
        "from graphmix.training import Config; from graphmix.training.methods import METHODS; "
        "from graphmix.training.expectations import few_epochs; from graphmix.results.commands import train_command; "
        "import graphmix.cli.options; "
        "few_epochs(Config.for_dataset('cora', backbone='gat', epochs=5)); train_command({'dataset': 'cora'}); "
        "sys.exit('torch' in sys.modules or 'numpy' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code, str(source)], check=True)


def test_old_records_may_lack_only_what_was_added():
    stored = Config(trials=3).to_dict()
    assert {"class_weight", "target_weight"} <= set(ADDED)
    assert Config.from_dict({name: value for name, value in stored.items() if name not in ADDED}) == Config(trials=3)
    with pytest.raises(ConfigError, match="`epochs` is missing"):
        Config.from_dict({name: value for name, value in stored.items() if name != "epochs"})
