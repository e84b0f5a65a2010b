"""What a fit came to, a sentence each: calibration, prediction sets, abstention, test nodes."""

from graphmix.results.evidence import (
    FEWEST_CALIBRATED,
    FEWEST_KEPT,
    fewest_for_coverage,
    interval,
    most_coverage,
)
from graphmix.results.fit import MIXTURE, FitMetrics
from graphmix.text import counted


def outcome_lines(metrics: FitMetrics) -> list[str]:
    """Return a sentence or two each on calibration, prediction sets, abstention and test nodes."""
    lines = [_calibration(metrics), _sets(metrics), _abstention(metrics)]
    test = metrics.test
    if test is not None and test.accuracy is not None and test.nodes:
        lines.append(f"Looked at last: {say_right(test.accuracy, test.nodes, 'test label')}.")
    return lines


def judged_label(metrics: FitMetrics) -> str:
    """What kind of label the methods are judged on."""
    return "held-out label" if metrics.judged_on == "held-out folds" else "validation label"


def say_interval(percent: float, labels: int) -> str:
    """Return the 95 % interval of a percentage of labels."""
    return "95 % interval {:.1f} to {:.1f}".format(*interval(percent, labels))


def say_right(percent: float, labels: int, kind: str) -> str:
    """Say how many labels were predicted correctly, and how far that can be believed."""
    were = "was" if labels == 1 else "were"
    share = f"{percent:.1f} % of {counted(labels, kind)}"
    return f"{share} {were} predicted correctly ({say_interval(percent, labels)})"


def too_few(metrics: FitMetrics) -> str:
    """Return `8 held-out labels are too few`."""
    return _too_few(metrics.held, judged_label(metrics))


def say_uncalibrated(metrics: FitMetrics) -> str | None:
    """Say that no temperature was fitted, and why; None if one was."""
    if metrics.calibration.is_fitted:
        return None
    few = f"{too_few(metrics)} to fit a temperature ({FEWEST_CALIBRATED} are needed)"
    why = few if metrics.held < FEWEST_CALIBRATED else "no temperature was fitted"
    own = "mixture" if metrics.chosen == MIXTURE else "method"
    return (
        f"Not calibrated: {why}. The probabilities are the {own}'s own, and how far they can be believed is not known."
    )


def say_unpromised(metrics: FitMetrics) -> str | None:
    """Say that the labels are too few to promise the coverage; None if they are enough."""
    sets = metrics.conformal
    if sets.threshold is not None:
        return None
    return unpromised(metrics.held, judged_label(metrics), sets.coverage, len(metrics.classes))


def say_undecided(metrics: FitMetrics) -> str | None:
    """Say that the labels are too few to choose where to abstain; None if they are enough, or if all abstain."""
    if metrics.held >= FEWEST_KEPT or metrics.abstention.level is None:
        return None
    return undecided(metrics.held, judged_label(metrics), metrics.abstention.target)


def unpromised(labels: int, kind: str, coverage: float, classes: int) -> str:
    """Say that so many labels are too few to promise a coverage, in percent."""
    promise = f"promise {coverage:g} % coverage ({fewest_for_coverage(coverage):,} are needed)"
    return (
        f"{_too_few(labels, kind)} for prediction sets that {promise}, so every set holds all {classes:,} classes; "
        f"{most_coverage(labels):.1f} % is the most that could be asked for."
    )


def undecided(labels: int, kind: str, target: float) -> str:
    """Say that so many labels are too few to choose where to abstain, for a target accuracy in percent."""
    return (
        f"{_too_few(labels, kind)} to tell which predictions reach {target:g} % accuracy ({FEWEST_KEPT} are needed): "
        "none abstains, but that promises nothing."
    )


def say_all_abstain(metrics: FitMetrics, result: str = "every prediction abstains") -> str:
    """Say why every prediction abstains; `result` is how the sentence ends."""
    target, best = f"{metrics.abstention.target:g} %", metrics.candidates[0]
    if metrics.held < FEWEST_KEPT:
        right = say_right(best.accuracy, metrics.held, judged_label(metrics))
        return f"{right}, less than {target}: {result}."
    judged = counted(metrics.held, judged_label(metrics))
    return f"No confidence reaches {target} accuracy on {judged} with one standard error to spare: {result}."


def say_none_abstains(metrics: FitMetrics) -> str:
    """Say why no prediction abstains, and whether the labels prove that the target is met."""
    target, accuracy = metrics.abstention.target, metrics.candidates[0].accuracy
    right = say_right(accuracy, metrics.held, judged_label(metrics))
    proven = interval(accuracy, metrics.held)[0] >= target
    doubt = "" if proven else " So few labels do not prove it: the accuracy may be lower."
    return f"{right}, which meets the target of {target:g} %: none abstains.{doubt}"


def _calibration(metrics: FitMetrics) -> str:
    calibration = metrics.calibration
    before, after = calibration.before.ece, calibration.after.ece
    if uncalibrated := say_uncalibrated(metrics):
        return uncalibrated
    labels = counted(metrics.held, judged_label(metrics))
    start = f"Calibrated on {labels} with temperature {calibration.temperature:.2f}"
    if before is None or after is None:
        return f"{start}."
    verdict = "" if after < before else "; it did not help here"
    return f"{start}: expected calibration error {before:.1f} % before, {after:.1f} % after{verdict}."


def _sets(metrics: FitMetrics) -> str:
    sets, labels = metrics.conformal, judged_label(metrics)
    if unpromised := say_unpromised(metrics):
        return unpromised
    if sets.empirical is None or sets.mean_size is None:
        return f"{too_few(metrics)} to check how often the sets for {sets.coverage:g} % coverage hold the right class."
    covered = f"{sets.empirical:.1f} % of {counted(metrics.held, labels)}"
    return (
        f"Sets for {sets.coverage:g} % coverage hold {sets.mean_size:.2f} classes on average and cover {covered} "
        f"({say_interval(sets.empirical, metrics.held)})."
    )


def _abstention(metrics: FitMetrics) -> str:
    abstention, labels = metrics.abstention, judged_label(metrics)
    if abstention.level is None:
        return say_all_abstain(metrics)
    if undecided := say_undecided(metrics):
        return undecided
    if abstention.level == 0:
        return say_none_abstains(metrics)
    start = f"Predictions abstain below {abstention.level:.2f} confidence; {abstention.kept:.1f} % do not."
    if abstention.accuracy is None:
        return f"{start} {too_few(metrics)} to check how often those are right."
    if abstention.labels is None:
        return (
            f"{start} Above levels so chosen, {abstention.accuracy:.1f} % of other {labels}s were predicted correctly."
        )
    right = say_right(abstention.accuracy, abstention.labels, f"other {labels}")
    return f"{start} Above levels so chosen, {right}."


def _too_few(labels: int, kind: str) -> str:
    return f"{counted(labels, kind)} {'is' if labels == 1 else 'are'} too few"
