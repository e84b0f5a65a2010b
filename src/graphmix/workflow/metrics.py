"""How good a model is, in plain values: what metrics.json holds. Shares are in percent."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

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
from graphmix.workflow.candidates import Candidate
from graphmix.workflow.ensemble import Decisions, Ensemble
from graphmix.workflow.options import FitOptions
from graphmix.workflow.problem import Problem
from graphmix.workflow.ranking import Placing
from graphmix.workflow.survey import Survey

FORMAT = 1


def describe(
    model: Ensemble,
    placings: Sequence[Placing],
    candidates: Sequence[Candidate],
    decisions: Decisions,
    survey: Survey,
    problem: Problem,
    split: Split,
    options: FitOptions,
) -> dict[str, Any]:
    """Sum up what was tried, what won, and how far to believe it."""
    graph, known = problem.graph, problem.known.numpy()
    held, seconds = model.held, {candidate.method: candidate.seconds for candidate in candidates}
    after = cross_fitted(held.probabilities, held.labels)
    covered = conformal_coverage(after, held.labels, options.coverage)
    # Of labeled nodes networks are surer than of others: what is predicted is the others, if there are any.
    asked = ~known if not known.all() else known
    kept = abstention_accuracy(after, held.labels, options.target_accuracy)
    return {
        "format": FORMAT,
        "dataset": graph.name,
        "survey": survey.to_json(),
        "judged_on": "held-out folds" if split.held_out else "validation nodes",
        "held": len(held.labels),
        "trials": model.config.trials,
        "epochs": model.config.epochs,
        "backbone": model.config.backbone,
        "majority": _majority(held, model.classes),
        "chosen_by": options.metric,
        "chosen": model.method,
        "candidates": [_placing(placing, seconds[placing.method]) for placing in placings],
        "calibration": {
            "temperature": round(model.temperature, 4),
            "before": reliability_table(held.probabilities, held.labels),
            "after": reliability_table(after, held.labels),
        },
        "conformal": {
            "coverage": _percent(options.coverage),
            "empirical": None if covered is None else _percent(covered.coverage),
            "mean_size": None if covered is None else round(covered.mean_size, 3),
            "threshold": decisions.threshold if np.isfinite(decisions.threshold) else None,
            "sizes": np.bincount(decisions.sets[asked].sum(axis=1), minlength=len(model.classes) + 1)[1:].tolist(),
        },
        "abstention": {
            "target": _percent(options.target_accuracy),
            "level": decisions.level,
            "kept": _percent((~decisions.abstain[asked]).mean()),
            "accuracy": None if kept is None else _percent(kept),
            "curve": abstention_curve(model.held_calibrated, held.labels),
        },
        "classes": list(model.classes),
        "predicted": np.bincount(decisions.order[asked, 0], minlength=len(model.classes)).tolist(),
        "test": _test(decisions, candidates, model, graph, split),
    }


def _majority(held: HeldOut, classes: Sequence[str]) -> dict[str, Any]:
    """How good it would be to say the commonest class always."""
    counts = np.bincount(held.labels, minlength=len(classes))
    return {"class": classes[int(counts.argmax())], "accuracy": _percent(counts.max() / counts.sum())}


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


def _test(
    decisions: Decisions, candidates: Sequence[Candidate], model: Ensemble, graph: Graph, split: Split
) -> dict[str, Any] | None:
    """How the model does on test nodes, where a split with some was given: they chose nothing."""
    test = split.test[0].cpu()
    if split.held_out or not test.any():
        return None
    (winner,) = (candidate for candidate in candidates if candidate.method == model.method)
    labels = graph.y[test]
    after = decisions.probabilities[test.numpy()]
    before = apply_temperature(after, 1 / model.temperature)
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
