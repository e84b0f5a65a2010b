"""Tables of docs/design/0024-recipe.md: for tables.py."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean, stdev

from graphmix.experiments.cells import Asked, plan
from graphmix.experiments.spec import load_spec, names
from graphmix.report.tables import ensembles
from graphmix.results.record import CellResult, GridPoint, Selection
from graphmix.results.wording import settings_text, spread, spread_of
from leaderboard_rows import best_cell
from results_page import commit_of, read_records

NONE = "–"
# How many points of a search are shown.
BEST = 3
STUDY = Path(__file__).parent / "results" / "recipe-study-cpu.jsonl"
SETTINGS = STUDY.with_name("recipe-settings-cpu.jsonl")
IN_FITS = STUDY.with_name("wild-recipe-cpu.json")
STUDIED, SIZES = ("cora", "citeseer"), ("single", "mean of 2", "mean of 4")
START = ("alone", "weights, accuracy, single")


def past_grand() -> str:
    """The recipe beside the methods it is made of."""
    return table("past-grand")


def means_of_four() -> str:
    """Single networks, and the means of four of them."""
    return table("ensembles")


def study() -> str:
    """What else was tried, by validation nodes."""
    held = [json.loads(line) for line in STUDY.read_text().splitlines()]
    of = {(each["dataset"], each["way"], each["variant"]): each for each in held}
    rows = dict.fromkeys((each["way"], *each["variant"].split(", ")[:2]) for each in held)
    heads = [f"{dataset}, {size}" for dataset in STUDIED for size in SIZES]
    lines = [f"| | {' | '.join(heads)} |".replace("cora", "Cora").replace("citeseer", "Citeseer")]
    lines.append("|---" * (1 + len(heads)) + "|")
    for way, weights, rule in rows:
        found = [of[dataset, way, f"{weights}, {rule}, {size}"] for dataset in STUDIED for size in SIZES]
        shown = [f"{each['gain']:+.2f} ± {each['gain_error']:.2f}" for each in found]
        lines.append(f"| {way}, {weights}, epoch by {rule} | {' | '.join(shown)} |")
    start = [of[dataset, *START] for dataset in STUDIED]
    began = " and ".join(f"{each['accuracy']:.2f} %" for each in start)
    told = f"Points above single networks that train alone, their epoch by accuracy, which have {began}"
    made = "; ".join(dict.fromkeys(f"commit {each['commit']}" for each in start))
    note = f"{told}; standard errors over {start[0]['splits']} splits. cpu, 2 cores, {made}"
    lines += ["", f"{note}; `python benchmarks/recipe_study.py cora`."]
    return "\n".join(lines) + "\n"


def settings() -> str:
    """What one setting changes, by validation nodes."""
    held = [json.loads(line) for line in SETTINGS.read_text().splitlines()]
    changed = [each for each in held if each["settings"] != each["against"]]
    lines = ["| dataset | against | changed | judging nodes (%) | difference |", "|---" * 5 + "|"]
    for each in changed:
        against = settings_text(each["against"]) or "the first choice"
        own = {name: value for name, value in each["settings"].items() if each["against"].get(name) != value}
        dataset = {"cora": "Cora", "citeseer": "Citeseer"}[each["dataset"]]
        difference = f"{each['gain']:+.2f} ± {each['gain_error']:.2f}"
        lines.append(f"| {dataset} | {against} | {settings_text(own)} | {each['accuracy']:.2f} | {difference} |")
    made = "; ".join(dict.fromkeys(f"commit {each['commit']}" for each in held))
    size = f"{held[0]['splits']} splits, {held[0]['epochs']} epochs"
    drafted = "a draft of " if any(each.get("script") == "draft" for each in held) else ""
    note = f"{size}; standard errors over the splits. cpu, 2 cores, {made}; {drafted}`benchmarks/recipe_settings.py`."
    lines += ["", note]
    return "\n".join(lines) + "\n"


def in_fits() -> str:
    """Fits with the recipe among the candidates, and without it."""
    held = json.loads(IN_FITS.read_text())
    rows = {(each["graph"], each["draw"], each["kind"]): each for each in held["rows"]}
    heads = ("graph", "draw", "accuracy without (%)", "with (%)", "held-out: mixture (%)", "recipe (%)", "its share")
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for graph, draw, _ in (key for key in rows if key[2] == "with"):
        without, own = rows[graph, draw, "without"], rows[graph, draw, "with"]
        share = sum(part for name, part in own["members"].items() if name.startswith("graphmix-grand"))
        shown = [without["accuracy"], own["accuracy"], own["held_out"], own["recipe_held_out"]]
        numbers = " | ".join(f"{each:.1f}" for each in shown)
        lines.append(f"| {graph} | {draw} | {numbers} | {100 * share:.0f} % |")
    commits = ", ".join(dict.fromkeys(each["commit"] for each in held["rows"]))
    lines += ["", f"{held['device']}, 2 cores, commit {commits}; `{held['command']}`."]
    return "\n".join(lines) + "\n"


def ablation() -> str:
    """What each part of the recipe adds."""
    return table("recipe-ablation")


def table(name: str) -> str:
    """Rows by columns of a spec; a cell is taken from any record with a run of the same settings."""
    spec, records = load_spec(name), read_records(*names())
    done = [cell for record in records for cell in record.cells if cell.run is not None]
    cells = {(cell.row, cell.column): best_cell(spec, cell, done, timed=False) for cell in plan(spec, Asked())}
    # The means of four are measured when their networks are trained, so they stand beside these networks.
    cells |= {(cell.row, cell.column): cell for (own,) in [read_records(name)] for cell in own.cells if ensembles(cell)}
    lines = ["| | " + " | ".join(column.name for column in spec.columns) + " |", "|---" * (1 + len(spec.columns)) + "|"]
    for row in spec.rows:
        shown = [number(cells[row.name, column.name]) for column in spec.columns]
        lines.append(f"| {row.name} | " + " | ".join(shown) + " |")
    made = dict.fromkeys(origin(cell) for cell in cells.values() if cell.run is not None)
    ran = f"; {'; '.join(made)}" if made else ""
    lines += ["", f"Test accuracy in percent, with the number of trials{ran}. `graphmix reproduce {name}`."]
    return "\n".join(lines) + "\n"


def number(cell: CellResult) -> str:
    """A cell's test accuracy and trials, and that of the means of four."""
    if cell.run is None:
        return NONE
    single = f"{spread_of(cell.run, 'test_accuracy')} ({cell.run.trials})"
    return " → ".join(filter(None, (single, ensembles(cell))))


def origin(cell: CellResult) -> str:
    """The device and the commit of a cell."""
    return f"{cell.run.device}, {commit_of(cell.outcome.commit)}"


def search() -> str:
    """The best points of the search for the recipe."""
    return searched("recipe-search")


def wider() -> str:
    """The points of the second search, and by how much its choice leads where it started, split by split."""
    (record,) = read_records("recipe-search-wider")
    leads = []
    for cell in record.cells:
        found = cell.outcome.selection
        if found is None:
            continue
        of = {settings_text(point.settings or {}): point.val_accuracy for point in found.finalists or ()}
        chosen, start = (of[settings_text(each.settings or {})] for each in (found.chosen, found.grid[0]))
        lead = [one - other for one, other in zip(chosen, start, strict=True)]
        leads.append(f"{cell.column} {fmean(lead):+.2f} ± {stdev(lead) / len(lead) ** 0.5:.2f}")
    told = "" if not leads else f"\nThe choice against the start, on the same splits drawn again: {'; '.join(leads)}.\n"
    return searched("recipe-search-wider") + told


def grand_search() -> str:
    """The best points of the same search for GRAND."""
    return searched("grand-search")


def searched(name: str) -> str:
    """The best points of a search on each dataset, by the second round, and the start."""
    (record,) = read_records(name)
    lines = ["| dataset | place | settings | public split (%) | splits drawn again (%) |", "|---|---|---|---|---|"]
    for cell in record.cells:
        found = cell.outcome.selection
        if found is None:
            lines.append(f"| {cell.column} | {NONE} | {NONE} | {NONE} | {NONE} |")
            continue
        first, second = places(found.grid), places(found.finalists or ())
        lines += [f"| {cell.column} | {place} | {row(found, second[place])}" for place in sorted(second)[:BEST]]
        lines.append(f"| {cell.column} | best of the first round | {row(found, first[1])}")
        lines.append(f"| {cell.column} | start | {row(found, found.grid[0])}")
    made = f"`graphmix reproduce {record.name}`; all points are in `results/{record.name}.json`."
    lines += ["", f"Validation accuracy in percent, with the number of trials. {made}"]
    return "\n".join(lines) + "\n"


def places(points: Sequence[GridPoint]) -> dict[int, GridPoint]:
    """Points by their place, from 1 on."""
    return dict(enumerate(sorted(points, key=lambda point: -(point.val_score_mean or 0.0)), 1))


def row(found: Selection, shown: GridPoint) -> str:
    """The rest of a point's line: its settings, and its accuracy in each round."""
    rounds = [
        next((judged(point) for point in held or () if point.settings == shown.settings), NONE)
        for held in (found.grid, found.finalists)
    ]
    return f"{settings_text(shown.settings or {})} | {' | '.join(rounds)} |"


def judged(point: GridPoint) -> str:
    """A point's validation accuracy and trials."""
    return f"{spread(point.val_accuracy_mean, point.val_accuracy_std)} ({point.trials})"


RECIPE_TABLES: dict[str, Callable[[], str]] = {
    "recipe_past_grand": past_grand,
    "recipe_ensembles": means_of_four,
    "recipe_study": study,
    "recipe_settings": settings,
    "recipe_wider": wider,
    "recipe_in_fits": in_fits,
    "recipe_ablation": ablation,
    "recipe_search": search,
    "grand_search": grand_search,
}
