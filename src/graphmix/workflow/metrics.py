"""How good a fitted model is: `graphmix.results.fit.FitMetrics`. Shares are in percent."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray

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
    HeldOutCurve,
    Majority,
    TestResult,
)
from graphmix.results.formats import METRICS
from graphmix.results.survey import Survey
from graphmix.training.methods import METHODS as TRAINED
from graphmix.workflow.mixture import Decisions, Mixture, can_calibrate
from graphmix.workflow.options import FitOptions
from graphmix.workflow.outcome import Outcome
from graphmix.workflow.problem import Problem
from graphmix.workflow.ranking import Placing, rank

_FLOOR = 1e-12
# Confusion matrices are stored for at most this many classes.
_PICTURED_CLASSES = 100


def describe(
    outcome: Outcome,
    decisions: Decisions,
    survey: Survey,
    problem: Problem,
    options: FitOptions,
) -> FitMetrics:
    """Sum up what was tried, what the model is made of, and how far to believe it."""
    graph, known, model = problem.graph, problem.known.numpy(), outcome.mixture
    held, fitted = model.held, can_calibrate(model.held)
    after = cross_fitted(held.probabilities, held.labels) if fitted else held.probabilities
    covered = conformal_coverage(after, held.labels, options.coverage)
    # Networks are more confident of nodes they learned from, so the others are counted, if there are any.
    asked = ~known if not known.all() else known
    kept = abstention_accuracy(after, held.labels, options.target_accuracy)
    placings = rank(outcome.name, outcome.compared, graph.num_classes, options.metric)
    return FitMetrics(
        format=METRICS,
        dataset=graph.name,
        survey=survey,
        judged_on="held-out folds" if problem.split is None else "validation nodes",
        held=len(held.labels),
        trials=model.config.trials,
        epochs=model.config.epochs,
        backbone=model.config.backbone,
        majority=_majority(held, model.classes),
        chosen_by=cast(ChosenBy, options.metric),
        chosen=outcome.method,
        candidates=tuple(_placing(placing, outcome) for placing in placings),
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
        confusion=_confusion(held, len(model.classes)),
        test=_test(decisions, model, problem),
    )


def _placing(placing: Placing, outcome: Outcome) -> CandidateResult:
    behind, held = placing.behind, outcome.held[placing.name]
    own = held.probabilities[np.arange(len(held.labels)), held.labels]
    result = CandidateResult(
        method=outcome.method if placing.name == outcome.name else outcome.tried[placing.name].candidate.method,
        accuracy=_percent(placing.accuracy),
        macro_f1=_percent_or_none(placing.macro_f1),
        behind=None if behind is None else (_percent(behind.mean), _percent(behind.low), _percent(behind.high)),
        certain=None if behind is None else behind.certain,
        seconds=round(sum(each.seconds for each in outcome.tried.values()), 3),
        log_loss=round(float(-np.log(np.maximum(own, _FLOOR)).mean()), 4),
    )
    return result if placing.name not in outcome.tried else _with_networks(result, outcome, placing.name)


def _with_networks(result: CandidateResult, outcome: Outcome, name: str) -> CandidateResult:
    """Add what only a candidate has: its share, its network, and how that learned."""
    tried, point = outcome.tried[name], outcome.chosen.points[name]
    result = replace(
        result,
        seconds=tried.seconds,
        share=None if len(outcome.tried) == 1 else _percent(outcome.chosen.weights.get(name, 0.0)),
    )
    method = TRAINED[tried.candidate.method]
    if method.baseline:
        return result
    labels = outcome.held[name].labels
    own = tried.probabilities[:, np.arange(len(labels)), labels]
    curve = HeldOutCurve(
        epochs=tuple(int(epochs) for epochs in tried.points),
        loss=tuple(round(float(loss), 4) for loss in -np.log(np.maximum(own, _FLOOR)).mean(axis=1)),
        accuracy=tuple(_percent(right) for right in (tried.probabilities.argmax(axis=2) == labels).mean(axis=1)),
    )
    return replace(result, backbone=tried.candidate.config.backbone, epochs=int(tried.points[point]), curve=curve)


def _confusion(held: HeldOut, classes: int) -> tuple[tuple[int, ...], ...] | None:
    if classes > _PICTURED_CLASSES:
        return None
    counts = np.zeros((classes, classes), dtype=np.int64)
    np.add.at(counts, (held.labels, held.predicted), 1)
    return tuple(map(tuple, counts.tolist()))


def _majority(held: HeldOut, classes: Sequence[str]) -> Majority:
    """How often predicting the most frequent class always would be right."""
    counts = np.bincount(held.labels, minlength=len(classes))
    return Majority(classes[int(counts.argmax())], _percent(counts.max() / counts.sum()))


def _test(decisions: Decisions, model: Mixture, problem: Problem) -> TestResult | None:
    """How the model does on the given test nodes, which chose nothing; None without any."""
    graph, split = problem.graph, problem.split
    if split is None or not split.test[0].any():
        return None
    test = split.test[0].cpu()
    labels = graph.y[test]
    after = decisions.probabilities[test.numpy()]
    before = apply_temperature(after, 1 / model.temperature)
    predicted = torch.from_numpy(after.argmax(axis=1))
    members = [each.probabilities(problem.learned)[test.numpy()].argmax(axis=1) for each in model.members]
    return TestResult(
        nodes=int(test.sum()),
        accuracy=_percent_or_none((predicted == labels).double().mean()),
        macro_f1=_percent_or_none(f1(predicted[None], labels[None], graph.num_classes).nanmean()),
        trials=tuple(_percent((alone == labels.numpy()).mean()) for alone in members),
        before=reliability_table(before, labels.numpy()),
        after=reliability_table(after, labels.numpy()),
    )


def _counts(values: NDArray[np.int64], length: int) -> tuple[int, ...]:
    return tuple(np.bincount(values, minlength=length).tolist())


def _percent(share: Any) -> float:
    return round(100 * float(share), 4)


def _percent_or_none(share: Any) -> float | None:
    return _percent(share) if np.isfinite(float(share)) else None
