"""How often a run stores where it is. Importing this does not import torch."""

from graphmix.errors import ConfigError

# How long a run trains between two checkpoints, unless somebody chooses otherwise.
MINUTES = 5.0
_WHY = "which store no checkpoints: what they had not finished begins anew"


def check_minutes(minutes: float) -> None:
    """Raise ConfigError unless a number of minutes is 0 or more."""
    if not minutes >= 0:
        raise ConfigError(f"`checkpoint_minutes` must be at least 0, not {minutes}")


def idle_minutes(minutes: float, *, here: bool) -> list[str]:
    """Return a note if somebody chose a number of minutes that has no effect: only this process stores checkpoints."""
    return [] if here or minutes == MINUTES else [f"`checkpoint_minutes` has no effect with workers, {_WHY}"]
