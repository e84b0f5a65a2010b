"""What to make of a fit, in words, for the terminal and the page."""

from graphmix.results.fit import MIXTURE, SINGLE_METHOD, CandidateResult, FitMetrics
from graphmix.results.names import candidate_title
from graphmix.results.outcome import say_interval
from graphmix.text import counted, signed

_UNITS = {"accuracy": "points", "macro-f1": "points of macro F1"}
# How many times as many labels as the rarest class the most frequent one has where to balance them is worth a try.
_UNEQUAL = 2


def recommend(metrics: FitMetrics) -> str:
    """Say what the model is, how often it is right, and whether its lead is more than noise."""
    return " ".join([headline(metrics), *comparisons(metrics)])


def headline(metrics: FitMetrics) -> str:
    """Say what the model is and how often it is right; of older files, which method to use and why."""
    if metrics.format <= SINGLE_METHOD:
        return _recommend_best(metrics)
    return f"{say_members(metrics)} It is {_right(metrics)}.{_beats_majority(metrics)}"


def members(metrics: FitMetrics) -> list[CandidateResult]:
    """The members of the mixture, the largest share first; empty if the model is no mixture."""
    return sorted((each for each in metrics.candidates if each.share), key=lambda each: -(each.share or 0.0))


def say_members(metrics: FitMetrics) -> str:
    """Say what the model is made of."""
    if metrics.chosen != MIXTURE:
        return f"The model is {candidate_title(metrics.candidates[0], metrics)}."
    inside, tried = members(metrics), len(metrics.candidates) - 1
    if len(inside) == 1:
        rest = counted(tried - 1, "other method")
        return f"The model is {candidate_title(inside[0], metrics)} alone: held-out labels gave {rest} no share."
    if not inside:
        return f"The model averages {counted(tried, 'method')}."
    shares = ", ".join(f"{candidate_title(each, metrics)} {each.share:.0f} %" for each in inside)
    of = "" if len(inside) == tried else f" of the {tried} tried"
    return f"The model averages {len(inside)} methods{of}: {shares}."


def comparisons(metrics: FitMetrics) -> list[str]:
    """Compare a mixture with the best method alone, and name those it beats; empty for a single method."""
    if metrics.chosen != MIXTURE:
        return []
    inside = members(metrics)
    # The only member is the model, but for the labels that chose it.
    others = [each for each in metrics.candidates[1:] if each.behind is not None and inside != [each]]
    if not others:
        return []
    said, best = [_compare(metrics, others)], others[0]
    beaten = [candidate_title(each, metrics) for each in others if each.certain and each.behind and each.behind[0] > 0]
    if beaten and not (best.certain and best.behind and best.behind[0] > 0):
        said.append(f"The {_model(metrics)} is ahead of {_listed(beaten)} by more than noise.")
    return said


def _compare(metrics: FitMetrics, others: list[CandidateResult]) -> str:
    """Compare the model with the best of the others."""
    best = others[0]
    assert best.behind is not None  # only those that have it are compared
    mean, low, high = best.behind
    name, unit, model = candidate_title(best, metrics), _UNITS[metrics.chosen_by], _model(metrics)
    if _is_even(best):
        equal = [candidate_title(each, metrics) for each in others if _is_even(each)]
        return f"Alone, {_listed(equal)} {'do' if len(equal) > 1 else 'does'} as well ({say_range(low, high)})."
    alone = f"Alone, {name} {_does(metrics, best)}"
    if mean > 0:
        noise = "is more than noise" if best.certain else "may be noise"
        return f"{alone}: the {model}'s lead of {mean:.1f} {unit} ({say_range(low, high)}) {noise}."
    better = f"{alone}, {-mean:.1f} {unit} more than the {model} ({say_range(-high, -low)})."
    # The best of several was picked after looking, so an interval for one comparison claims too much.
    luck = f"of {len(others)} methods, one is often ahead by luck" if len(others) > 2 else ""
    if best.certain:
        but = f", if it were the only comparison; but {luck}" if luck else ""
        return f"{better} That is more than noise{but}.{_probabilities(metrics, best)}"
    return f"{better} That may be noise{f': {luck}' if luck else ''}.{_probabilities(metrics, best)}"


def _model(metrics: FitMetrics) -> str:
    return "mixture" if len(members(metrics)) != 1 else "model"


def _is_even(candidate: CandidateResult) -> bool:
    """Whether it is as good as the model, as far as one digit shows."""
    return candidate.behind is not None and not round(candidate.behind[0], 1)


def _does(metrics: FitMetrics, candidate: CandidateResult) -> str:
    if metrics.chosen_by == "macro-f1" and candidate.macro_f1 is not None:
        return f"has a macro F1 of {candidate.macro_f1:.1f} %"
    return f"is right on {candidate.accuracy:.1f} %"


def _probabilities(metrics: FitMetrics, candidate: CandidateResult) -> str:
    """Say if the model has the better probabilities; it is chosen by them."""
    ours, theirs = metrics.candidates[0].log_loss, candidate.log_loss
    if ours is None or theirs is None or round(ours, 2) >= round(theirs, 2):
        return ""
    return f" The {_model(metrics)}'s probabilities are better (log loss {ours:.2f}, not {theirs:.2f})."


def say_range(low: float, high: float) -> str:
    """Return the ends of an interval of differences: `−1.2 to +2.6`."""
    return f"{signed(low, 1)} to {signed(high, 1)}"


def _recommend_best(metrics: FitMetrics) -> str:
    """Say which method to use and whether its lead over the next is more than noise."""
    best, *others = metrics.candidates
    use = f"Use {candidate_title(best, metrics)}: it is {_right(metrics)}.{_beats_majority(metrics)}"
    if not others:
        return use
    second = others[0]
    if second.behind is None:
        return use
    mean, low, high = second.behind
    interval = f"95 % interval {say_range(low, high)}"
    if not mean:
        equal = [
            candidate_title(other, metrics) for other in others if other.behind is not None and not other.behind[0]
        ]
        return f"{use} {_listed(equal)} {'do' if len(equal) > 1 else 'does'} as well ({interval})."
    margin = f"{mean:.1f} {_UNITS[metrics.chosen_by]} ahead of {candidate_title(second, metrics)} ({interval})"
    if second.certain:
        return f"{use} It is {margin}: more than noise."
    beaten = [candidate_title(other, metrics) for other in others if other.certain]
    rest = f" It is ahead of {_listed(beaten)} by more than noise." if beaten else ""
    return f"{use} It is {margin}: that may be noise.{rest}"


def _listed(names: list[str]) -> str:
    """A, B and C."""
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]


def _right(metrics: FitMetrics) -> str:
    accuracy = metrics.candidates[0].accuracy
    return f"right on {accuracy:.1f} % of {_judged(metrics)} ({say_interval(accuracy, metrics.held)})"


def _beats_majority(metrics: FitMetrics) -> str:
    """A warning where always predicting one class does as well; else empty."""
    majority = metrics.majority
    if majority is None or majority.accuracy is None or metrics.candidates[0].accuracy > majority.accuracy:
        return ""
    counts = metrics.survey.class_counts
    if max(counts) >= _UNEQUAL * min(counts):
        advice = "balance the classes, or label more of the rarer ones"
    else:
        advice = "label more nodes, and check that the columns or the edges say something about the class"
    return (
        f" Always predicting {majority.name!r} is right on {majority.accuracy:.1f} %, so it may have learned nothing: "
        f"{advice}."
    )


def _judged(metrics: FitMetrics) -> str:
    if metrics.judged_on == "held-out folds":
        return f"{counted(metrics.held, 'label')}, each held out once"
    # Since mixtures, the labels that choose are not those that are judged.
    chose = metrics.format <= SINGLE_METHOD and metrics.candidates[0].method != "label-propagation"
    return f"{counted(metrics.held, 'validation label')}{', which also selected its epochs' if chose else ''}"
