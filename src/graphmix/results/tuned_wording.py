"""Sentences about a search, the same on the terminal, on its page and in the file of its best settings."""

from statistics import fmean

from graphmix.results.tuned import DONE, FAILED, STOPPED, Comparison, TuneResult
from graphmix.results.wording import spread
from graphmix.text import counted, signed

METRICS = {"accuracy": "validation accuracy", "macro-f1": "validation macro F1"}


def config_comments(found: TuneResult) -> tuple[str, ...]:
    """What the file of the best settings says of itself."""
    use = "graphmix train DATASET --config FILE, graphmix fit … --config FILE, and graphmix.read_config take this file."
    return (f"Found by graphmix tune on {found.dataset}. {say_best(found)}", use)


def say_best(found: TuneResult) -> str:
    """How good the best point is, beside the usual values."""
    best, start = found.best_point, found.start
    if best is None:
        return "No point is done yet."
    told = f"Best {METRICS[found.metric]} of {counted(len(found.points), 'point')}: {spread(best.score, best.std)} %"
    if best.start:
        return f"{told}, with the default settings: no other point is better."
    if start is None:
        return f"{told}."
    return f"{told}; the defaults have {spread(start.score, start.std)} %."


def say_checked(found: TuneResult) -> str:
    """Whether the best point is better than the usual values with fresh seeds; empty if that was not tried."""
    checked = found.checked
    if found.check_error is not None:
        return f"The comparison with the defaults with fresh seeds failed: {found.check_error}"
    if checked is None:
        return ""
    means = f"{fmean(checked.best):.2f} % against {fmean(checked.usual):.2f} %"
    told = f"With {counted(len(checked.best), 'fresh seed')}: {means} of the defaults"
    if checked.low is None or checked.high is None:
        return f"{told}; one trial says little."
    ends = f"95 % interval {signed(checked.low)} to {signed(checked.high)}"
    return f"{told}, a difference of {signed(checked.difference)} ({ends}): {_verdict(checked)}."


def _verdict(checked: Comparison) -> str:
    assert checked.low is not None  # the caller has looked
    assert checked.high is not None
    if checked.low > 0:
        return "more than the luck of the seeds"
    return "the defaults are better" if checked.high < 0 else "this may be luck"


def say_counts(found: TuneResult) -> str:
    """How many points there are of each kind."""
    counts = {state: sum(point.state == state for point in found.points) for state in (DONE, STOPPED, FAILED)}
    words = {DONE: "trained to the end", STOPPED: "stopped early", FAILED: "failed"}
    told = ", ".join(f"{count:,} {words[state]}" for state, count in counts.items() if count)
    return f"{counted(len(found.points), 'point')} of {found.asked:,}: {told}" if told else "no point yet"
