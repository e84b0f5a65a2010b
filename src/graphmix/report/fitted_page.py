"""The page of a fitted model: what its template is filled with, and the numbers of its charts."""

import json
import shlex
from dataclasses import replace
from typing import Any

from graphmix.models.registry import NETWORKS
from graphmix.report.charts import reliability_bins
from graphmix.report.contents import Contents, ModelFolder
from graphmix.report.findings import (
    METRICS,
    data_sentences,
    number,
    say_abstention,
    say_calibration,
    say_judged,
    say_learning,
    say_sets,
    say_shares,
    tiles,
    total,
)
from graphmix.report.fitted import FILES
from graphmix.report.mixture_page import candidate_row, has_column, method_charts, method_numbers
from graphmix.results.columns import shown_uses
from graphmix.results.evidence import FEWEST_KEPT
from graphmix.results.fit import MIXTURE, SINGLE_METHOD, FitMetrics
from graphmix.results.names import candidate_title
from graphmix.results.outcome import say_interval, say_undecided
from graphmix.results.recommendation import comparisons, headline, members
from graphmix.results.wording import duration
from graphmix.text import counted
from graphmix.training.methods import METHODS as TRAINED

_MOST_COLUMNS = 100
# So many classes fit into a chart; the others are summed up in one.
_MOST_CLASSES = 30
# A label can be a whole text; its beginning tells which it is.
_LONGEST_NAME = 60
_STAGES = ("reading", "encoding", "training", "writing")

Facts = list[tuple[str, str]]


def page_values(contents: Contents, fitted: ModelFolder) -> dict[str, Any]:
    """What the template of a fitted model's page is filled with."""
    metrics = fitted.metrics
    return {
        "headline": headline(metrics),
        "compared": " ".join(comparisons(metrics)),
        "fitted": metrics,
        "task": fitted.model.task,
        "metric": METRICS[metrics.chosen_by],
        "tiles": tiles(fitted),
        "data_facts": data_facts(fitted),
        "data_sentences": data_sentences(fitted),
        "labels": label_counts(metrics),
        **column_values(metrics),
        "judged": say_judged(metrics),
        "nested": metrics.format > SINGLE_METHOD,
        "shares": say_shares(metrics),
        "candidates": [candidate_row(candidate, metrics) for candidate in metrics.candidates],
        "has": has_column(metrics),
        "charts": method_charts(metrics),
        "learning": say_learning(),
        "calibration": say_calibration(metrics),
        "abstention": say_abstention(metrics),
        "sets": say_sets(metrics),
        "classes": class_rows(metrics),
        "test_facts": test_facts(fitted),
        "settings_facts": settings_facts(contents, fitted),
        "files": [(f"{name}/" if name == "candidates" else name, FILES[name]) for name in fitted.files],
        "commands": commands(fitted),
        # Who wants to see a thousand classes or the checksums opens the file.
        "settings": json.dumps(_shown_settings(fitted), indent=2, ensure_ascii=False),
    }


def _shown_settings(fitted: ModelFolder) -> dict[str, Any]:
    shown = {"format": fitted.model.format, "task": fitted.model.task, **fitted.model.settings}
    return {name: value for name, value in shown.items() if name not in ("checksums", "classes")}


def chart_numbers(metrics: FitMetrics) -> dict[str, Any]:
    """What the charts of a fitted model are drawn from."""
    abstention, curve = metrics.abstention, metrics.abstention.curve
    return {
        "metric": METRICS[metrics.chosen_by],
        **method_numbers(metrics),
        "calibration": {
            "before": reliability_bins(metrics.calibration.before),
            "after": reliability_bins(metrics.calibration.after),
            "fitted": metrics.calibration.is_fitted,
        },
        "abstention": {
            "target": abstention.target,
            "level": abstention.level,
            "accuracy": abstention.accuracy,
            "keptOfAll": abstention.kept,
            "undecided": say_undecided(metrics) is not None,
            "threshold": curve.threshold,
            "kept": curve.kept,
            "right": curve.accuracy,
        },
        "sizes": [[size, count] for size, count in enumerate(metrics.conformal.sizes, 1) if count],
        "classes": class_rows(metrics)[:_MOST_CLASSES],
        "classCount": len(metrics.classes),
        "held": metrics.held,
        "fewestKept": FEWEST_KEPT,
        "labeled": sum(metrics.survey.class_counts),
        "total": total(metrics),
    }


def data_facts(fitted: ModelFolder) -> Facts:
    """The data in numbers."""
    survey, task = fitted.metrics.survey, fitted.model.task
    edges = "Edges" if task == "nodes" else "Pairs that share an end"
    labeled = f"{survey.labeled:,}" + (f" ({survey.labeled / survey.nodes:.1%})" if survey.nodes else "")
    return [
        (task.capitalize(), f"{survey.nodes:,}"),
        ("Labeled", labeled.replace("%", " %")),
        ("Classes", f"{len(survey.class_names):,}"),
        (edges, f"{survey.edges:,}"),
        ("Neighbours each", f"{survey.mean_degree:.1f}"),
        ("Without a neighbour", f"{survey.isolated:,}"),
        ("Parts", f"{survey.components:,}"),
        ("Features", f"{survey.features:,}"),
    ]


def label_counts(metrics: FitMetrics) -> list[tuple[str, str]]:
    """Labels per class, in the order of the classes; of very many classes those with the most labels."""
    survey = metrics.survey
    return [
        (_clip(survey.class_names[place]), f"{survey.class_counts[place]:,}") for place in _shown(survey.class_counts)
    ]


def column_values(metrics: FitMetrics) -> dict[str, Any]:
    """What became of the columns there is room for, how many tables they are from, and a sentence on the others."""
    shown, more = shown_uses(metrics.columns or (), _MOST_COLUMNS)
    named = [replace(use, table=_clip(use.table), name=_clip(use.name)) for use in shown]
    return {"columns": named, "tables": len({use.table for use in shown}), "columns_more": more}


def class_rows(metrics: FitMetrics) -> list[tuple[str, int, int]]:
    """Name, labels and predictions of each class; of very many classes the most frequent, and the rest in one row."""
    labels, predicted = metrics.survey.class_counts, metrics.predicted
    shown = _shown(tuple(map(sum, zip(labels, predicted, strict=True))))
    rows = [(_clip(metrics.classes[place]), labels[place], predicted[place]) for place in shown]
    if rest := len(labels) - len(shown):
        sums = (sum(labels) - sum(row[1] for row in rows), sum(predicted) - sum(row[2] for row in rows))
        rows.append((f"{rest:,} other classes", *sums))
    return rows


def test_facts(fitted: ModelFolder) -> Facts:
    """How the model does on given test nodes; empty without any."""
    metrics, test = fitted.metrics, fitted.metrics.test
    if test is None:
        return []
    known = [share for share in test.trials if share is not None]
    sure = "" if test.accuracy is None or not test.nodes else f" ({say_interval(test.accuracy, test.nodes)})"
    error = f"{number(test.before.ece)} % before, {number(test.after.ece)} % after"
    facts = [
        (f"Test {fitted.model.task}", f"{test.nodes:,}"),
        ("Accuracy", f"{number(test.accuracy)} %{sure}"),
        ("Macro F1", f"{number(test.macro_f1)} %"),
        (
            "Calibration error",
            error if metrics.calibration.is_fitted else f"{number(test.after.ece)} %, not calibrated",
        ),
    ]
    if len(known) > 1:
        parts = "Its networks" if metrics.format <= SINGLE_METHOD else "Its methods"
        facts.insert(2, (f"{parts} one by one", f"{min(known):.1f} to {max(known):.1f} %"))
    return facts


def settings_facts(contents: Contents, fitted: ModelFolder) -> Facts:
    """What the model was made with, and the time and memory it took."""
    metrics, seconds = fitted.metrics, fitted.metrics.seconds or {}
    devices = {cell.run.device for record in contents.records for cell in record.cells if cell.run and cell.run.device}
    stages = [name for name in _STAGES if name in seconds] + [name for name in seconds if name not in _STAGES]
    facts = [
        *_model_facts(metrics),
        *((f"Time for {name}", duration(seconds[name])) for name in stages),
        ("Peak memory", "" if metrics.peak_memory_gib is None else f"{metrics.peak_memory_gib:.2f} GiB"),
        ("Device", ", ".join(sorted(devices))),
        *((name, "" if version is None else str(version)) for name, version in fitted.model.versions.items()),
    ]
    return [(name, value) for name, value in facts if value]


def _model_facts(metrics: FitMetrics) -> Facts:
    """What the model is, and how it was chosen."""
    by = METRICS[metrics.chosen_by]
    if metrics.chosen == MIXTURE:
        return [
            ("Model", f"a mixture of {counted(len(members(metrics)), 'method')}"),
            ("Networks of a method", f"{metrics.trials:,}"),
            ("Shares chosen by", "log loss"),
            ("Methods compared by", by),
        ]
    network = [
        ("Network", NETWORKS[metrics.backbone].title),
        ("Networks in the ensemble", f"{metrics.trials:,}"),
        ("Epochs", f"{metrics.epochs:,}"),
    ]
    return [
        ("Method", candidate_title(metrics.candidates[0], metrics)),
        *([] if TRAINED[metrics.chosen].baseline else network),
        *([("Chosen by", by)] if metrics.format <= SINGLE_METHOD else []),
    ]


def commands(fitted: ModelFolder) -> Facts:
    """What to do with the model next: what for, and the command."""
    folder, task = shlex.quote(fitted.folder), fitted.model.task
    new = "--nodes new.csv --edges new_edges.csv" if task == "nodes" else "--edges new_edges.csv"
    return [
        (f"Predict new {task}", f"graphmix predict {folder} {new} -o new_predictions.csv"),
        ("Learn why it predicts what it does", f"graphmix explain {folder} ID -o reasons.html"),
        ("Learn what to label next, and which labels look wrong", f"graphmix advise {folder}"),
    ]


def _shown(counts: tuple[int, ...]) -> list[int]:
    """The places of the classes there is room for, in order."""
    most = sorted(range(len(counts)), key=lambda place: -counts[place])[:_MOST_CLASSES]
    return sorted(most)


def _clip(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"
