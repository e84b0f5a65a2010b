"""How good a fitted model is: `graphmix.results.fit.FitMetrics`. Shares are in percent."""

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray

from graphmix.data import Graph, Split
from graphmix.evaluation.calibration import (
    abstention_accuracy,
    abstention_curve,
    apply_temperature,
    conformal_coverage,
    cross_fitted,
    reliability_table,
)
from graphmix.evaluation.heldout import HeldOut
from graphmix.method import f1
from graphmix.results.fit import (
    Abstention,
    Calibration,
    CandidateResult,
    ChosenBy,
    Conformal,
    FitMetrics,
    Majority,
    TestResult,
)
from graphmix.results.formats import METRICS
from graphmix.results.survey import Survey
from graphmix.workflow.candidates import Candidate
from graphmix.workflow.ensemble import Decisions, Ensemble, can_calibrate
from graphmix.workflow.options import FitOptions
from graphmix.workflow.problem import Problem
from graphmix.workflow.ranking import Placing


def describe(
    model: Ensemble,
    placings: Sequence[Placing],
    candidates: Sequence[Candidate],
    decisions: Decisions,
    survey: Survey,
    problem: Problem,
    split: Split,
    options: FitOptions,
) -> FitMetrics:
    """Sum up what was tried, which method is best, and how far to believe it."""
    graph, known = problem.graph, problem.known.numpy()
    held, seconds = model.held, {candidate.method: candidate.seconds for candidate in candidates}
    fitted = can_calibrate(held)
    after = cross_fitted(held.probabilities, held.labels) if fitted else held.probabilities
    covered = conformal_coverage(after, held.labels, options.coverage)
    # Networks are more confident of nodes they learned from, so the others are counted, if there are any.
    asked = ~known if not known.all() else known
    kept = abstention_accuracy(after, held.labels, options.target_accuracy)
    return FitMetrics(
        format=METRICS,
        dataset=graph.name,
        survey=survey,
        judged_on="held-out folds" if split.held_out else "validation nodes",
        held=len(held.labels),
        trials=model.config.trials,
        epochs=model.config.epochs,
        backbone=model.config.backbone,
        majority=_majority(held, model.classes),
        chosen_by=cast(ChosenBy, options.metric),
        chosen=model.method,
        candidates=tuple(_placing(placing, seconds[placing.method]) for placing in placings),
        calibration=Calibration(
            temperature=round(model.temperature, 4),
            before=reliability_table(held.probabilities, held.labels),
            after=reliability_table(after, held.labels),
            fitted=fitted,
        ),
        conformal=Conformal(
            coverage=_percent(options.coverage),
            empirical=None if covered is None else _percent(covered.coverage),
            mean_size=None if covered is None else round(covered.mean_size, 3),
            threshold=decisions.threshold if np.isfinite(decisions.threshold) else None,
            sizes=_counts(decisions.sets[asked].sum(axis=1), len(model.classes) + 1)[1:],
        ),
        abstention=Abstention(
            target=_percent(options.target_accuracy),
            level=decisions.level,
            kept=_percent((~decisions.abstain[asked]).mean()),
            accuracy=None if kept is None else _percent(kept.accuracy),
            curve=abstention_curve(model.held_calibrated, held.labels),
            labels=None if kept is None else kept.nodes,
        ),
        classes=tuple(model.classes),
        predicted=_counts(decisions.order[asked, 0], len(model.classes)),
        test=_test(decisions, candidates, model, graph, split),
    )


def _majority(held: HeldOut, classes: Sequence[str]) -> Majority:
    """How often predicting the most frequent class always would be right."""
    counts = np.bincount(held.labels, minlength=len(classes))
    return Majority(classes[int(counts.argmax())], _percent(counts.max() / counts.sum()))


def _placing(placing: Placing, seconds: float) -> CandidateResult:
    behind = placing.behind
    return CandidateResult(
        method=placing.method,
        accuracy=_percent(placing.accuracy),
        macro_f1=_percent_or_none(placing.macro_f1),
        behind=None if behind is None else (_percent(behind.mean), _percent(behind.low), _percent(behind.high)),
        certain=None if behind is None else behind.certain,
        seconds=round(seconds, 3),
    )


def _test(
    decisions: Decisions, candidates: Sequence[Candidate], model: Ensemble, graph: Graph, split: Split
) -> TestResult | None:
    """How the model does on the given test nodes, which chose nothing; None without any."""
    test = split.test[0].cpu()
    if split.held_out or not test.any():
        return None
    (winner,) = (candidate for candidate in candidates if candidate.method == model.method)
    labels = graph.y[test]
    after = decisions.probabilities[test.numpy()]
    before = apply_temperature(after, 1 / model.temperature)
    predicted = torch.from_numpy(after.argmax(axis=1))
    each = winner.probabilities[:, test].argmax(dim=2) == labels
    return TestResult(
        nodes=int(test.sum()),
        accuracy=_percent_or_none((predicted == labels).double().mean()),
        macro_f1=_percent_or_none(f1(predicted[None], labels[None], graph.num_classes).nanmean()),
        trials=tuple(_percent_or_none(share) for share in each.double().mean(dim=1)),
        before=reliability_table(before, labels.numpy()),
        after=reliability_table(after, labels.numpy()),
    )


def _counts(values: NDArray[np.int64], length: int) -> tuple[int, ...]:
    return tuple(np.bincount(values, minlength=length).tolist())


def _percent(share: Any) -> float:
    return round(100 * float(share), 4)


def _percent_or_none(share: Any) -> float | None:
    return _percent(share) if np.isfinite(float(share)) else None
