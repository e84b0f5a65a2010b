"""The page of explanations: for each prediction the reasons in words, then as tables, then as a picture."""

import math
from pathlib import Path
from typing import Any

from graphmix.errors import RunError
from graphmix.files import write_whole
from graphmix.report.page import environment, own_text, policy
from graphmix.text import counted, name_for_screen
from graphmix.workflow.explanation import Explanation, Neighbour, percent, points
from graphmix.workflow.explanations import Explanations

# The picture: its middle, how far from it the rings of neighbours are, and the widest line.
_MIDDLE, _RINGS, _WIDEST = (320.0, 170.0), {1: (150.0, 90.0), 2: (265.0, 145.0)}, 7.0
_LONGEST_NAME = 18


def write_explanations(explanations: Explanations, path: Path) -> None:
    """Write the page whole or not at all.

    Raises:
        RunError: it cannot be written, or jinja2 is not installed.
    """
    page = render_explanations(explanations)
    try:
        write_whole(path, page.encode("utf-8", "replace"))
    except OSError as error:
        raise RunError(f"{path} cannot be written: {error.strerror}") from error


def render_explanations(explanations: Explanations) -> str:
    """Make the page; it needs no network, and draws without scripts.

    Raises:
        RunError: jinja2 is not installed.
    """
    theme, script = own_text("theme.js"), own_text("explained.js")
    return str(
        environment()
        .get_template("explained.html.j2")
        .render(
            title=f"Reasons for predictions of {explanations.title}",
            headline=f"{counted(len(explanations), 'prediction')}, explained by leaving things out.",
            policy=policy([theme, script]),
            style=own_text("style.css") + own_text("explained.css"),
            theme=theme,
            script=script,
            rows=[_section(each, place) for place, each in enumerate(explanations)],
        )
    )


def _section(each: Explanation, place: int) -> dict[str, Any]:
    effects = [abs(one.effect) for one in each.neighbours]
    largest = max([*effects, *(abs(cell.effect) for cell in each.cells)], default=0.0)
    return {
        "id": f"reason-{place}",
        "each": each,
        "share": percent(each.probability),
        "steps": [(_capital(step.name), percent(step.probability), 100 * step.probability) for step in each.steps],
        "neighbours": [(one, points(one.effect), _bar(one.effect, largest)) for one in each.neighbours],
        "cells": [(cell, *(_effect(value, largest) for value in (cell.own, cell.around))) for cell in each.cells],
        "labels": [(one, percent(one.share)) for one in each.labels],
        "flips": [(one, percent(one.probability)) for one in each.flips],
        "picture": _picture(each),
    }


def _effect(value: float | None, largest: float) -> tuple[str, dict[str, Any]]:
    return ("–", _bar(0.0, largest)) if value is None else (points(value), _bar(value, largest))


def _bar(effect: float, largest: float) -> dict[str, Any]:
    """Return the half of a bar from the middle that an effect fills, in percent, and its side."""
    width = round(50 * abs(effect) / largest, 2) if largest else 0.0
    return {"width": width, "side": "for" if effect >= 0 else "against"}


def _picture(each: Explanation) -> dict[str, Any]:
    """Lay out the node and its neighbours: lines from the middle, as wide as the effect."""
    largest = max((abs(one.effect) for one in each.neighbours), default=0.0) or 1.0
    lines = []
    for hops in (1, 2):
        ring = [one for one in each.neighbours if one.hops == hops]
        for place, one in enumerate(ring):
            lines.append(_line(one, hops, (place + 0.5) / len(ring), largest))
    return {"middle": _MIDDLE, "lines": lines, "name": _clip(each.name)}


def _line(one: Neighbour, hops: int, turn: float, largest: float) -> dict[str, Any]:
    # The two rings begin at other angles, so that names stay apart.
    angle = 2 * math.pi * turn + (0.0 if hops == 1 else 0.35)
    across, down = _RINGS[hops]
    return {
        "x": round(_MIDDLE[0] + across * math.cos(angle), 1),
        "y": round(_MIDDLE[1] + down * math.sin(angle), 1),
        "width": round(1 + (_WIDEST - 1) * abs(one.effect) / largest, 2),
        "side": "for" if one.effect >= 0 else "against",
        "hops": hops,
        "labeled": one.label is not None,
        "name": _clip(one.name),
        "title": f"{one.name}: {one.label or one.predicted}, {points(one.effect)}",
    }


def _clip(name: str) -> str:
    shown = name_for_screen(name)
    return shown if len(shown) <= _LONGEST_NAME else f"{shown[: _LONGEST_NAME - 1]}…"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
