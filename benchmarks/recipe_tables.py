"""Tables of docs/design/0024-recipe.md: for tables.py."""

from collections.abc import Callable

from graphmix.experiments.cells import Asked, plan
from graphmix.experiments.spec import load_spec, names
from graphmix.results.record import CellResult, GridPoint
from graphmix.results.wording import settings_text, spread, spread_of
from leaderboard_rows import best_cell
from results_page import commit_of, read_records

NONE = "–"
# How many points of a search are shown.
BEST = 5


def past_grand() -> str:
    """The recipe beside the methods it is made of."""
    return table("past-grand")


def ablation() -> str:
    """What each part of the recipe adds."""
    return table("recipe-ablation")


def table(name: str) -> str:
    """Rows by columns of a spec; a cell is taken from any record with a run of the same settings."""
    spec, records = load_spec(name), read_records(*names())
    done = [cell for record in records for cell in record.cells if cell.run is not None]
    cells = {(cell.row, cell.column): best_cell(spec, cell, done) for cell in plan(spec, Asked())}
    lines = ["| | " + " | ".join(column.name for column in spec.columns) + " |", "|---" * (1 + len(spec.columns)) + "|"]
    for row in spec.rows:
        shown = [number(cells[row.name, column.name]) for column in spec.columns]
        lines.append(f"| {row.name} | " + " | ".join(shown) + " |")
    made = dict.fromkeys(origin(cell) for cell in cells.values() if cell.run is not None)
    ran = f"; {'; '.join(made)}" if made else ""
    lines += ["", f"Test accuracy in percent, with the number of trials{ran}. `graphmix reproduce {name}`."]
    return "\n".join(lines) + "\n"


def number(cell: CellResult) -> str:
    """A cell's test accuracy and trials."""
    return NONE if cell.run is None else f"{spread_of(cell.run, 'test_accuracy')} ({cell.run.trials})"


def origin(cell: CellResult) -> str:
    """The device and the commit of a cell."""
    return f"{cell.run.device}, {commit_of(cell.outcome.commit)}"


def search() -> str:
    """The best points of the search for the recipe."""
    return searched("recipe-search")


def grand_search() -> str:
    """The best points of the same search for GRAND."""
    return searched("grand-search")


def searched(name: str) -> str:
    """The best points of a search on each dataset, by validation accuracy."""
    (record,) = read_records(name)
    lines = ["| dataset | place | settings | validation accuracy (%) | trials |", "|---|---|---|---|---|"]
    for cell in record.cells:
        found = cell.outcome.selection
        if found is None:
            lines.append(f"| {cell.column} | {NONE} | {NONE} | {NONE} | {NONE} |")
            continue
        ranked = sorted(found.grid, key=lambda point: -(point.val_score_mean or 0.0))
        lines += [f"| {cell.column} | {place} | {row(point)}" for place, point in enumerate(ranked[:BEST], 1)]
        lines.append(f"| {cell.column} | start | {row(found.grid[0])}")
    lines += ["", f"`graphmix reproduce {record.name}`; all points are in `results/{record.name}.json`."]
    return "\n".join(lines) + "\n"


def row(point: GridPoint) -> str:
    """The rest of a point's line."""
    accuracy = spread(point.val_accuracy_mean, point.val_accuracy_std)
    return f"{settings_text(point.settings or {})} | {accuracy} | {point.trials} |"


RECIPE_TABLES: dict[str, Callable[[], str]] = {
    "recipe_past_grand": past_grand,
    "recipe_ablation": ablation,
    "recipe_search": search,
    "grand_search": grand_search,
}
