"""Checks of single JSON values."""

from collections.abc import Collection
from typing import Any

from graphmix.results.schema import Range

# Beyond this a float no longer holds every whole number, and nothing we write comes near.
LARGEST = 2**53

# The JSON objects around a value, the innermost first: what `Length` and `Range` refer to.
Scope = tuple[dict[str, Any], ...]


class InvalidError(Exception):
    """What is wrong with a value; `place` is filled in on the way out, the innermost part last."""

    def __init__(self, problem: str, *place: str):
        super().__init__(problem)
        self.problem, self.place = problem, list(place)


def text(raw: Any, scope: Scope) -> str:
    """A text."""
    if not isinstance(raw, str):
        raise InvalidError("is not a text")
    return raw


def truth(raw: Any, scope: Scope) -> bool:
    """True or false."""
    if not isinstance(raw, bool):
        raise InvalidError("is neither true nor false")
    return raw


def number(raw: Any, scope: Scope = ()) -> float:
    """A finite number of a sensible size."""
    if not isinstance(raw, int | float) or isinstance(raw, bool):
        raise InvalidError("is not a number")
    if not abs(raw) <= LARGEST:
        raise InvalidError("is not a finite number of a sensible size")
    return raw


def whole(raw: Any, least: int | None, below: int | None) -> int:
    """A whole number, at least `least` and below `below`."""
    found = number(raw)
    if found != int(found):
        raise InvalidError("is not a whole number")
    if (least is not None and found < least) or (below is not None and found >= below):
        raise InvalidError(f"is {int(found)}, which is out of range")
    return int(found)


def word(raw: Any, words: Collection[str]) -> str:
    """One of some words."""
    if not isinstance(raw, str):
        raise InvalidError("is not a text")
    if raw not in words:
        raise InvalidError(f"is {raw[:40]!r}, not one of {', '.join(words)}")
    return raw


def check_object(raw: Any) -> None:
    """Raise unless a value is an object with named fields."""
    if not isinstance(raw, dict):
        raise InvalidError("is not an object with named fields")


def limit(limits: Range, scope: Scope) -> int | None:
    """What a whole number must be below; None for no limit."""
    return size(limits.below, scope) if isinstance(limits.below, str) else limits.below


def size(name: str, scope: Scope) -> int | None:
    """How long the list of a field is, or its number; None where the field is invalid, which its own reader says."""
    first, *inner = name.split(".")
    for raw in scope:
        if first in raw:
            value = raw[first]
            for part in inner:
                value = value.get(part) if isinstance(value, dict) else None
            if isinstance(value, list):
                return len(value)
            return int(value) if isinstance(value, int | float) and abs(value) <= LARGEST else None
    return None
