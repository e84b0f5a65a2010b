"""What a report says of a fitted model in sentences, for readers who are not experts."""

from graphmix.report.contents import ModelFolder
from graphmix.results.fit import FitMetrics
from graphmix.results.wording import plural

METRICS = {"accuracy": "accuracy", "macro-f1": "macro F1"}


def tiles(fitted: ModelFolder) -> list[tuple[str, str, str]]:
    """The numbers to remember: a name, a percentage, and what it is a percentage of."""
    metrics = fitted.metrics
    best, sets, abstention = metrics.candidates[0], metrics.conformal, metrics.abstention
    labels = "held-out" if metrics.judged_on == "held-out folds" else "validation"
    if metrics.test is not None and metrics.test.accuracy is not None:
        first = ("Accuracy", f"{metrics.test.accuracy:.1f}", f"on {metrics.test.nodes:,} test {fitted.model.task}")
    else:
        first = ("Accuracy", f"{best.accuracy:.1f}", f"on {metrics.held:,} {labels} labels")
    shown = [first]
    before, after = metrics.calibration.before.ece, metrics.calibration.after.ece
    if after is not None:
        shown.append(("Calibration error", f"{after:.1f}", f"{number(before)} % before"))
    target = f"{abstention.target:g} %"
    why = f"no confidence reaches {target}" if abstention.level is None else f"to be {target} right on the rest"
    shown.append(("Abstained", f"{100 - abstention.kept:.1f}", why))
    if sets.empirical is not None and sets.mean_size is not None:
        shown.append(
            ("Sets cover", f"{sets.empirical:.1f}", f"asked: {sets.coverage:g} %; {sets.mean_size:.2f} classes each")
        )
    return shown


def data_sentences(fitted: ModelFolder) -> list[tuple[str, str]]:
    """Whether neighbours are alike and how far labels reach, each with what that means."""
    survey, task = fitted.metrics.survey, fitted.model.task
    if survey.homophily is None or survey.chance is None:
        alike = "Not known: no edge joins two labels."
    else:
        alike = (
            f"{_share(survey.homophily)} of the {plural(survey.labeled_edges, 'edge')} between labels join one class; "
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
    if metrics.judged_on == "held-out folds":
        how = (
            f"Each of the {metrics.held:,} labels was held out once and predicted by networks that had not seen it, "
            "the same labels for every method."
        )
    else:
        how = (
            f"Every method was judged on the same {metrics.held:,} validation labels. They also selected the "
            "networks’ epochs, so the scores are a little too good."
        )
    points = f"Behind is how many points of {METRICS[metrics.chosen_by]} the best is ahead, with its 95 % interval"
    return f"{how} {points}: where that holds 0, the difference may be noise."


def say_calibration(metrics: FitMetrics) -> str:
    """What calibration did, and what that means."""
    before, after = metrics.calibration.before.ece, metrics.calibration.after.ece
    temperature = metrics.calibration.temperature
    if before is None or after is None:
        return "There was nothing to calibrate on."
    if temperature == 1:
        return (
            f"There was nothing to correct, or too few labels to tell: confidence is {after:.1f} points off on average."
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
    target = f"{abstention.target:g} %"
    abstained = round(predictions * (1 - abstention.kept / 100))
    if abstention.level is None:
        return (
            f"No confidence makes predictions right {target} of the time, so all {predictions:,} predictions abstain."
        )
    met = f"{number(abstention.accuracy)} % of predictions are right, on labels that did not choose the level"
    if abstention.level == 0:
        return f"{met} without leaving any out, which meets the target of {target}: no prediction abstains."
    share = f"{100 - abstention.kept:.1f} %"
    return (
        f"From a confidence of {abstention.level:.2f} on, {met} (target: {target}). Below it predictions abstain: "
        f"{abstained:,} of {predictions:,} ({share})."
    )


def say_sets(metrics: FitMetrics) -> str:
    """Whether prediction sets keep their promise."""
    sets = metrics.conformal
    if sets.threshold is None:
        return (
            f"{metrics.held:,} labels are too few to promise a coverage of {sets.coverage:g} %, so every set holds "
            "every class. More labels or a lower coverage would help."
        )
    single = sets.sizes[0] if sets.sizes else 0
    return (
        f"Asked for: {sets.coverage:g} %. On held-out labels the sets held the right class "
        f"{number(sets.empirical)} % of the time, with {number(sets.mean_size)} classes on average. "
        f"Of all {total(metrics):,} predictions, {single:,} have a set of one class."
    )


def total(metrics: FitMetrics) -> int:
    """How many predictions there are."""
    return sum(metrics.predicted)


def number(value: float | None) -> str:
    """One decimal; a dash for None."""
    return "–" if value is None else f"{value:.1f}"


def _share(value: float) -> str:
    return f"{100 * value:.0f} %"
