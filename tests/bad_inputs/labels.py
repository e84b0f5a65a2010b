"""Labeling: answers and tables that were tampered with, and beginnings that must be refused; no page is served."""

from random import Random

from bad_inputs import stock
from bad_inputs.case import REFUSED, Case, Place
from bad_inputs.damage import damaged_bytes
from bad_inputs.stock import NODES
from bad_inputs.stored import tamper
from bad_inputs.words import NAMES, odd_text
from graphmix.labeling.begin import begin_with_tables, store
from graphmix.labeling.log import AnswerLog
from graphmix.storage.folders import LABELS
from graphmix.workflow.columns import Columns

# What no beginning succeeds with: it would serve the page until it is interrupted.
_WRONG: tuple[tuple[str, ...], ...] = (
    ("--port", "99999"),
    ("--port", "-1"),
    ("--every", "0"),
    ("--time-limit", "soon"),
    ("--target-accuracy", "nan"),
    ("--limit", "rows=3"),
    ("--limit", "cell=1"),
    ("--encoding", "utf-16"),
    ("--classes", "NA"),
    ("--classes", "\x1b[31m"),
    ("--id", "nothing"),
    ("--feature", "nothing"),
    ("--edges", "nodes.csv"),
    ("--nodes", "."),
    ("--write", "table.csv"),
)


def labels(place: Place) -> Case:
    """Write the labeled table after something was changed, or begin with something that must be refused."""
    stock.copy(place.stock, place.work, "nodes.csv", "edges.csv")
    return _changed(place) if place.rng.random() < 0.7 else _refused(place)


def _changed(place: Place) -> Case:
    rng, folder = place.rng, place.work / "out"
    tables, told = (place.work / "nodes.csv", place.work / "edges.csv"), {"target_accuracy": 0.9, "coverage": 0.9}
    (folder / LABELS).mkdir(parents=True)
    store(folder, begin_with_tables(*tables, Columns(label="topic"), ("AI",), ignore_unknown=False, **told))
    _answer(rng, AnswerLog(folder / LABELS / "answers.jsonl"))
    if rng.random() < 0.2:
        path = rng.choice(tables)
        how, content = damaged_bytes(rng, path.read_bytes())
        path.write_bytes(content)
        what = f"{path.name}: {how}"
    else:
        what = tamper(place, folder)
    return Case(what=what, arguments=("label", "out", "--write", "table.csv"), writes=("table.csv",))


def _answer(rng: Random, log: AnswerLog) -> None:
    for _ in range(rng.randint(0, 4)):
        node = f"p{rng.randrange(26)}"
        log.append({"act": rng.choice(["label", "skip", "unsure"]), "node": node, "label": odd_text(rng)})
    log.close()


def _refused(place: Place) -> Case:
    wrong = place.rng.choice((*_WRONG, ("--label", place.rng.choice(NAMES).replace("\0", ""))))
    arguments = ("label", *NODES, "--out", "out", "--no-browser", *wrong)
    return Case(what=f"{' '.join(wrong)!a}", arguments=arguments, codes=frozenset({REFUSED}))
