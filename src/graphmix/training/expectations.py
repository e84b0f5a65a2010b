"""Warnings about a config before training."""

from collections.abc import Mapping
from typing import Any

from graphmix.models.registry import NETWORKS
from graphmix.training.config import Config
from graphmix.training.methods import METHODS


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


def unused_settings(config: Config, given: Mapping[str, Any]) -> str | None:
    """Return a warning if values are given for hyperparameters that other networks have and this one has not.

    Args:
        config: the config.
        given: hyperparameters that the user gave, by name; None for those not given.
    """
    ours = NETWORKS[config.backbone].options
    others = {name for info in NETWORKS.values() for name in info.options if name not in ours}
    unused = [f"`{name}`" for name, value in given.items() if value is not None and name in others]
    if not unused:
        return None
    listed = " and ".join([", ".join(unused[:-1]), unused[-1]] if len(unused) > 1 else unused)
    return f"{listed} {'has' if len(unused) == 1 else 'have'} no effect with the network {config.backbone}"
