"""Warnings about a config before training."""

from collections.abc import Mapping
from typing import Any

from graphmix.models.registry import NETWORKS
from graphmix.training.config import HYPERPARAMETERS, Config
from graphmix.training.methods import METHODS
from graphmix.training.settings import METHOD, RULE

# What every method and every network reads.
_OF_ALL = ("method", "predictor", "reading", "select_by", "ties", "class_weight")
_OF_NETWORKS = {name for info in NETWORKS.values() for name in info.options}


def few_epochs(config: Config) -> str | None:
    """Return a warning if a method with predicted targets trains for few epochs, else None.

    Measured on the built-in synthetic graph, 10 trials, test accuracy: GraphMix(GCN) has 80 % after 100 epochs and 94 %
    after 200, 500, 1,000 and 2,000. After each of them the GCN alone has 91 %, and so has GraphMix with γ = 0.
    """
    enough = METHODS[config.method].enough_epochs
    if not config.predicts_targets or config.epochs >= enough:
        return None
    start = "the first epoch" if config.rampup_before > 0 else f"epoch {config.rampup_start:,}"
    return (
        f"with `epochs` {config.epochs:,}, {config.method} trains on its own predictions from {start} on; if they are "
        f"still poor then, it can end below plain supervised training; {enough:,} epochs or more are safer"
    )


def without_effect(config: Config, given: Mapping[str, Any]) -> str | None:
    """Return a warning that names hyperparameters which were given but change nothing, else None.

    Args:
        config: the hyperparameters.
        given: those that were asked for, by name; None for one that was not.
    """
    method = METHODS[config.method]
    asked = [name for name in HYPERPARAMETERS if given.get(name) is not None]
    idle = [name for name in asked if name in _OF_NETWORKS and name not in NETWORKS[config.backbone].options]
    idle += ["backbone"] if given.get("backbone") not in (None, config.backbone) else []
    groups = (RULE,) if method.rule is None else (METHOD, RULE)
    idle += [name for name in asked if HYPERPARAMETERS[name].group in groups and name not in (*method.uses, *_OF_ALL)]
    if not idle:
        return None
    named = ", ".join(f"`{name}`" for name in idle)
    return f"{named} {'has' if len(idle) == 1 else 'have'} no effect on {config.method} over {config.backbone}"
