"""What a page shows of the methods of a fit: rows of the table, and the numbers of the charts."""

from typing import Any

from graphmix.report.findings import number
from graphmix.results.evidence import interval
from graphmix.results.fit import MIXTURE, SINGLE_METHOD, CandidateResult, FitMetrics
from graphmix.results.names import candidate_title
from graphmix.results.recommendation import members, say_range
from graphmix.results.wording import duration


def candidate_row(candidate: CandidateResult, metrics: FitMetrics) -> dict[str, Any]:
    """A candidate, or the model, as a row of the table."""
    low, high = interval(candidate.accuracy, metrics.held)
    mean, ends = "–", ""
    if candidate.behind is not None:
        mean, ends = f"{candidate.behind[0]:.1f}".replace("-", "−"), say_range(*candidate.behind[1:])
    return {
        "name": candidate_title(candidate, metrics),
        "share": "" if candidate.share is None else f"{candidate.share:.0f} %" if candidate.share else "–",
        "accuracy": f"{candidate.accuracy:.1f}",
        "interval": f"{low:.1f} to {high:.1f}",
        "macro_f1": number(candidate.macro_f1),
        "log_loss": "–" if candidate.log_loss is None else f"{candidate.log_loss:.3f}",
        "behind": mean,
        "ends": ends,
        "chip": _chip(candidate, metrics),
        "epochs": "–" if candidate.epochs is None else f"{candidate.epochs:,}",
        "seconds": duration(candidate.seconds),
    }


def _chip(candidate: CandidateResult, metrics: FitMetrics) -> dict[str, str]:
    word, mark, kind = "may be noise", "?", "undecided"
    if candidate.behind is None:
        word, mark, kind = "best" if metrics.format <= SINGLE_METHOD else "the model", "★", "reproduced"
    elif candidate.certain and candidate.behind[0] < 0:
        word, mark, kind = "better alone", "▲", "lower"
    elif candidate.certain:
        word, mark, kind = "more than noise", "✓", "higher"
    return {"word": word, "mark": mark, "class": kind, "meaning": ""}


def has_column(metrics: FitMetrics) -> dict[str, bool]:
    """Which columns of the table hold anything; older files have fewer numbers."""
    return {name: any(getattr(each, name) is not None for each in metrics.candidates) for name in _OPTIONAL}


_OPTIONAL = ("share", "log_loss", "epochs")


def method_charts(metrics: FitMetrics) -> list[str]:
    """The charts that there is something to draw in."""
    several, curves = len(metrics.candidates) > 1, any(each.curve is not None for each in metrics.candidates)
    drawn = {
        "members": bool(members(metrics)),
        "alone": several and metrics.chosen == MIXTURE,
        "comparison": several,
        "learning": curves,
        "mistakes": metrics.confusion is not None and any(map(any, metrics.confusion)),
    }
    return [name for name, wanted in drawn.items() if wanted]


def method_numbers(metrics: FitMetrics) -> dict[str, Any]:
    """What the charts of the methods are drawn from."""
    return {
        "first": "the best" if metrics.format <= SINGLE_METHOD else "the model",
        "candidates": [
            {
                "name": candidate_title(one, metrics),
                "behind": one.behind,
                "certain": one.certain,
                "accuracy": one.accuracy,
                "interval": [round(end, 2) for end in interval(one.accuracy, metrics.held)],
                "share": one.share,
            }
            for one in metrics.candidates
        ],
        "members": [{"name": candidate_title(one, metrics), "share": one.share} for one in members(metrics)],
        "learning": [_curve(one, metrics) for one in metrics.candidates if one.curve is not None],
        "confusion": metrics.confusion,
        "classNames": [f"class {name}" if name.isdecimal() else name for name in metrics.classes]
        if metrics.confusion is not None
        else [],
    }


def _curve(candidate: CandidateResult, metrics: FitMetrics) -> dict[str, Any]:
    curve = candidate.curve
    assert curve is not None  # the caller asks only for those
    return {
        "name": candidate_title(candidate, metrics),
        "share": candidate.share,
        "epochs": curve.epochs,
        "loss": curve.loss,
        "accuracy": curve.accuracy,
        "chosen": candidate.epochs,
    }
