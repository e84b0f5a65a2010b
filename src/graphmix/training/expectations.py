"""Warnings about a config before training."""

from collections.abc import Mapping
from typing import Any

from graphmix.models.registry import NETWORKS
from graphmix.training.config import HYPERPARAMETERS, LAST, Config
from graphmix.training.methods import METHODS
from graphmix.training.settings import METHOD, RULE, VARIANT

# What every method and every network reads.
_OF_ALL = ("method", "predictor", "reading", "select_by", "ties", "class_weight")
_OF_NETWORKS = {name for info in NETWORKS.values() for name in info.options}


def few_epochs(config: Config) -> str | None:
    """Return a warning if a method trains for too few epochs to be what it is, else None.

    Measured on the built-in synthetic graph, 10 trials, test accuracy: GraphMix(GCN) has 80 % after 100 epochs and 94 %
    after 200, 500, 1,000 and 2,000. After each of them the GCN alone has 91 %, and so has GraphMix with γ = 0.
    """
    second = config.pretraining + config.phase_epochs
    if config.method == "gmnn" and config.epochs <= second:
        return (
            f"with `epochs` {config.epochs:,}, gmnn ends before its first network learns from the second, so it is the "
            f"{config.backbone} alone; more than {second:,} are needed (`pretraining` and `phase_epochs`)"
        )
    enough = METHODS[config.method].enough_epochs
    if not config.predicts_targets or config.epochs >= enough:
        return None
    start = "the first epoch" if config.rampup_before > 0 else f"epoch {config.rampup_start:,}"
    return (
        f"with `epochs` {config.epochs:,}, {config.method} trains on its own predictions from {start} on; if they are "
        f"still poor then, it can end below plain supervised training; {enough:,} epochs or more are safer"
    )


def unused_settings(config: Config, given: Mapping[str, Any]) -> str | None:
    """Return a warning if values are given for hyperparameters that the network or the method does not use.

    Args:
        config: the config.
        given: hyperparameters that the user gave, by name; None for those not given.
    """
    asked = [name for name, value in given.items() if value is not None and name in HYPERPARAMETERS]
    network = NETWORKS[config.backbone]
    idle = [name for name in asked if name in network.ignores or name in _OF_NETWORKS - set(network.options)]
    notes = [
        _no_effect(idle, f"network {config.backbone}"),
        _no_effect(_unread(config, asked, given), f"method {config.method}"),
        _no_effect(_idle_in_full_batches(config, asked), "full batch; give `batch_nodes`"),
        _no_effect([name for name in asked if name == "ties" and config.select_by == LAST], "last epoch selected"),
    ]
    return "; ".join(note for note in notes if note) or None


def unused_seeds(split: str, given: Mapping[str, Any]) -> list[str]:
    """Return a warning if options of a draw are given, by name, although this split is not drawn."""
    names = [name for name, value in given.items() if value]
    return [_no_effect(names, f"{split} split")] if names else []


def _unread(config: Config, asked: list[str], given: Mapping[str, Any]) -> list[str]:
    """Those of the hyperparameters that the method does not use."""
    method = METHODS[config.method]
    groups = (RULE,) if method.rule is None else (METHOD, RULE)
    used = {*_OF_ALL, *(name for name in method.uses if method.reads(name, vars(config)))}
    idle = [name for name in asked if HYPERPARAMETERS[name].group in groups and name not in used]
    # A value that is the default asks for nothing.
    changed = [name for name in config.unread if getattr(config, name) != HYPERPARAMETERS[name].default]
    idle += [name for name in asked if HYPERPARAMETERS[name].group == VARIANT and name in changed]
    # Only graphsgan changes the network that is given.
    return idle if given.get("backbone") in (None, config.backbone) else ["backbone", *idle]


def _idle_in_full_batches(config: Config, asked: list[str]) -> list[str]:
    return [] if config.batch_nodes > 0 else [name for name in ("batch_fanout", "batch_parts") if name in asked]


def _no_effect(names: list[str], owner: str) -> str:
    """Return a warning that names hyperparameters without effect; "" for an empty list."""
    if not names:
        return ""
    *most, last = [f"`{name}`" for name in names]
    listed = f"{', '.join(most)} and {last}" if most else last
    return f"{listed} {'has' if len(names) == 1 else 'have'} no effect with the {owner}"
