"""A run's command: short, complete, and a command that `graphmix train` takes."""

import shlex

import pytest
from typer.main import get_command

from graphmix import Config
from graphmix.cli.main import app
from graphmix.results.commands import option, rerun_command, train_command


def test_a_baseline_has_only_trials_and_a_seed():
    run = {"dataset": "my graph", "split": "random", "split_seeds": [3, 4, 3], "method": "deepwalk", "backbone": None}
    assert train_command(run) == "graphmix train 'my graph' --split random --splits 2 --split-seed 3 --method deepwalk"


def test_only_what_differs_from_the_datasets_defaults_is_written():
    usual = Config.for_dataset("pubmed", backbone="gat")
    run = {"dataset": "pubmed", "split": "public", "split_seeds": None, **usual.to_dict()}
    plain = "graphmix train pubmed --method graphmix --trials 10 --backbone gat --reading paper"
    assert train_command(run) == plain
    assert train_command(run | {"alpha": 1.0, "bias": True}) == f"{plain} --alpha 1.0 --bias"
    assert (
        train_command({"dataset": "synthetic", "split": "synthetic", "bias": True}) == "graphmix train synthetic --bias"
    )


def test_a_custom_model_has_no_command():
    assert rerun_command({"dataset": "cora", "network": "mine"}) is None
    assert rerun_command({"dataset": "cora", "network": None}) == "graphmix train cora"


@pytest.mark.parametrize("reading", ["paper", "released"])
@pytest.mark.parametrize(
    "given",
    [
        {},
        {"seed": 7, "trials": 3, "method": "self-training", "predictor": "fcn"},
        {"backbone": "unet", "pool_ratios": (0.25,), "bias": True, "binarise": False},
        {"unlabeled": 25, "epochs": 40, "rampup_start": 30, "optimisation": "joint", "joint_weight": 0.1},
    ],
)
def test_the_command_gives_the_config_back(given, reading):
    config = Config.for_dataset("bitcoin-otc", reading=reading, **given)
    run = {"dataset": "bitcoin-otc", "split": "random", "split_seeds": [0, 1, 0], **config.to_dict()}
    words = shlex.split(train_command(run))
    parsed = get_command(app).commands["train"].make_context("train", words[2:]).params
    read = {name: value for name, value in parsed.items() if name in Config.__dataclass_fields__}
    if read["pool_ratios"]:
        read["pool_ratios"] = [float(part) for part in read["pool_ratios"].split(",")]
    if read["unlabeled"] and read["unlabeled"].isdecimal():
        read["unlabeled"] = int(read["unlabeled"])
    assert Config.for_dataset("bitcoin-otc", **read) == config
    assert (parsed["split"], parsed["splits"], parsed["split_seed"]) == ("random", 2, 0)


def test_options_as_words():
    assert option("pool_ratios", (0.5, 1)) == ["--pool-ratios", "0.5,1"]
    assert option("bias", False) == ["--no-bias"]
    assert option("learning_rate", 0.1) == ["--learning-rate", "0.1"]
