"""Tables of a report, as plain values for the template."""

from typing import Any

from graphmix.report.contents import BoundPoint, Cell, Choice, Record
from graphmix.report.wording import MARKS, MEANINGS, count, duration, explain, failures, outcome, points, spread


def result_table(record: Record) -> dict[str, Any]:
    """Rows by columns; in each place a line for every reading that has a cell there."""
    by_place: dict[tuple[str, str], list[Cell]] = {}
    for cell in record.cells:
        by_place.setdefault((cell.row, cell.column), []).append(cell)
    # A part of a table, asked for with --only, has cells in some rows and columns alone.
    held_rows = [row for row in record.rows if any(cell.row == row for cell in record.cells)]
    columns = [column for column in record.columns if any(cell.column == column for cell in record.cells)]
    several = len(record.readings) > 1
    rows = [
        {
            "name": row,
            "places": [[_line(cell, several) for cell in by_place.get((row, column), [])] for column in columns],
        }
        for row in held_rows
    ]
    partial = len(rows) < len(record.rows) or len(columns) < len(record.columns)
    return {"columns": columns, "rows": rows, "partial": partial}


def _line(cell: Cell, several: bool) -> dict[str, Any]:
    run, word = cell.run, outcome(cell)
    # Each with whether it is bad news.
    notes = [(failures(run), True)] if run is not None and run.diverged else []
    notes += [(cell.error, cell.status == "failed")] if cell.error else []
    notes += [(_choices(cell), False)] if cell.chosen is not None else []
    difference = None if cell.verdict is None else cell.verdict.difference
    return {
        "reading": cell.reading if several else None,
        "ours": None if run is None else spread(run.mean, run.std),
        "n": None if run is None else run.trials,
        "paper": None if cell.paper is None else spread(cell.paper.mean, cell.paper.std),
        "difference": None if difference is None else points(difference),
        "chip": None if word is None else chip(word),
        "tip": explain(cell),
        "notes": notes,
    }


def chip(word: str) -> dict[str, str]:
    """A verdict's word, its sign, and the name of its colour."""
    return {"word": word, "mark": MARKS[word], "class": word.replace(" ", "-"), "meaning": MEANINGS[word]}


def tally(cells: tuple[Cell, ...]) -> list[dict[str, Any]]:
    """How many cells came out how, for the bar over a table."""
    return [chip(word) | {"count": number} for word, number in count(cells).items()]


def _choices(cell: Cell) -> str:
    parts = [f"chose {_choice(cell.chosen)}"] if cell.chosen else []
    parts += [f"the paper {_choice(cell.paper_chosen)}"] if cell.paper_chosen else []
    return "; ".join(parts)


def _choice(choice: Choice) -> str:
    return f"α = {choice.alpha:g}, γ = {choice.gamma:g}"


def bound_tables(record: Record) -> list[dict[str, Any]]:
    """The theorem's numbers, a table per dataset; a dataset without them says why."""
    symbols = {
        "m": "m",
        "unlabeled": "unlabeled",
        "grid": "|Γ|",
        "delta": "δ",
        "c": "c",
        "concentration": "concentration",
    }
    tables = []
    for cell in record.cells:
        word, bound = outcome(cell), cell.bound
        table: dict[str, Any] = {"name": cell.column if len(record.rows) == 1 else f"{cell.row}, {cell.column}"}
        table |= {"chip": None if bound else chip(word or "not run"), "error": cell.error, "points": []}
        if bound is not None:
            facts = [(symbols[name], f"{number:,.6g}") for name, number in bound.constants.items()]
            facts.append(("threshold", f"{bound.threshold:.4g}"))
            if bound.rademacher is not None:
                facts.append(("Rademacher complexity", _figures(bound.rademacher, bound.rademacher_std)))
            lambdas = sorted({name for point in bound.points for name in point.bound})
            table |= {
                "facts": facts,
                "lambdas": lambdas,
                "points": [_bound_row(point, lambdas) for point in bound.points],
            }
        tables.append(table)
    return tables


def _bound_row(point: BoundPoint, lambdas: list[str]) -> list[str]:
    sides = [f"{point.bound[name]:.4f}" if name in point.bound else "–" for name in lambdas]
    loss, excess = _figures(point.loss, point.loss_std), f"{point.excess:+.4f}".replace("-", "−")
    return [f"{point.choice.alpha:g}", f"{point.choice.gamma:g}", loss, excess, *sides]


def _figures(mean: float, std: float | None) -> str:
    return f"{mean:.4f}" if std is None else f"{mean:.4f} ± {std:.4f}"


def setting_rows(records: tuple[Record, ...]) -> list[dict[str, Any]]:
    """One line per run: what was trained, on what, for how long, and the command for it."""
    rows = []
    for record in records:
        for cell in record.cells:
            if cell.run is None:
                continue
            settings = cell.run.settings
            rows.append(
                {
                    "experiment": record.title,
                    "name": record.label(cell),
                    "dataset": cell.column,
                    "trials": cell.run.trials,
                    "epochs": settings.get("epochs") if isinstance(settings.get("epochs"), int) else None,
                    "failed": len(set(cell.run.diverged)),
                    "seconds": None if cell.run.seconds is None else duration(cell.run.seconds),
                    "device": cell.run.device,
                    "command": cell.command,
                }
            )
    return rows


def origins(records: tuple[Record, ...]) -> list[tuple[str, str]]:
    """What the numbers were made with: each version, commit and device that occurs, and the time it all took."""
    found: dict[str, dict[str, None]] = {}
    seconds = 0.0
    for record in records:
        for name, value in record.made.items():
            found.setdefault(name, {})[value] = None
        for cell in record.cells:
            if cell.run is None:
                continue
            seconds += cell.run.seconds or 0.0
            if cell.commit:
                found.setdefault("commit", {})[cell.commit] = None
            found.setdefault("device", {})[cell.run.device] = None
            for name, value in cell.run.versions.items():
                found.setdefault(name, {})[value] = None
    facts = [(name, ", ".join(value for value in values if value)) for name, values in found.items()]
    return [fact for fact in facts if fact[1]] + ([("training time", duration(seconds))] if seconds else [])
