"""The least memory and time that a run can take: what cannot be done is refused before it begins. Needs no torch.

The estimates are optimistic, so that nothing feasible is refused: only what is certainly kept in memory counts, and
time is counted at a speed that no machine reaches.
"""

from dataclasses import dataclass

from graphmix.data.split_names import NODE_BYTES
from graphmix.errors import ConfigError
from graphmix.limits import as_size
from graphmix.machine import available_memory
from graphmix.training.config import Config

# Multiplications in a second: more than any machine of today does, by the kind of its device.
FASTEST = {"cpu": 1e14, "cuda": 1e16}
# No step of training takes less time than this, nor a trial's share of it, on any device and any graph.
SHORTEST_STEP, SHORTEST_SHARE = 1e-5, 1e-7
LONGEST = 365.25 * 86_400
# For each trial: five curves of float32, and about this many bytes of scores.
_CURVES, _SCORES = 5 * 4, 500
# A run joins its batches of trials in a copy.
_COPIES = 2
# What a record has of each of several runs.
_OF_A_RUN = 2000
_TIMES = ((LONGEST, "years"), (86_400, "days"), (3600, "hours"), (60, "minutes"))


@dataclass(frozen=True)
class Least:
    """The least that something takes.

    Attributes:
        memory: bytes.
        seconds: of time.
    """

    memory: float = 0
    seconds: float = 0


def least_of(
    config: Config, *, weights: int = 0, classes: int = 1, split_nodes: int = 0, seconds_a_trial: float = 0
) -> Least:
    """Return the least that a run takes.

    Args:
        config: its hyperparameters.
        weights: the number of weights of one trial, at the least.
        classes: the number of classes.
        split_nodes: the number of nodes if every trial has a split of its own, else 0.
        seconds_a_trial: what one epoch of one trial takes at the least.
    """
    kept = _CURVES * config.epochs + _SCORES + 4 * weights + 8 * classes**2
    memory = config.trials * (_COPIES * kept + NODE_BYTES * split_nodes)
    return Least(memory, config.epochs * max(config.trials * max(seconds_a_trial, SHORTEST_SHARE), SHORTEST_STEP))


def check_runs(config: Config, runs: int = 1) -> None:
    """Raise ConfigError if runs like this, one after the other, are impossible on any graph.

    Raises:
        ConfigError: they do not fit into memory, or take longer than a year.
    """
    one = least_of(config)
    check_possible(Least(one.memory + runs * _OF_A_RUN, one.seconds * runs), config, runs=runs)


def check_possible(
    least: Least, config: Config, *, free: int | None = None, runs: int = 1, advice: str = "lower `trials` or `epochs`"
) -> None:
    """Raise ConfigError if what is asked for needs more memory than is free, or more than a year.

    Args:
        least: what it takes at the least.
        config: its hyperparameters, for the message.
        free: the free memory; the machine's if None.
        runs: how many runs there are, for the message.
        advice: what would help.
    """
    free = available_memory() if free is None else free
    too_much, too_long = least.memory > free, least.seconds > LONGEST
    if not too_much and not too_long:
        return
    needs = [f"{as_size(int(least.memory))} of memory ({as_size(free)} are free)"] * too_much
    needs += [_as_time(least.seconds)] if least.seconds >= _TIMES[-1][0] else []
    times = f"{runs:,} times " if runs > 1 else ""
    what = f"{times}{config.trials:,} trials of {config.epochs:,} epochs"
    raise ConfigError(f"{what} need at least {' and '.join(needs)}; {advice}")


def _as_time(seconds: float) -> str:
    unit, name = next(each for each in _TIMES if seconds >= each[0])
    return f"{seconds / unit:,.0f} {name}"
