"""From the dataclasses of `graphmix.results` to the values that a JSON file holds."""

import json
from dataclasses import is_dataclass
from typing import Any, cast

from graphmix.results.schema import ABSENT, Flat, Part, Prefixed, Rest, parts

_PLAIN = frozenset((bool, int, float, str, type(None)))


def to_json(value: Any) -> Any:
    """Turn a result into dicts, lists, numbers and texts, by the rules of `graphmix.results.schema`.

    Example:
        >>> from graphmix.results.record import Quoted
        >>> to_json(Quoted(83.94, 0.57))
        {'mean': 83.94, 'std': 0.57, 'n': None}
    """
    if type(value) in _PLAIN:
        return value
    if is_dataclass(value) and not isinstance(value, type):
        return _write(value, "")
    if isinstance(value, tuple | list):
        # Most values of a record are numbers in long lists: no call for each of them.
        return [item if type(item) in _PLAIN else to_json(item) for item in value]
    if isinstance(value, dict):
        return {name: to_json(item) for name, item in value.items()}
    return value


def one_line(value: Any) -> str:
    """Return a result as one line of JSON."""
    return json.dumps(to_json(value), separators=(",", ":"), allow_nan=False, ensure_ascii=False)


def _write(value: Any, prefix: str) -> dict[str, Any]:
    written: dict[str, Any] = {}
    for part in parts(cast(Any, type(value))):
        written |= _entries(part, getattr(value, part.name), prefix)
    return written


def _entries(part: Part, held: Any, prefix: str) -> dict[str, Any]:
    if held is ABSENT or (held is None and (part.left_out or part.place)):
        return {}
    if isinstance(part.place, Flat):
        return _write(held, prefix)
    if isinstance(part.place, Prefixed):
        return _write(held, prefix + part.key)
    if isinstance(part.place, Rest):
        return dict(to_json(held))
    return {prefix + part.key: to_json(held)}
