"""What the page shows, as JSON values: nodes, lists, the state of the session. All text is plain text."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np

from graphmix.errors import DataError
from graphmix.labeling.answers import LABEL, SKIP, UNSURE, Answer
from graphmix.labeling.round import Ask, Round
from graphmix.labeling.session import Session

NEIGHBOURS = 12
GUESSES = 5
PAGE = 50
LONGEST_SEARCH = 200
ORDERS = ("unsure", "sure", "table")
STATES = ("all", "unlabeled", "labeled", "mine", "unsure", "skipped")
_P = ParamSpec("_P")
_R = TypeVar("_R")


def _at_one_moment(read: Callable[Concatenate[Session, _P], _R]) -> Callable[Concatenate[Session, _P], _R]:
    """Let nothing change in a session while something is read from it: requests come in several threads."""

    @wraps(read)
    def reading(session: Session, /, *arguments: _P.args, **options: _P.kwargs) -> _R:
        with session.guard:
            return read(session, *arguments, **options)

    return reading


@_at_one_moment
def state(session: Session) -> dict[str, Any]:
    """Return the state of a session: counts, classes, rounds, what goes on."""
    answers = session.answers
    counts, last = answers.counts(), answers.last
    acts = [each.act for each in {each.node: each for each in answers.standing}.values()]
    begun = session.matter.begun
    return {
        "title": session.matter.problem.graph.name,
        "label": session.matter.label,
        "id": next(iter(session.matter.problem.id_columns)),
        "classes": session.classes,
        "nodes": len(answers.given),
        "labeled": sum(counts.values()),
        "mine": acts.count(LABEL),
        "unsure": acts.count(UNSURE),
        "skipped": acts.count(SKIP),
        "counts": counts,
        "answers": len(answers.standing),
        "last": None if last is None else said(last),
        "suspects": len(session.suspects()),
        "target": 100 * begun.target_accuracy,
        "every": session.every,
        "step": session.step,
        "trouble": session.trouble or session.unwritten,
        "rounds": [_round(each) for each in session.rounds],
        "map": session.map is not None,
        "table": session.table_path.name,
    }


def said(answer: Answer) -> dict[str, Any]:
    """Return an answer."""
    return {"act": answer.act, "id": answer.node, "label": answer.label}


def _round(made: Round) -> dict[str, Any]:
    # What is asked comes node by node.
    return {name: value for name, value in vars(made).items() if name not in ("queue", "suspects", "classes")}


@_at_one_moment
def card(session: Session, node: int, ask: Ask | None = None) -> dict[str, Any]:
    """Return all that the page shows of a node.

    Raises:
        DataError: there is no such node.
    """
    problem = session.matter.problem
    session.id_of(node)  # checks it
    columns, more = session.cells.of(node)
    beside = problem.graph.structure.neighbours_of(node).tolist()
    return {
        **line(session, node),
        "columns": columns,
        "more_columns": more,
        "has_table": session.matter.table is not None,
        "neighbours": [line(session, each) for each in _first_labeled(session, beside)[:NEIGHBOURS]],
        "neighbour_count": len(beside),
        "guesses": _guesses(session, node),
        "reason": None if ask is None else ask.reason,
        "suggested": None if ask is None else ask.suggested,
    }


def line(session: Session, node: int) -> dict[str, Any]:
    """Return a node in short: its names, its label, what is predicted."""
    name = session.matter.problem.ids[node]
    said = session.answers.of(name)
    guesses = _guesses(session, node)
    return {
        "node": node,
        "id": name,
        "title": session.cells.title_of(node),
        "label": session.answers.label_of(name),
        "said": None if said is None else said.act,
        "predicted": guesses[0][0] if guesses else None,
        "confidence": guesses[0][1] if guesses else None,
    }


def _first_labeled(session: Session, nodes: list[int]) -> list[int]:
    ids = session.matter.problem.ids
    return sorted(nodes, key=lambda node: session.answers.label_of(ids[node]) is None)


def _guesses(session: Session, node: int) -> list[list[Any]]:
    """Return the most probable classes with their probabilities; none before there is a model."""
    view = session.view
    if view is None or session.rounds[-1].needs is not None:
        return []
    row = view.probabilities[node]
    order = np.argsort(-row, kind="stable")[:GUESSES]
    return [[view.classes[place], round(float(row[place]), 4)] for place in order]


def find(session: Session, text: str) -> dict[str, Any]:
    """Search ids first, the same id before others, then all cells.

    Raises:
        DataError: the text is too long.
    """
    if len(text) > LONGEST_SEARCH:
        raise DataError(f"search for at most {LONGEST_SEARCH} characters")
    wanted = text.strip()
    if not wanted:
        return {"total": 0, "lines": []}
    lower = wanted.lower()
    ids = session.matter.problem.ids
    same = [session.number[wanted]] if wanted in session.number else []
    within = [node for node, name in enumerate(ids) if lower in name.lower()]
    found = list(dict.fromkeys([*same, *within, *session.cells.find(wanted)]))
    with session.guard:
        return {"total": len(found), "lines": [line(session, node) for node in found[:PAGE]]}


@_at_one_moment
def listed(session: Session, order: str, which: str, predicted: str, page: int) -> dict[str, Any]:
    """List nodes by confidence.

    Args:
        session: the session.
        order: "unsure" or "sure" first, or as in the "table".
        which: one of `STATES`.
        predicted: only those predicted to be of this class; all if empty.
        page: from 0.

    Raises:
        DataError: an argument is invalid.
    """
    if order not in ORDERS or which not in STATES or page < 0:
        raise DataError("there is no such list")
    kept = np.array([_is(session, name, which) for name in session.matter.problem.ids], dtype=np.bool_)
    view = session.view if session.rounds and session.rounds[-1].needs is None else None
    if predicted and view is not None:
        chosen = view.classes.index(predicted) if predicted in view.classes else -1
        kept &= view.probabilities.argmax(axis=1) == chosen
    nodes = np.flatnonzero(kept)
    if view is not None and order != "table":
        sureness = view.probabilities.max(axis=1)[nodes]
        nodes = nodes[np.argsort(sureness if order == "unsure" else -sureness, kind="stable")]
    shown = nodes[page * PAGE : (page + 1) * PAGE].tolist()
    return {
        "total": len(nodes),
        "page": page,
        "pages": -(-len(nodes) // PAGE),
        "lines": [line(session, n) for n in shown],
    }


def _is(session: Session, name: str, which: str) -> bool:
    if which == "all":
        return True
    label, said = session.answers.label_of(name), session.answers.of(name)
    act = None if said is None else said.act
    return {
        "unlabeled": label is None,
        "labeled": label is not None,
        "mine": act == LABEL,
        "unsure": act == UNSURE,
        "skipped": act == SKIP,
    }[which]


@_at_one_moment
def drawn(session: Session) -> dict[str, Any]:
    """Return the map: places, with what is known of each node; without places until it is drawn."""
    if session.map is None:
        return {"points": None}
    nodes, places = session.map
    classes = session.classes
    number = {name: place for place, name in enumerate(classes)}
    lines = (line(session, node) for node in nodes)
    points = [
        # Node, place, class by its number, whether that is a label, and the name to show.
        [
            each["node"],
            *place,
            number.get(each["label"] or each["predicted"], -1),
            each["label"] is not None,
            _named(each),
        ]
        for each, place in zip(lines, places, strict=True)
    ]
    return {"points": points, "of": len(session.matter.problem.ids), "classes": classes}


def _named(line_: dict[str, Any]) -> str:
    return f"{line_['id']} {line_['title']}".strip()
