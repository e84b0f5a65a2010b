"""What a report says of a fitted model in sentences, for readers who are not experts."""

from graphmix.report.contents import ModelFolder
from graphmix.results.evidence import interval
from graphmix.results.fit import MIXTURE, SINGLE_METHOD, FitMetrics
from graphmix.results.outcome import (
    judged_label,
    say_all_abstain,
    say_interval,
    say_none_abstains,
    say_right,
    say_uncalibrated,
    say_undecided,
    say_unpromised,
    too_few,
)
from graphmix.text import counted

METRICS = {"accuracy": "accuracy", "macro-f1": "macro F1"}


def tiles(fitted: ModelFolder) -> list[tuple[str, str, str]]:
    """The numbers to remember: a name, a percentage, and what it is a percentage of."""
    metrics = fitted.metrics
    best, sets, abstention = metrics.candidates[0], metrics.conformal, metrics.abstention
    accuracy, count, kind = best.accuracy, metrics.held, judged_label(metrics)
    if metrics.test is not None and metrics.test.accuracy is not None and metrics.test.nodes:
        accuracy, count, kind = metrics.test.accuracy, metrics.test.nodes, f"test {fitted.model.task[:-1]}"
    ends = "{:.0f} to {:.0f} %".format(*interval(accuracy, count))
    shown = [("Accuracy", f"{accuracy:.1f}", f"on {counted(count, kind)}; 95 % interval {ends}")]
    before, after = metrics.calibration.before.ece, metrics.calibration.after.ece
    if after is not None and metrics.calibration.is_fitted:
        shown.append(("Calibration error", f"{after:.1f}", f"{number(before)} % before"))
    shown.append(("Abstained", f"{100 - abstention.kept:.1f}", _why_abstained(metrics)))
    if sets.threshold is not None and sets.empirical is not None and sets.mean_size is not None:
        shown.append(
            ("Sets cover", f"{sets.empirical:.1f}", f"asked: {sets.coverage:g} %; {sets.mean_size:.2f} classes each")
        )
    return shown


def _why_abstained(metrics: FitMetrics) -> str:
    target = f"{metrics.abstention.target:g} %"
    if metrics.abstention.level is None:
        return f"no confidence reaches {target}"
    return f"{too_few(metrics)} to tell" if say_undecided(metrics) else f"to be {target} right on the rest"


def data_sentences(fitted: ModelFolder) -> list[tuple[str, str]]:
    """Whether neighbours are alike and how far labels reach, each with what that means."""
    survey, task = fitted.metrics.survey, fitted.model.task
    if survey.homophily is None or survey.chance is None:
        alike = "Not known: no edge joins two labels."
    else:
        alike = (
            f"{_share(survey.homophily)} of the {counted(survey.labeled_edges, 'edge')} between labels join one class; "
            f"{_share(survey.chance)} would by chance. The further above chance, the more the graph can help."
        )
    if survey.reached is None:
        reach = f"All {task} are labeled."
    else:
        reach = (
            f"{_share(survey.reached)} of the unlabeled {task} are within two steps of a label. The labels "
            "say little about those further away."
        )
    return [("Are neighbours alike?", alike), ("How far do labels reach?", reach)]


def say_judged(metrics: FitMetrics) -> str:
    """How the methods were compared."""
    unit = METRICS[metrics.chosen_by]
    if metrics.format > SINGLE_METHOD:
        ahead = f"Ahead is how many points of {unit} the model is ahead, with the 95 % interval"
        noise = f" {ahead}: where that holds 0, the difference may be noise." if len(metrics.candidates) > 1 else ""
        return f"{_say_nested(metrics)}{noise}"
    if metrics.judged_on == "held-out folds":
        how = (
            f"Each of {counted(metrics.held, 'label')} was held out once and predicted by networks that had not "
            "seen it, the same labels for every method."
        )
    else:
        how = (
            f"Every method was judged on the same {counted(metrics.held, 'validation label')}. They also selected the "
            "networks’ epochs, so the scores are a little too good."
        )
    points = f"Behind is how many points of {unit} the best is ahead, with its 95 % interval"
    return f"{how} {points}: where that holds 0, the difference may be noise."


def _say_nested(metrics: FitMetrics) -> str:
    """What was held out of what."""
    if metrics.judged_on == "held-out folds":
        held = (
            f"Each of {counted(metrics.held, 'label')} was held out once and predicted by methods that had not seen it"
        )
    else:
        held = f"Every method was judged on the same {counted(metrics.held, 'validation label')}, which trained nothing"
    weights = ", and each method’s share in the mixture" if metrics.chosen == MIXTURE else ""
    return (
        f"{held}. Whatever else was chosen (how many epochs to train, how sure to be{weights}) was chosen by other "
        "labels than the one that is judged, so no score here is flattered by its own labels."
    )


def say_shares(metrics: FitMetrics) -> str:
    """How the shares came about, and what the model was trained on."""
    trained = "all labels" if metrics.judged_on == "held-out folds" else "all training labels"
    left = [each for each in metrics.candidates if each.share == 0]
    rest = " The others would have added little or nothing." if left else ""
    return (
        "The model is a weighted average of the methods’ probabilities. The shares are those with which the average "
        f"predicts held-out labels best (by log loss).{rest} Each method in it was then trained anew on {trained}."
    )


def say_learning() -> str:
    """What the marks on the curves are."""
    marked = "The mark is the number of epochs that was chosen, and that the model’s networks were trained for."
    return (
        f"How well networks predict labels they have not seen, after so many epochs. {marked} It was chosen by "
        "calibrated probabilities, so it need not lie at the lowest loss. Click a name to hide or show its curve."
    )


def say_calibration(metrics: FitMetrics) -> str:
    """What calibration did, and what that means."""
    before, after = metrics.calibration.before.ece, metrics.calibration.after.ece
    temperature = metrics.calibration.temperature
    if before is None or after is None:
        return "There was nothing to calibrate on."
    if uncalibrated := say_uncalibrated(metrics):
        return uncalibrated
    if round(temperature, 2) == 1:
        return (
            f"The temperature fitted to {counted(metrics.held, judged_label(metrics))} is 1.00, so calibration changes "
            f"nothing: the confidence is {after:.1f} points off on average."
        )
    was = "overconfident" if temperature > 1 else "not confident enough"
    start = f"The model was {was}, its confidence {before:.1f} points off on average"
    if after >= before:
        return (
            f"{start}. Calibration (temperature {temperature:.2f}) leaves {after:.1f} points on labels it was not "
            f"fitted to: it did not help here, and with {metrics.held:,} labels much of that is noise."
        )
    return (
        f"{start}. Calibration (temperature {temperature:.2f}) brings that down to {after:.1f} points, measured on "
        "labels it was not fitted to."
    )


def say_abstention(metrics: FitMetrics) -> str:
    """Where predictions abstain and how many do."""
    abstention, predictions = metrics.abstention, total(metrics)
    abstained = round(predictions * (1 - abstention.kept / 100))
    if abstention.level is None:
        return say_all_abstain(metrics, f"all {predictions:,} predictions abstain")
    if undecided := say_undecided(metrics):
        return undecided
    if abstention.level == 0:
        return say_none_abstains(metrics)
    below = f"Below a confidence of {abstention.level:.2f} predictions abstain: {abstained:,} of {predictions:,}"
    start = f"{below} ({100 - abstention.kept:.1f} %), for a target of {abstention.target:g} %."
    if abstention.accuracy is None:
        return f"{start} {too_few(metrics)} to check how often the others are right."
    if abstention.labels is None:
        return f"{start} {abstention.accuracy:.1f} % of the others were right, on labels that did not choose the level."
    right = say_right(abstention.accuracy, abstention.labels, judged_label(metrics))
    return f"{start} Of the others, {right}, with levels that they did not choose."


def say_sets(metrics: FitMetrics) -> str:
    """Whether prediction sets keep their promise."""
    sets = metrics.conformal
    if unpromised := say_unpromised(metrics):
        return unpromised
    single = sets.sizes[0] if sets.sizes else 0
    those = f"Of all {total(metrics):,} predictions, {single:,} have a set of one class."
    if sets.empirical is None:
        return f"{too_few(metrics)} to check how often the sets hold the right class. {those}"
    labels = counted(metrics.held, judged_label(metrics))
    return (
        f"Asked for: {sets.coverage:g} %. For {sets.empirical:.1f} % of {labels} the set held the right class "
        f"({say_interval(sets.empirical, metrics.held)}), with {number(sets.mean_size)} classes on average. {those}"
    )


def total(metrics: FitMetrics) -> int:
    """How many predictions there are."""
    return sum(metrics.predicted)


def number(value: float | None) -> str:
    """One decimal; a dash for None."""
    return "–" if value is None else f"{value:.1f}"


def _share(value: float) -> str:
    return f"{100 * value:.0f} %"
