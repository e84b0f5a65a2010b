"""Checks of single JSON values, and of long lists of them at once."""

from collections.abc import Callable
from typing import Any, Literal, get_args, get_origin

from graphmix.results.schema import Range, split_marks

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


def all_valid(kind: Any) -> Callable[[list[Any], Scope], bool] | None:
    """A quick look over a whole list: true where every value is of a kind and needs no change; None for other kinds."""
    inner, marks = split_marks(kind)
    limits = next((mark for mark in marks if isinstance(mark, Range)), None)
    if limits is not None:
        return lambda raw, scope: _all_whole(raw, limits.least, limit(limits, scope))
    if get_origin(inner) is Literal:
        words = frozenset(get_args(inner))
        return lambda raw, scope: all(type(value) is str and value in words for value in raw)
    if inner is float:
        return lambda raw, scope: _all_numbers(raw)
    if inner == float | None:
        return lambda raw, scope: _all_numbers([value for value in raw if value is not None])
    return None


def _all_numbers(raw: list[Any]) -> bool:
    return all(type(value) in (int, float) and -LARGEST <= value <= LARGEST for value in raw)


def _all_whole(raw: list[Any], least: int, below: int | None) -> bool:
    most = LARGEST if below is None else below - 1
    return all(type(value) is int and least <= value <= most for value in raw)
