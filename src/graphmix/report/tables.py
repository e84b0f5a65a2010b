"""Tables of a report, as plain values for the template."""

from statistics import fmean, stdev
from typing import Any

from graphmix.report.wording import explain
from graphmix.results.record import (
    NOT_IN_PAPER,
    Bound,
    BoundPoint,
    CellResult,
    Choice,
    Estimate,
    Record,
    Selection,
)
from graphmix.results.wording import (
    MARKS,
    MEANINGS,
    count,
    duration,
    each_once,
    failed_trials,
    outcome,
    settings_text,
    spread,
    spread_of,
)
from graphmix.text import signed


def result_table(record: Record) -> dict[str, Any]:
    """Rows by columns; in each place a line for every reading that has a cell there.

    A leaderboard is not in the order of the paper but sorted by its first column, and shows seconds.
    """
    by_place: dict[tuple[str, str], list[CellResult]] = {}
    for cell in record.cells:
        by_place.setdefault((cell.row, cell.column), []).append(cell)
    # A record of a part of a table has cells in some rows and columns only.
    held_rows = [row for row in record.rows if any(cell.row == row for cell in record.cells)]
    columns = [column for column in record.columns if any(cell.column == column for cell in record.cells)]
    several, ranked = len(record.readings) > 1, record.source == NOT_IN_PAPER
    if ranked:
        held_rows.sort(key=lambda row: -max(_means(by_place.get((row, columns[0]), []), record.metric), default=0.0))
    rows = [
        {
            "name": row,
            "places": [
                [_line(cell, record.metric, several) | {"seconds": _seconds(cell) if ranked else None} for cell in held]
                for held in (by_place.get((row, column), []) for column in columns)
            ],
        }
        for row in held_rows
    ]
    partial = len(rows) < len(record.rows) or len(columns) < len(record.columns)
    return {"columns": columns, "rows": rows, "partial": partial, "ranked": ranked}


def _means(cells: list[CellResult], metric: str) -> list[float]:
    scores = [cell.score(metric) for cell in cells]
    return [score.mean for score in scores if score is not None and score.mean is not None]


def _seconds(cell: CellResult) -> str | None:
    return None if cell.run is None or cell.run.seconds is None else duration(cell.run.seconds)


def _line(cell: CellResult, metric: str, several: bool) -> dict[str, Any]:
    run, word, selection = cell.run, outcome(cell), cell.outcome.selection
    # Each with whether it is bad news.
    notes = [(failed_trials(run), True)] if run is not None and run.failed else []
    notes += [(cell.error, cell.status == "failed")] if cell.error else []
    notes += [(_choices(selection), False)] if selection is not None and selection.chosen is not None else []
    notes += [(f"means of four: {means}", False) for means in [ensembles(cell)] if means]
    difference = None if cell.verdict is None else cell.verdict.difference
    return {
        "reading": cell.reading if several else None,
        "ours": None if run is None else spread_of(run, metric),
        "n": None if run is None else run.trials,
        "paper": None if cell.paper is None else spread(cell.paper.mean, cell.paper.std),
        "difference": None if difference is None else signed(difference),
        "chip": None if word is None else chip(word),
        "tip": explain(cell),
        "notes": notes,
    }


def ensembles(cell: CellResult) -> str:
    """Test accuracy of the means of four trials, and how many there are; empty if there are none."""
    held = (cell.details.measured if cell.details else None) or {}
    values = [value for value in held.get("ensemble_accuracy", ()) if value is not None]
    return f"{spread(fmean(values), stdev(values) if len(values) > 1 else None)} ({len(values)})" if values else ""


def chip(word: str) -> dict[str, str]:
    """A verdict's word, its sign, and the name of its colour."""
    return {"word": word, "mark": MARKS[word], "class": word.replace(" ", "-"), "meaning": MEANINGS[word]}


def tally_bar(records: tuple[Record, ...]) -> list[dict[str, Any]]:
    """How many cells came out how, each computed cell once."""
    return [chip(word) | {"count": number} for word, number in count(each_once(records)).items()]


def run_tiles(record: Record) -> list[dict[str, Any]]:
    """The numbers to remember of runs that have one: name, mean, standard deviation and trials."""
    tiles = []
    for cell in record.cells:
        score = cell.score(record.metric)
        if cell.run is not None and score is not None and score.mean is not None:
            name = cell.row if len(record.columns) == 1 else f"{cell.row}, {cell.column}"
            tiles.append({"name": name, "mean": score.mean, "std": score.std, "trials": cell.run.trials})
    return tiles


def _choices(selection: Selection) -> str:
    parts = [f"chose {_choice(selection.chosen)}"] if selection.chosen else []
    parts += [f"the paper {_choice(selection.paper_chosen)}"] if selection.paper_chosen else []
    return "; ".join(parts)


def _choice(choice: Choice) -> str:
    return settings_text(choice.settings or {"alpha": choice.alpha, "gamma": choice.gamma})


def bound_tables(record: Record) -> list[dict[str, Any]]:
    """The theorem's numbers, a table per dataset; a dataset without them says why."""
    tables = []
    for cell in record.cells:
        word, bound = outcome(cell), cell.outcome.bound
        table: dict[str, Any] = {"name": cell.column if len(record.rows) == 1 else f"{cell.row}, {cell.column}"}
        table |= {"chip": None if bound else chip(word or "not run"), "error": cell.error, "points": []}
        if bound is not None:
            lambdas = sorted({name for point in bound.points for name in point.bound})
            table |= {
                "facts": _bound_facts(bound),
                "lambdas": lambdas,
                "points": [_bound_row(point, lambdas) for point in bound.points],
            }
        tables.append(table)
    return tables


def _bound_facts(bound: Bound) -> list[tuple[str, str]]:
    constants = {
        "m": bound.m,
        "unlabeled": bound.unlabeled,
        "|Γ|": bound.grid,
        "δ": bound.delta,
        "c": bound.c,
        "concentration": bound.concentration,
    }
    facts = [(name, f"{number:,.6g}") for name, number in constants.items()]
    return [*facts, ("threshold", f"{bound.threshold:.4g}"), ("Rademacher complexity", _figures(bound.rademacher))]


def _bound_row(point: BoundPoint, lambdas: list[str]) -> list[str]:
    sides = [f"{point.bound[name]:.4f}" if name in point.bound else "–" for name in lambdas]
    loss, excess = _figures(point.fcn_loss), signed(point.excess, 4)
    return [f"{point.alpha:g}", f"{point.gamma:g}", loss, excess, *sides]


def _figures(estimate: Estimate) -> str:
    return f"{estimate.mean:.4f}" if estimate.std is None else f"{estimate.mean:.4f} ± {estimate.std:.4f}"


def setting_rows(records: tuple[Record, ...]) -> list[dict[str, Any]]:
    """One line per run: what was trained, on what, for how long, and the command for it."""
    rows = []
    for record, cell in [(each, cell) for each in records for cell in each.cells]:
        run = cell.run
        if run is None:
            continue
        epochs = run.settings.get("epochs")
        rows.append(
            {
                "experiment": record.title,
                "name": record.label(cell),
                "dataset": cell.column,
                "trials": run.trials,
                "epochs": epochs if isinstance(epochs, int) else None,
                "failed": len(run.failed),
                "seconds": None if run.seconds is None else duration(run.seconds),
                "device": run.device or "",
                "command": cell.outcome.command,
            }
        )
    return rows


def origins(records: tuple[Record, ...]) -> list[tuple[str, str]]:
    """What the numbers were made with: each version, commit and device that occurs, and the time it took."""
    found: dict[str, dict[str, None]] = {}
    seconds = 0.0
    for record in records:
        facts = list(record.made.items())
        for cell in record.cells:
            if cell.run is not None:
                seconds += cell.run.seconds or 0.0
                facts += [("commit", cell.outcome.commit), ("device", cell.run.device), *cell.run.versions.items()]
        for name, value in facts:
            if value is not None and value != "":
                found.setdefault(name, {})[value if isinstance(value, str) else f"{value:g}"] = None
    listed = [(name, ", ".join(values)) for name, values in found.items()]
    return listed + ([("training time", duration(seconds))] if seconds else [])
