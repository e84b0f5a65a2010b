"""Values from a JSON file that may be damaged or malicious: each is checked for its type."""

import math
from collections.abc import Mapping
from typing import Any

from graphmix.errors import DataError


def member(value: Any, key: str) -> Any:
    """Return the value at a key.

    Raises:
        DataError: `value` is not a mapping, or the key is missing.
    """
    if not isinstance(value, Mapping) or key not in value:
        raise DataError(f"{key} is missing")
    return value[key]


def text(value: Any, key: str) -> str:
    """Return the string at a key; raises DataError if it is not one."""
    found = member(value, key)
    if not is_text(found):
        raise DataError(f"{key} is not text")
    return str(found)


def boolean(value: Any, key: str) -> bool:
    """Return the boolean at a key; raises DataError if it is not one."""
    found = member(value, key)
    if not isinstance(found, bool):
        raise DataError(f"{key} is not true or false")
    return found


def real(value: Any, key: str) -> float:
    """Return the finite number at a key; raises DataError if it is not one."""
    found = member(value, key)
    if not _is_real(found):
        raise DataError(f"{key} is not a finite number")
    return float(found)


def positive(value: Any, key: str, below: float = math.inf) -> float:
    """Return the number above 0 and below `below` at a key; raises DataError if it is not one."""
    found = real(value, key)
    if not 0 < found < below:
        raise DataError(f"{key} is {found}, not above 0" + (f" and below {below:g}" if math.isfinite(below) else ""))
    return found


def numbers(value: Any, key: str) -> tuple[float, ...]:
    """Return the list of finite numbers at a key; raises DataError if it is not one."""
    found = member(value, key)
    if not isinstance(found, list) or not all(_is_real(item) for item in found):
        raise DataError(f"{key} is not a list of finite numbers")
    return tuple(float(item) for item in found)


def distinct(value: Any, key: str, most: int) -> tuple[str, ...]:
    """Return the list of at most `most` different strings at a key; raises DataError if it is not one."""
    found = member(value, key)
    if not isinstance(found, list) or not all(is_text(item) for item in found):
        raise DataError(f"{key} is not a list of words")
    if len(set(found)) < len(found) or len(found) > most:
        raise DataError(f"{key} repeats a word or has more than {most:,}")
    return tuple(found)


def _is_real(found: Any) -> bool:
    if isinstance(found, bool) or not isinstance(found, int | float):
        return False
    try:
        return math.isfinite(float(found))
    except OverflowError:
        return False


def is_text(found: Any) -> bool:
    """Whether a value is a string that can be encoded."""
    if not isinstance(found, str):
        return False
    try:
        # JSON can hold half of a surrogate pair, which UTF-8 cannot.
        found.encode()
    except UnicodeEncodeError:
        return False
    return True
