"""docs/leaderboard.md, written whole: every method on every dataset and kind of split, best first."""

from collections.abc import Iterable

from graphmix.results.wording import spread, spread_of
from graphmix.text import signed
from leaderboard_rows import SPLITS, TRIALS, Place, best_first, read_places
from results_page import commit_of, images, trials, verdict

# A number and its spread stay on one line.
SPREAD = "\u00a0±\u00a0"
NONE = "–"
INCOMPARABLE, SCALED = "†", "≈"
HEAD = f"""<!-- Written by benchmarks/tables.py from the files in results/; do not edit. -->
# Leaderboard

Every method and network of this library on Cora, Citeseer and Pubmed, all trained the same way: {TRIALS} trials, each
with its own seed, and the test accuracy at the epoch with the best validation accuracy. Slow methods have fewer trials;
[every cell](#every-cell) says how many. Each method has its defaults of `graphmix train`, which follow the settings
that its authors published; those of GraphMix + GRAND [were searched for](design/0024-recipe.md) on the public splits,
by validation accuracy. *Public* is the one split that most papers use. *Random* is ten random splits of the same size,
with 20 training nodes of each class; the trials use them in turn. Some of their test nodes are training or validation
nodes of the public split, for which all these settings were found.
"""
GLANCE = f"""## At a glance
Mean test accuracy in percent, sorted by the first column. The best of each column is bold; {NONE} means not run yet.
"""
PICTURES = """## Accuracy against time
Further left is faster, higher is more accurate. The line joins the methods that no other method beats in both. Round
dots ran on an H200, square ones on a CPU. Hollow dots were timed with older code, or beside other programs; their times
cannot be compared with the others', so the line leaves them out. Where there is no room, names are left out, too; the
table below has them all.
"""
EVERY = f"""## Every cell
Test accuracy in percent, mean ± standard deviation over the trials, and the seconds that {TRIALS} trials took together
on the device: {SCALED} where they were computed from another number of trials, {INCOMPARABLE} where they cannot be
compared with the others, because they were measured with older code, or beside other programs on the same
machine. Next to ours is the number that the GraphMix paper reports or quotes, if it has one;
[Results](results/index.md#what-a-verdict-says) says what a verdict means. Click a column's name to sort.
"""
WAITING = f"""## Not run yet
Cells that were not run yet although the paper has a number for them; {NONE} where it has none, or where ours was run.
"""
COLUMNS = (
    "method",
    "dataset",
    "split",
    "ours (%)",
    "trials",
    "seconds",
    "device",
    "paper (%)",
    "difference",
    "verdict",
)


def page(found: list[Place] | None = None) -> str:
    """The page as Markdown."""
    found = read_places() if found is None else found
    parts = [HEAD, GLANCE, glance(found), PICTURES, pictures(found), EVERY, every(found), origin(found)]
    waiting = any(place.mean is None and place.result.paper is not None for place in found)
    parts += [WAITING, missing(found)] if waiting else []
    return "\n".join(parts).rstrip().replace(" ± ", SPREAD) + "\n"


def glance(found: list[Place]) -> str:
    """One row for each method, one column for each dataset and kind of split."""
    by = {(place.result.row, place.split, place.result.column): place for place in found}
    heads = [(split, dataset) for split in SPLITS.values() for dataset in datasets(found)]
    first = best_first(place for place in found if (place.split, place.result.column) == heads[0])
    best = {head: best_first(by[place.result.row, *head] for place in first)[0] for head in heads}
    lines = ["| method | " + " | ".join(f"{dataset}, {split}" for split, dataset in heads) + " |"]
    lines.append("|---" * (1 + len(heads)) + "|")
    for row in [place.result.row for place in first]:
        shown = [short(by[row, *head], best[head]) for head in heads]
        lines.append(f"| {row} | {' | '.join(shown)} |")
    return "\n".join(lines) + "\n"


def short(place: Place, best: Place) -> str:
    """A mean, bold where it is the best."""
    if place.mean is None:
        return NONE
    return f"**{place.mean:.1f}**" if place.mean == best.mean else f"{place.mean:.1f}"


def pictures(found: list[Place]) -> str:
    """The picture of every dataset, for both themes."""
    drawn = []
    for dataset in datasets(found):
        drawn.append(f"### {dataset}\n")
        alt = f"Accuracy of every method on {dataset} against the seconds that {TRIALS} trials take"
        drawn += images("leaderboard", dataset, alt)
    return "\n".join(drawn)


def every(found: list[Place]) -> str:
    """A row for each cell that was run: by dataset and kind of split, the best first."""
    lines = [f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|"]
    for dataset in datasets(found):
        for split in SPLITS.values():
            here = (place for place in found if (place.result.column, place.split) == (dataset, split))
            lines += [line(place) for place in best_first(here) if place.mean is not None]
    return "\n".join(lines) + "\n"


def line(place: Place) -> str:
    """A cell that was run."""
    cell = place.result
    shown = [cell.row, cell.column, place.split, spread_of(cell.run, "test_accuracy"), trials(cell), timed(place)]
    shown += [device(place), paper(place)]
    shown += [NONE, NONE] if cell.verdict is None else [signed(cell.verdict.difference), verdict(cell)]
    return f"| {' | '.join(shown)} |"


def timed(place: Place) -> str:
    """The seconds of a cell, and how far to trust them."""
    if place.seconds is None:
        return NONE
    number = f"{place.seconds:.1f}" if place.seconds < TRIALS else f"{place.seconds:,.0f}"
    return f"{SCALED} " * place.scaled + number + f" {INCOMPARABLE}" * place.incomparable


def device(place: Place) -> str:
    """What a cell was trained on."""
    name = place.result.run.device or NONE
    return name.removeprefix("cuda (").removesuffix(")")


def paper(place: Place) -> str:
    """The paper's number."""
    number = place.result.paper
    return NONE if number is None else spread(number.mean, number.std)


def origin(found: list[Place]) -> str:
    """The commits, and the commands that train the leaderboard."""
    made: dict[str, dict[str, None]] = {}
    for cell in [place.result for place in found if place.mean is not None]:
        where = f"{cell.run.device}, torch {cell.run.versions['torch']}"
        made.setdefault(where, {})[commit_of(cell.outcome.commit)] = None
    done = sum(place.mean is not None for place in found)
    shown = "; ".join(f"{where}, {', '.join(commits)}" for where, commits in made.items())
    commands = " and ".join(f"`graphmix reproduce {name}`" for name in SPLITS)
    return f"{done} of {len(found)} cells were run. {shown}. {commands}.\n"


def missing(found: list[Place]) -> str:
    """The paper's numbers of cells that were not run, a row for each method and kind of split."""
    rows: dict[tuple[str, str], dict[str, str]] = {}
    for place in found:
        if place.mean is None and place.result.paper is not None:
            rows.setdefault((place.result.row, place.split), {})[place.result.column] = paper(place)
    heads = datasets(found)
    lines = [f"| method | split | {' | '.join(f'{head}, paper (%)' for head in heads)} |"]
    lines.append("|---" * (2 + len(heads)) + "|")
    for (row, split), numbers in rows.items():
        lines.append(f"| {row} | {split} | {' | '.join(numbers.get(head, NONE) for head in heads)} |")
    return "\n".join(lines) + "\n"


def datasets(found: Iterable[Place]) -> list[str]:
    """The datasets, in order."""
    return list(dict.fromkeys(place.result.column for place in found))
