"""The page of a fitted model: what its template is filled with, and the numbers of its charts."""

import json
import shlex
from typing import Any

from graphmix.experiments.names import NETWORKS
from graphmix.report.contents import Candidate, Contents, Fitted, Reliability
from graphmix.report.findings import (
    METRICS,
    data_sentences,
    number,
    say_abstention,
    say_calibration,
    say_judged,
    say_sets,
    tiles,
    total,
)
from graphmix.report.fitted import FILES
from graphmix.report.wording import duration
from graphmix.workflow.candidates import PROPAGATION

# So many classes can be told apart in a chart; the rest is summed up.
_MOST_CLASSES = 30
# A label can be a whole text; its beginning tells which it is.
_LONGEST_NAME = 60
_STAGES = ("reading", "encoding", "training", "writing")

Facts = list[tuple[str, str]]


def page_values(contents: Contents, fitted: Fitted) -> dict[str, Any]:
    """What the template of a fitted model's page is filled with."""
    return {
        "headline": fitted.headline,
        "fitted": fitted,
        "metric": METRICS[fitted.metric],
        "tiles": tiles(fitted),
        "data_facts": data_facts(fitted),
        "data_sentences": data_sentences(fitted),
        "labels": label_counts(fitted),
        "judged": say_judged(fitted),
        "candidates": [candidate_row(candidate) for candidate in fitted.candidates],
        "calibration": say_calibration(fitted),
        "abstention": say_abstention(fitted),
        "sets": say_sets(fitted),
        "classes": class_rows(fitted),
        "test_facts": test_facts(fitted),
        "settings_facts": settings_facts(contents, fitted),
        "files": [(f"{name}/" if name == "candidates" else name, FILES[name]) for name in fitted.files],
        "commands": commands(fitted),
        "settings": json.dumps(fitted.settings, indent=2, ensure_ascii=False),
    }


def chart_numbers(fitted: Fitted) -> dict[str, Any]:
    """What the charts of a fitted model are drawn from."""
    abstention = fitted.abstention
    return {
        "metric": METRICS[fitted.metric],
        "candidates": [{"name": one.name, "behind": one.behind, "certain": one.certain} for one in fitted.candidates],
        "calibration": {"before": _bins(fitted.before), "after": _bins(fitted.after)},
        "abstention": {
            "target": abstention.target,
            "level": abstention.level,
            "accuracy": abstention.accuracy,
            "keptOfAll": abstention.kept,
            "threshold": abstention.curve_threshold,
            "kept": abstention.curve_kept,
            "right": abstention.curve_accuracy,
        },
        "sizes": [[size, count] for size, count in enumerate(fitted.sets.sizes, 1) if count],
        "classes": class_rows(fitted)[:_MOST_CLASSES],
        "classCount": len(fitted.classes),
        "held": fitted.held,
        "labeled": sum(fitted.survey.class_counts),
        "total": total(fitted),
    }


def data_facts(fitted: Fitted) -> Facts:
    """What the data is, in numbers."""
    survey, task = fitted.survey, fitted.task
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


def label_counts(fitted: Fitted) -> list[tuple[str, str]]:
    """Labels per class, in the order of the classes; of very many classes those with the most labels."""
    survey = fitted.survey
    return [
        (_clip(survey.class_names[place]), f"{survey.class_counts[place]:,}") for place in _shown(survey.class_counts)
    ]


def candidate_row(candidate: Candidate) -> dict[str, Any]:
    """A candidate as a row of the table."""
    chips = {
        None: ("best", "★", "reproduced"),
        True: ("more than noise", "✓", "higher"),
        False: ("may be noise", "?", "undecided"),
    }
    word, mark, kind = chips[candidate.certain]
    behind = "–"
    if candidate.behind is not None:
        mean, low, high = candidate.behind
        behind = f"{mean:.1f} ({low:+.1f} to {high:+.1f})".replace("-", "−")
    return {
        "name": candidate.name,
        "accuracy": f"{candidate.accuracy:.1f}",
        "macro_f1": number(candidate.macro_f1),
        "behind": behind,
        "chip": {"word": word, "mark": mark, "class": kind, "meaning": ""},
        "seconds": duration(candidate.seconds),
    }


def class_rows(fitted: Fitted) -> list[tuple[str, int, int]]:
    """Name, labels and predictions of each class; of very many classes the most frequent, and the rest in one row."""
    labels, predicted = fitted.survey.class_counts, fitted.predicted
    shown = _shown(tuple(map(sum, zip(labels, predicted, strict=True))))
    rows = [(_clip(fitted.classes[place]), labels[place], predicted[place]) for place in shown]
    if rest := len(labels) - len(shown):
        sums = (sum(labels) - sum(row[1] for row in rows), sum(predicted) - sum(row[2] for row in rows))
        rows.append((f"{rest:,} other classes", *sums))
    return rows


def test_facts(fitted: Fitted) -> Facts:
    """How the model does on given test nodes; empty without any."""
    test = fitted.test
    if test is None:
        return []
    known = [share for share in test.trials if share is not None]
    facts = [
        (f"Test {fitted.task}", f"{test.nodes:,}"),
        ("Accuracy", f"{number(test.accuracy)} %"),
        ("Macro F1", f"{number(test.macro_f1)} %"),
        ("Calibration error", f"{number(test.before.ece)} % before, {number(test.after.ece)} % after"),
    ]
    if len(known) > 1:
        facts.insert(2, ("Its networks one by one", f"{min(known):.1f} to {max(known):.1f} %"))
    return facts


def settings_facts(contents: Contents, fitted: Fitted) -> Facts:
    """What the model was made with and what that took."""
    devices = {cell.run.device for record in contents.records for cell in record.cells if cell.run and cell.run.device}
    stages = [name for name in _STAGES if name in fitted.seconds]
    stages += [name for name in fitted.seconds if name not in _STAGES]
    network = [
        ("Network", NETWORKS[fitted.backbone]),
        ("Networks in the ensemble", f"{fitted.trials:,}"),
        ("Epochs", f"{fitted.epochs:,}"),
    ]
    facts = [
        ("Method", fitted.candidates[0].name),
        *([] if fitted.candidates[0].method == PROPAGATION else network),
        ("Chosen by", METRICS[fitted.metric]),
        *((f"Time for {name}", duration(fitted.seconds[name])) for name in stages),
        ("Peak memory", "" if fitted.memory is None else f"{fitted.memory:.2f} GiB"),
        ("Device", ", ".join(sorted(devices))),
        *fitted.versions.items(),
    ]
    return [(name, value) for name, value in facts if value]


def commands(fitted: Fitted) -> Facts:
    """What to do with the model next: what for, and the command."""
    folder = shlex.quote(fitted.folder)
    new = "--nodes new.csv --edges new_edges.csv" if fitted.task == "nodes" else "--edges new_edges.csv"
    return [
        (f"Predict {fitted.task} that are new", f"graphmix predict {folder} {new} -o new_predictions.csv"),
        ("Learn what to label next, and which labels look wrong", f"graphmix advise {folder}"),
    ]


def _bins(bins: Reliability) -> dict[str, Any]:
    return {"count": bins.count, "confidence": bins.confidence, "accuracy": bins.accuracy, "ece": bins.ece}


def _shown(counts: tuple[int, ...]) -> list[int]:
    """The places of the classes there is room for, in order."""
    most = sorted(range(len(counts)), key=lambda place: -counts[place])[:_MOST_CLASSES]
    return sorted(most)


def _clip(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"
