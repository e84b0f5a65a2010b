"""The pages of docs/results/: an overview, and one for each table or figure of the paper."""

from claims_page import NAME as CLAIMS
from claims_page import page as claims_page
from graphmix.results.record import Record
from graphmix.results.wording import tally
from graphmix.text import counted
from results_page import KINDS, MISSING, read_records

# A number and its spread stay on one line.
SPREAD = "\u00a0±\u00a0"
BACK = "[All results, and what a verdict says](index.md)"
WRITTEN = "<!-- Written by benchmarks/tables.py from the files in results/; do not edit. -->\n"
HEAD = f"""{WRITTEN}# Results

We trained every table and figure of the paper again. Each table shows our number, the paper's, the difference and a
verdict. Click a column's name to sort a table, and use the menus above it to filter it. A *cell* is one number: a
method on a dataset, under one [reading](../concepts/readings.md). [The leaderboard](../leaderboard.md) compares all
methods of this library, the paper's and others. [The paper's claims](claims.md) have verdicts of their own.
"""
RULE = """## What a verdict says
A cell's verdict comes from Welch's test of our trials against the paper's mean, standard deviation and number of
trials, and from the size of the difference.

| verdict | when |
|---|---|
| *higher*, *lower* | The difference is significant at the 5 % level and above half a point. |
| *reproduced* | The difference is significant but at most half a point. Or it is not significant, and its 95 % \
interval reaches no further than the paper's standard deviation, or half a point if that is more. |
| *undecided* | There are too few trials to tell. |

If trials share splits, the means of the splits are compared. Each difference is followed by its 95 % interval. A cell
that is in two tables is counted once. [What did not reproduce](../reproduction.md) discusses the cells that are not
reproduced.

## What was chosen by looking
Every trial counts, and neither epochs nor hyperparameters were chosen by test accuracy. In three places the paper does
not say what it did, and we took the option whose test numbers came nearest to the paper's. A verdict there is weaker
evidence:

- [Table 2](random-splits.md): the random splits have 20 training nodes of each class (`balanced`), because with them
  GraphMix gains about as much on Cora as in the paper
  ([why](../reproduction.md#random-splits-20-labels-of-each-class)).
- [Table 4](links.md): the paper's F1 of links is taken as macro F1 ([why](../design/0009-links-as-nodes.md)).
- [Comparison with other methods](state-of-the-art.md): "FCN (self-training)" trains the FCN and predicts with the GNN
  ([why](../design/0011-methods-beside-graphmix.md)).

<a href="../report.html">report.html</a> shows the same on an interactive page, with training curves, hidden states,
confusion matrices and calibration. `graphmix reproduce SPEC` trains a table or figure again.
"""


def pages() -> dict[str, str]:
    """The overview and a page for each table or figure, by file name."""
    records = read_records()
    written = {"index": overview(records), CLAIMS: f"{claims_page(WRITTEN)}\n{BACK}"}
    for record in records:
        text = f"{WRITTEN}# {record.title}\n\n*{record.source}.* {record.about}\n\n"
        written[record.name] = f"{text}{KINDS[record.kind](record)}\n{BACK}"
    return {f"{name}.md": text.rstrip().replace(" ± ", SPREAD) + "\n" for name, text in written.items()}


def overview(records: list[Record]) -> str:
    """The tally of every table, the rule of the verdicts, and the choices."""
    lines = ["| table or figure | in the paper | what came out |", "|---|---|---|"]
    lines += [f"| [{record.title}]({record.name}.md) | {record.source} | {came_out(record)} |" for record in records]
    listed = "\n".join([*(record.name for record in records), CLAIMS])
    lines += ["", f"In all {tally(records)}.", "", f"```{{toctree}}\n:hidden:\n\n{listed}\n```", ""]
    return "\n".join([HEAD, *lines, RULE])


def came_out(record: Record) -> str:
    """The tally of a table; of a figure, how many of its cells were run."""
    missing = sum(cell.status in MISSING for cell in record.cells)
    done = sum(cell.status == "done" for cell in record.cells)
    judged = any(cell.verdict for cell in record.cells)
    counts = tally([record]) if judged else f"{counted(done, 'cell')}, without a verdict"
    return f"{counts}; {missing} not run" if missing else counts
