"""Warnings about a config before training."""

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
