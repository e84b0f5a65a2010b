"""The page of a search: what its template is filled with, and the numbers of its charts."""

import json
import shlex
from pathlib import Path
from statistics import fmean
from typing import Any

from graphmix.report.contents import Contents
from graphmix.results import formats
from graphmix.results.reader import read_file
from graphmix.results.tuned import DONE, FAILED, STOPPED, Point, TuneResult
from graphmix.results.tuned_wording import METRICS, say_best, say_checked, say_counts
from graphmix.results.wording import duration, settings_text, spread
from graphmix.storage.folders import BEST, PAGE, STUDY, TUNED
from graphmix.text import signed

# A table of a thousand points is not read; all of them are in the charts and in the file.
_MOST_ROWS = 100
_FILES = {
    PAGE: "this page",
    BEST: "the best settings, for --config of graphmix train and graphmix fit",
    TUNED: "every point, as JSON",
    STUDY: "the study in Optuna's own format, unless another storage was named",
}
_CHIPS = {
    DONE: {"word": "done", "mark": "✓", "class": "higher", "meaning": "trained to the end"},
    STOPPED: {"word": "stopped", "mark": "?", "class": "undecided", "meaning": "others were better at the same epoch"},
    FAILED: {"word": "failed", "mark": "✕", "class": "lower", "meaning": "it could not be trained"},
}
_BEST_CHIP = {"word": "best", "mark": "★", "class": "reproduced", "meaning": "the best mean of all"}


def read_tuned(path: Path) -> Contents:
    """Read and check the folder of a search.

    Raises:
        RunError: the file is damaged or of a newer format.
    """
    found = read_file(TuneResult, path / TUNED, formats.TUNED)
    return Contents(f"A search on {found.dataset}", (), tuned=(found, str(path)))


def tuned_values(found: TuneResult, folder: str) -> dict[str, Any]:
    """What the template of a search's page is filled with."""
    return {
        "headline": say_best(found),
        "checked": say_checked(found),
        "counts": f"{say_counts(found)}.",
        "tiles": _tiles(found),
        "facts_of_search": _facts(found),
        "charts": _charts(found),
        "rows": [_row(point, found) for point in _ranked(found)[:_MOST_ROWS]],
        "more": max(0, len(found.points) - _MOST_ROWS),
        "metric": METRICS[found.metric],
        "space": [(name, _space_text(values)) for name, values in found.space.items()],
        "commands": _commands(found, folder),
        "files": list(_FILES.items()),
        "settings": json.dumps(found.best_settings, indent=2, ensure_ascii=False),
    }


def tuned_numbers(found: TuneResult) -> dict[str, Any]:
    """What the charts of a search are drawn from."""
    return {
        "metric": METRICS[found.metric],
        "best": found.best,
        "points": [
            {
                "number": point.number,
                "state": point.state,
                "score": point.score,
                "std": point.std,
                "start": point.start,
                "settings": point.settings,
            }
            for point in found.points
            if point.score is not None
        ],
        "importances": [[name, round(100 * share, 2)] for name, share in found.importances.items()],
        "log": [name for name, values in found.space.items() if isinstance(values, dict) and values.get("log")],
        "names": [name for name in found.space if any(name in point.settings for point in found.points)],
    }


def _charts(found: TuneResult) -> list[str]:
    drawn = {"history": bool(found.points), "importances": bool(found.importances), "slices": bool(found.points)}
    return [name for name, wanted in drawn.items() if wanted]


def _tiles(found: TuneResult) -> list[tuple[str, str, str]]:
    """The numbers to remember: a name, a percentage, and what it is a percentage of."""
    best, start, checked = found.best_point, found.start, found.checked
    shown = []
    if best is not None and best.score is not None:
        shown.append(("Best point", f"{best.score:.1f}", f"{METRICS[found.metric]}, {found.trials} trials"))
    if start is not None and start.score is not None:
        shown.append(("The defaults", f"{start.score:.1f}", "the first point, same seeds"))
    if checked is not None:
        seeds = f"{len(checked.best)} fresh seeds, other splits"
        shown.append(("Best again", f"{fmean(checked.best):.1f}", f"{signed(checked.difference)} points, {seeds}"))
        shown.append(("Defaults again", f"{fmean(checked.usual):.1f}", seeds))
    return shown


def _facts(found: TuneResult) -> list[tuple[str, str]]:
    seconds = sum(point.seconds or 0.0 for point in found.points)
    facts = [
        ("Method", found.method),
        ("Judged by", METRICS[found.metric]),
        ("Split", found.split),
        ("Trials of a point", f"{found.trials:,}"),
        ("Given settings", settings_text(found.settings)),
        ("Time of all points", duration(seconds)),
        ("Device", ", ".join(found.devices)),
        ("Study", found.study),
        ("Storage", found.storage),
        *((name, str(version)) for name, version in found.versions.items()),
    ]
    return [(name, value) for name, value in facts if value]


def _ranked(found: TuneResult) -> list[Point]:
    """Points that are done first, and then by their scores."""
    return sorted(found.points, key=lambda point: (point.state != DONE, -(point.score or 0.0), point.number))


def _row(point: Point, found: TuneResult) -> dict[str, Any]:
    who = "the defaults: " if point.start else ""
    why = "" if point.error is None else f" – {point.error}"
    return {
        "number": point.number,
        "score": spread(point.score, point.std),
        "chip": _BEST_CHIP if point.number == found.best else _CHIPS[point.state],
        "settings": f"{who}{settings_text(point.settings)}{why}",
        "seconds": "–" if point.seconds is None else duration(point.seconds),
    }


def _space_text(values: Any) -> str:
    if isinstance(values, list):
        return ", ".join(map(str, values))
    if not isinstance(values, dict) or not {"low", "high"} <= set(values):
        return str(values)
    step = f", in steps of {values['step']}" if values.get("step") is not None else ""
    return f"{values['low']} to {values['high']}{step}{', logarithmic' if values.get('log') else ''}"


def _commands(found: TuneResult, folder: str) -> list[tuple[str, str]]:
    best = shlex.quote(str(Path(folder) / BEST))
    if found.of_tables:
        tables = "--nodes nodes.csv --edges edges.csv --label LABEL"
        return [("Fit the tables with the best settings", f"graphmix fit {tables} --config {best} --out model")]
    command = f"graphmix train {shlex.quote(found.dataset)} --config {best}"
    return [("Train with the best settings, and look at the test nodes", command)]
