"""What to make of a fit, in words, for the terminal and the page."""

from graphmix.results.fit import CandidateResult, FitMetrics
from graphmix.results.names import method_title
from graphmix.results.outcome import say_interval
from graphmix.text import counted

_UNITS = {"accuracy": "points", "macro-f1": "points of macro F1"}


def recommend(metrics: FitMetrics) -> str:
    """Say which method to use and whether its lead over the next is more than noise."""
    best, *others = metrics.candidates
    name = _name(metrics, best)
    right = f"right on {best.accuracy:.1f} % of {_judged(metrics, best)} ({say_interval(best.accuracy, metrics.held)})"
    use = f"Use {name}: it is {right}.{_beats_majority(metrics)}"
    if not others:
        return use
    second = others[0]
    if second.behind is None:
        return use
    mean, low, high = second.behind
    interval = f"95 % interval {low:+.1f} to {high:+.1f}".replace("-", "−")
    if not mean:
        equal = [_name(metrics, other) for other in others if other.behind is not None and not other.behind[0]]
        return f"{use} {_listed(equal)} {'do' if len(equal) > 1 else 'does'} as well ({interval})."
    margin = f"{mean:.1f} {_UNITS[metrics.chosen_by]} ahead of {_name(metrics, second)} ({interval})"
    if second.certain:
        return f"{use} It is {margin}: more than noise."
    beaten = [_name(metrics, other) for other in others if other.certain]
    rest = f" It is ahead of {_listed(beaten)} by more than noise." if beaten else ""
    return f"{use} It is {margin}: that may be noise.{rest}"


def _listed(names: list[str]) -> str:
    """A, B and C."""
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]


def _name(metrics: FitMetrics, candidate: CandidateResult) -> str:
    return method_title(candidate.method, metrics.backbone)


def _beats_majority(metrics: FitMetrics) -> str:
    """A warning where always predicting one class does as well; else empty."""
    majority = metrics.majority
    if majority is None or majority.accuracy is None or metrics.candidates[0].accuracy > majority.accuracy:
        return ""
    return (
        f" Always predicting {majority.name!r} is right on {majority.accuracy:.1f} %, so it may have learned nothing: "
        "balance the classes, or label more of the rarer ones."
    )


def _judged(metrics: FitMetrics, candidate: CandidateResult) -> str:
    if metrics.judged_on == "held-out folds":
        return f"{counted(metrics.held, 'label')}, each held out once"
    selected = "" if candidate.method == "label-propagation" else ", which also selected its epochs"
    return f"{counted(metrics.held, 'validation label')}{selected}"
