"""How good a model is, in plain values: what metrics.json holds. Shares are in percent."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from graphmix.analysis.calibration import (
    abstention_curve,
    apply_temperature,
    conformal_coverage,
    cross_fitted,
    reliability_table,
)
from graphmix.analysis.survey import Survey
from graphmix.classifier.candidates import Candidate
from graphmix.classifier.choice import Placing
from graphmix.classifier.heldout import ensemble
from graphmix.classifier.model import Decisions, Model
from graphmix.data import Graph, Split
from graphmix.data.folds import NAME as FOLDS
from graphmix.method import f1

FORMAT = 1


def describe(
    model: Model,
    placings: Sequence[Placing],
    candidates: Sequence[Candidate],
    decisions: Decisions,
    survey: Survey,
    graph: Graph,
    split: Split,
    *,
    metric: str,
    target: float,
    coverage: float,
) -> dict[str, Any]:
    """Sum up what was tried, what won, and how far to believe it."""
    held, seconds = model.held, {candidate.method: candidate.seconds for candidate in candidates}
    after = cross_fitted(held.probabilities, held.labels)
    covered = conformal_coverage(after, held.labels, coverage)
    kept = ~decisions.abstain
    calibrated = model.held_calibrated
    sure = calibrated.max(axis=1) >= (np.inf if decisions.level is None else decisions.level)
    return {
        "format": FORMAT,
        "dataset": graph.name,
        "survey": survey.to_json(),
        "judged_on": "held-out folds" if split.name == FOLDS else "validation nodes",
        "held": len(held.labels),
        "trials": model.config.trials,
        "epochs": model.config.epochs,
        "backbone": model.config.backbone,
        "chosen_by": metric,
        "chosen": model.method,
        "candidates": [_placing(placing, seconds[placing.method]) for placing in placings],
        "calibration": {
            "temperature": round(model.temperature, 4),
            "before": reliability_table(held.probabilities, held.labels),
            "after": reliability_table(after, held.labels),
        },
        "conformal": {
            "coverage": _percent(coverage),
            "empirical": None if covered is None else _percent(covered.coverage),
            "mean_size": None if covered is None else round(covered.mean_size, 3),
            "threshold": decisions.threshold if np.isfinite(decisions.threshold) else None,
            "sizes": np.bincount(decisions.sets.sum(axis=1), minlength=len(model.classes) + 1)[1:].tolist(),
        },
        "abstention": {
            "target": _percent(target),
            "level": decisions.level,
            "kept": _percent(kept.mean()),
            "accuracy": _percent((calibrated.argmax(axis=1) == held.labels)[sure].mean()) if sure.any() else None,
            "curve": abstention_curve(calibrated, held.labels),
        },
        "classes": list(model.classes),
        "predicted": np.bincount(decisions.order[:, 0], minlength=len(model.classes)).tolist(),
        "test": _test(model, candidates, graph, split),
    }


def _placing(placing: Placing, seconds: float) -> dict[str, Any]:
    behind = placing.behind
    return {
        "method": placing.method,
        "accuracy": _percent(placing.accuracy),
        "macro_f1": _percent(placing.macro_f1),
        "behind": None if behind is None else [_percent(value) for value in (behind.mean, behind.low, behind.high)],
        "certain": None if behind is None else behind.certain,
        "seconds": round(seconds, 3),
    }


def _test(model: Model, candidates: Sequence[Candidate], graph: Graph, split: Split) -> dict[str, Any] | None:
    """How the model does on test nodes, where a split with some was given: they chose nothing."""
    test = split.test[0].cpu()
    if split.name == FOLDS or not test.any():
        return None
    (winner,) = (candidate for candidate in candidates if candidate.method == model.method)
    labels = graph.y[test]
    before = ensemble(winner.probabilities)[test.numpy()]
    after = apply_temperature(before, model.temperature)
    predicted = torch.from_numpy(after.argmax(axis=1))
    each = winner.probabilities[:, test].argmax(dim=2) == labels
    return {
        "nodes": int(test.sum()),
        "accuracy": _percent((predicted == labels).double().mean()),
        "macro_f1": _percent(f1(predicted[None], labels[None], graph.num_classes).nanmean()),
        "trials": [_percent(share) for share in each.double().mean(dim=1)],
        "before": reliability_table(before, labels.numpy()),
        "after": reliability_table(after, labels.numpy()),
    }


def _percent(share: Any) -> float | None:
    value = float(share)
    return round(100 * value, 4) if np.isfinite(value) else None
