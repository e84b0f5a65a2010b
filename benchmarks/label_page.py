"""docs/label-rates.md, written whole: accuracy against the number of labels, where there are very few."""

from graphmix.results.wording import spread_of
from label_rows import CLASSES, PANELS, RIVAL, SHARES, Point, beaten, in_panel, read_points
from results_page import commit_of, images

# A number and its spread stay on one line.
SPREAD = "\u00a0±\u00a0"
NONE = "–"
HEAD = f"""<!-- Written by benchmarks/tables.py from the files in results/; do not edit. -->
# Very few labels

How accurate methods are with a handful of labels. Every trial has its own random split. Hyperparameters are the
defaults of `graphmix train`, which follow the authors' settings on the public splits. Only self-training and GraphMix
have γ = 1 everywhere, and GraphMix as published has α = 0.1, as in the paper's appendix on fewer labels. GraphMix +
GRAND has the settings of its [first search](design/0024-recipe.md#the-searches), with 20 labels a class of the public
splits, and general ones on Amazon-Photo. The settings of GPR-GNN (self-training) were chosen by validation accuracy
with 0.5 % of the labels of Cora and Citeseer, and are the same everywhere, except that with shares of Citeseer's labels
each share has its own hops and alignment, chosen in a second search, on validation nodes of other splits
([how](design/0025-few-labels.md)). Nothing was chosen by test accuracy.

Splits are drawn in three ways:
- *A share of the labels*: by the rule of {RIVAL} (Lee et al., 2022). All classes have a label; a tenth of the other
  nodes chooses the epoch. {RIVAL}'s published numbers are quoted. Its splits were drawn by the same rule, but are not
  ours.
- *500 validation nodes*: so many labels of each class; 500 other nodes choose the epoch. These are far more labels than
  are trained on, so read it as an upper limit.
- *No validation nodes*: the same training nodes. Every method trains for its usual number of epochs, and the weights of
  the last epoch count.

[How splits are drawn](howto/splits.md) has the rules, and [the design note](design/0025-few-labels.md) the reasons.
"""


def page(found: list[Point] | None = None) -> str:
    """The page as Markdown."""
    found = read_points() if found is None else found
    parts = [HEAD]
    for dataset in dict.fromkeys(point.dataset for point in found):
        parts += [f"## {dataset}\n", picture(dataset)]
        for panel, title in PANELS.items():
            here = in_panel(found, dataset, panel)
            parts += [f"**{title[0].upper()}{title[1:]}**, test accuracy in percent:\n", table(here)] if here else []
    parts += [f"## Against {RIVAL}\n", against(found), "## Where the numbers come from\n", origin(found)]
    return "\n".join(parts).rstrip().replace(" ± ", SPREAD) + "\n"


def picture(dataset: str) -> str:
    """The picture of a dataset, for both themes."""
    return "\n".join(images("labels", dataset, f"Accuracy on {dataset} against the number of labels"))


def table(here: list[Point]) -> str:
    """One row for each method, one column for each number of labels; the best of ours is bold."""
    heads = list(dict.fromkeys((point.labels, point.amount) for point in here))
    by = {(point.row, point.labels): point for point in here}
    best = {labels: max((_own(point) for point in here if point.labels == labels), default=0.0) for labels, _ in heads}
    lines = ["| method | " + " | ".join(f"{labels} labels ({amount})" for labels, amount in heads) + " |"]
    lines.append("|---" * (1 + len(heads)) + "|")
    for row in dict.fromkeys(point.row for point in here):
        shown = [number(by[row, labels], best[labels]) for labels, _ in heads]
        lines.append(f"| {row}{' (quoted)' * (row == RIVAL)} | {' | '.join(shown)} |")
    return "\n".join(lines) + "\n"


def number(point: Point, best: float) -> str:
    """A mean and its spread, bold where it is the best of ours."""
    if point.mean is None:
        return NONE
    if point.row == RIVAL:
        return f"{point.mean:.2f}"
    text = spread_of(point.result.run, "test_accuracy")
    return f"**{text}**" if point.mean == best else text


def against(found: list[Point]) -> str:
    """In how many places each method is above the quoted numbers."""
    places = sum(point.row == RIVAL for point in found)
    counts = beaten(found)
    lines = [f"How many of its {places} numbers a method is above, of those that were run:", ""]
    lines += ["| method | above | run |", "|---|---|---|"]
    for row in dict.fromkeys(point.row for point in found if point.row != RIVAL):
        above, both = counts.get(row, (0, 0))
        lines.append(f"| {row} | {above if both else NONE} | {both} |")
    return "\n".join(lines) + "\n"


def origin(found: list[Point]) -> str:
    """How much was run, on what, and the commands."""
    own = [point for point in found if point.row != RIVAL]
    done = [point.result for point in own if point.mean is not None]
    made: dict[str, dict[str, None]] = {}
    for cell in done:
        where = f"{cell.run.device}, torch {cell.run.versions['torch']}"
        made.setdefault(where, {})[commit_of(cell.outcome.commit)] = None
    shown = "".join(f" {where}, {', '.join(commits)}." for where, commits in made.items())
    trials = sorted({cell.run.trials for cell in done})
    many = f" {' or '.join(map(str, trials))} trials each." if trials else ""
    commands = " and ".join(f"`graphmix reproduce {name}`" for name in (SHARES, CLASSES))
    return f"{len(done)} of {len(own)} cells were run; {NONE} means not run yet.{many}{shown} {commands}.\n"


def _own(point: Point) -> float:
    return point.mean if point.row != RIVAL and point.mean is not None else 0.0
