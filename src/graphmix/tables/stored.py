"""Plain data read back from a file that may be damaged, or made to do damage: every value checked for its type."""

import math
from collections.abc import Mapping
from typing import Any

from graphmix.errors import DataError


def member(value: Any, key: str) -> Any:
    """Return what a mapping has under a key.

    Raises:
        DataError: it is no mapping, or has nothing there.
    """
    if not isinstance(value, Mapping) or key not in value:
        raise DataError(f"{key} is missing")
    return value[key]


def text(value: Any, key: str) -> str:
    """Return a string."""
    found = member(value, key)
    if not is_text(found):
        raise DataError(f"{key} is not text")
    return str(found)


def boolean(value: Any, key: str) -> bool:
    """Return a truth value."""
    found = member(value, key)
    if not isinstance(found, bool):
        raise DataError(f"{key} is neither true nor false")
    return found


def real(value: Any, key: str) -> float:
    """Return a finite number."""
    found = member(value, key)
    if not _is_real(found):
        raise DataError(f"{key} is not a finite number")
    return float(found)


def numbers(value: Any, key: str) -> tuple[float, ...]:
    """Return finite numbers."""
    found = member(value, key)
    if not isinstance(found, list) or not all(_is_real(item) for item in found):
        raise DataError(f"{key} is not a list of finite numbers")
    return tuple(float(item) for item in found)


def distinct(value: Any, key: str, most: int) -> tuple[str, ...]:
    """Return strings, all different, and not too many."""
    found = member(value, key)
    if not isinstance(found, list) or not all(is_text(item) for item in found):
        raise DataError(f"{key} is not a list of words")
    if len(set(found)) < len(found) or len(found) > most:
        raise DataError(f"{key} has a word twice, or more than {most:,}")
    return tuple(found)


def _is_real(found: Any) -> bool:
    if isinstance(found, bool) or not isinstance(found, int | float):
        return False
    try:
        return math.isfinite(float(found))
    except OverflowError:
        return False


def is_text(found: Any) -> bool:
    """Whether a value is a string that a file can hold."""
    if not isinstance(found, str):
        return False
    try:
        # JSON can spell half a character, which no file can hold.
        found.encode()
    except UnicodeEncodeError:
        return False
    return True
