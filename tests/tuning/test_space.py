"""Spaces: what can be searched, what a TOML file says, and what has an effect."""

from functools import partial

import pytest

from graphmix.errors import ConfigError
from graphmix.training.config import Config
from graphmix.training.config_file import config_text, read_config
from graphmix.tuning.space import (
    USUAL,
    Choices,
    Interval,
    idle,
    matters,
    parse_space,
    read_space,
    space_text,
    space_values,
    usual_space,
)

CITESEER = partial(Config.for_dataset, "citeseer")


def usual(suits=lambda config: True, **fixed):
    return usual_space(CITESEER, fixed, suits)


def test_the_usual_space_is_read_back_from_its_own_text(tmp_path):
    space = usual()
    (tmp_path / "space.toml").write_text(space_text(space, ("A comment: ünïcode",)))
    assert read_space(tmp_path / "space.toml") == space
    assert parse_space(space_values(space)) == space


def test_the_usual_space_leaves_out_what_is_given_and_what_has_no_effect():
    assert {"alpha", "gamma", "temperature", "hops", "backbone"} <= set(usual())
    assert "joint_weight" not in usual()  # of alternate steps
    assert "joint_weight" in usual(optimisation="joint")
    assert "attention_dropout" not in usual()  # of networks that are not tried
    assert "attention_dropout" in usual(backbone="gat")
    assert not {"backbone", "hops", "teleport", "hidden"} & set(usual(backbone="gcn", hidden=8))
    assert not {"alpha", "gamma", "temperature"} & set(usual(method="supervised"))
    # A method with a network of its own keeps it.
    assert "backbone" not in usual(method="grand")


def test_networks_that_the_graph_does_not_suit_are_not_tried():
    assert usual(lambda config: config.backbone != "appnp")["backbone"] == Choices(("gcn", "gpr", "sage"))


def test_the_usual_values_are_in_the_usual_space():
    for dataset in ("cora", "citeseer", "pubmed"):
        config = Config.for_dataset(dataset)
        space = usual_space(partial(Config.for_dataset, dataset), {}, lambda config: True)
        assert all(space[name].holds(getattr(config, name)) for name in space)


def test_what_has_an_effect_depends_on_the_network_and_the_method():
    assert matters("hops", Config(backbone="gpr"))
    assert not matters("hops", Config(backbone="gcn"))
    assert matters("joint_weight", Config(method="graphmix-steady"))
    assert not matters("joint_weight", Config())
    space = parse_space({"hops": [2, 4], "hidden": [8, 16], "backbone": ["gcn", "sage"]})
    assert idle(space, CITESEER, {}) == ["hops"]
    assert idle(space, CITESEER, {"method": "supervised"}) == ["hops"]


@pytest.mark.parametrize(
    ("values", "inside", "outside"),
    [
        (Interval(0.0, 0.8, step=0.1), (0.0, 0.3, 0.1 + 0.2, 0.8), (0.25, 0.9, -0.1, "a", True)),
        (Interval(2, 16), (2, 16), (1, 17)),
        (Interval(0.001, 0.1, log=True), (0.001, 0.05), (0.2,)),
        (Choices(("gcn", "gat")), ("gcn",), ("sage",)),
    ],
)
def test_which_values_a_dimension_holds(values, inside, outside):
    assert all(map(values.holds, inside))
    assert not any(map(values.holds, outside))


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({}, "the space is empty"),
        ({"hiden": [16]}, "no hyperparameter 'hiden'"),
        ({"method": ["graphmix"]}, "'method' cannot be searched"),
        ({"trials": [1]}, "cannot be searched"),
        ({"pool_ratios": [[0.5]]}, "cannot be searched"),
        ({"hidden": []}, "no values of 'hidden'"),
        ({"hidden": [0]}, "at least 1"),
        ({"hidden": 16}, "a list of values"),
        ({"backbone": {"low": 1, "high": 2}}, "list its values"),
        ({"backbone": ["gnc"]}, "one of gcn"),
        ({"alpha": {"low": 1}}, "needs low and high"),
        ({"alpha": {"low": 1, "high": 2, "stop": 1}}, "has 'stop'"),
        ({"alpha": {"low": 2, "high": 1}}, "must be below high"),
        ({"alpha": {"low": -1, "high": 1}}, "at least 0"),
        ({"alpha": {"low": 0, "high": 1, "log": True}}, "needs a low above 0"),
        ({"alpha": {"low": 1, "high": 2, "log": 1}}, "true or false"),
        ({"hidden": {"low": 1, "high": 9, "step": 0.5}}, "step of 'hidden'"),
        ({"alpha": {"low": 0, "high": 1, "step": -1}}, "step of 'alpha'"),
    ],
)
def test_an_invalid_space_is_refused_with_its_place(entry, said):
    with pytest.raises(ConfigError, match=r"^here: ") as error:
        parse_space(entry, "here")
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[config]\nhiden = 3\n", "no hyperparameter 'hiden'"),
        ("[config]\nhidden = 0\n", "at least 1"),
        ("[other]\n", "has no table [config]"),
        ("[config]\n[more]\n", "has 'more' beside the table [config]"),
        ("config = 3\n", "has no table [config]"),
        ("hidden 3", "is not TOML"),
        ("\udcff", "is not TOML"),
    ],
)
def test_an_invalid_file_of_settings_is_refused_by_name(tmp_path, text, said):
    path = tmp_path / "mine.toml"
    path.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(ConfigError, match=r"mine\.toml") as error:
        read_config(path)
    assert said in str(error.value)


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    for path in (tmp_path / "none.toml", tmp_path):
        with pytest.raises(ConfigError, match=path.name):
            read_config(path)


def test_settings_are_read_back_as_they_were_written(tmp_path):
    settings = {"method": "graphmix", "hidden": 32, "weight_decay": 1e-05, "bias": True, "pool_ratios": [0.5, 0.25]}
    (tmp_path / "best.toml").write_text(config_text(settings, ("Found\nby hand",)))
    found = read_config(tmp_path / "best.toml")
    assert found == settings | {"pool_ratios": (0.5, 0.25)}
    assert Config.for_dataset("cora", **found) == Config.for_dataset("cora", **settings)
    assert read_config({"hidden": 3}) == {"hidden": 3}


def test_every_usual_dimension_is_valid_by_itself():
    assert parse_space(space_values(USUAL)) == USUAL
