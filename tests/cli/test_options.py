"""Options follow from the fields of `Config`."""

import inspect
from typing import Annotated, Any

import pytest
import typer
from typer.main import get_command

from graphmix import Config, ConfigError
from graphmix.cli.main import app
from graphmix.cli.options import describe, read, settings_options
from graphmix.training.config import HYPERPARAMETERS
from graphmix.training.settings import METHOD, RUN


def commanded(**choices):
    """A command with some options, and what it received."""
    received = {}
    small = typer.Typer()

    @small.command()
    @settings_options("hidden", "temperature", "learning_rate", "pool_ratios", "unlabeled", "bias", **choices)
    def paint(
        colour: str, out: Annotated[str, typer.Option(help="Where.", rich_help_panel=RUN)] = "here", **given: Any
    ) -> None:
        """Paint."""
        received.update(given, colour=colour, out=out)

    return get_command(small), received


def run(command, *words):
    command.main(list(words), standalone_mode=False)


def test_a_command_receives_values_of_the_fields_kinds():
    command, received = commanded()
    run(
        command,
        "red",
        "--hidden",
        "8",
        "-T",
        "0.5",
        "--lr",
        "0.1",
        "--pool-ratios",
        "0.5,1",
        "--unlabeled",
        "20",
        "--bias",
    )
    assert received == {
        "colour": "red", "out": "here", "hidden": 8, "temperature": 0.5, "learning_rate": 0.1,
        "pool_ratios": [0.5, 1.0], "unlabeled": 20, "bias": True,
    }  # fmt: skip
    run(command, "red", "--no-bias", "--unlabeled", "all", "--temperature", "1", "--out", "there")
    assert (received["bias"], received["unlabeled"], received["out"]) == (False, "all", "there")
    assert (received["hidden"], received["pool_ratios"]) == (None, None)


def test_help_has_other_words_panels_and_places_where_asked():
    command, _ = commanded(defaults={"hidden": "chosen from the size of the graph"}, panel="Training", before="out")
    params = {param.name: param for param in command.params}
    assert list(params)[:3] == ["colour", "hidden", "temperature"]
    assert list(params).index("out") > list(params).index("bias")
    assert "default: chosen from the size of the graph" in params["hidden"].help
    assert params["hidden"].rich_help_panel == "Training"
    plain, _ = commanded()
    assert {param.name: param for param in plain.params}["temperature"].rich_help_panel == METHOD


def test_the_decorated_function_keeps_its_name_and_shows_its_options():
    @settings_options("alpha")
    def mix(**given: Any) -> None:
        """Mix."""

    assert (mix.__name__, mix.__doc__) == ("mix", "Mix.")
    assert list(inspect.signature(mix).parameters) == ["alpha"]


def test_invalid_text_is_left_to_the_config():
    assert read("pool_ratios", "half") == ["half"]
    assert read("unlabeled", "-3") == "-3"
    with pytest.raises(ConfigError, match="pool_ratios"):
        Config(pool_ratios=read("pool_ratios", "half"))


@pytest.mark.parametrize("name", HYPERPARAMETERS)
def test_train_has_every_hyperparameter_with_meaning_symbol_choices_and_default(name):
    options = {param.name: param for param in get_command(app).commands["train"].params}
    rules, option = HYPERPARAMETERS[name], options[name]
    assert f"--{name.replace('_', '-')}" in option.opts
    for part in (rules.help[1:], rules.symbol, *rules.choices, f"default: {rules.default_words}"):
        assert part in option.help
    assert option.rich_help_panel == rules.group
    assert "custom" not in option.help


def test_defaults_that_vary_say_by_what():
    assert "varies by dataset, reading and method" in describe("gamma")
    assert "varies by dataset and method" in describe("temperature")
    assert "varies by backbone and method" in describe("bias")
    assert "varies" not in describe("pool_ratios")
