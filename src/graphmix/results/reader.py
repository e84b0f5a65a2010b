"""From JSON to the dataclasses of `graphmix.results`; one sentence names the file and the place of what is wrong.

A dataclass may have a method `problems` that yields (place, problem) for what its type hints cannot say.
"""

import types
from collections.abc import Callable, Iterator
from dataclasses import is_dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn, TypeVar, Union, cast, get_args, get_origin

from graphmix.errors import RunError
from graphmix.results.checks import (
    InvalidError,
    Scope,
    check_object,
    limit,
    number,
    size,
    text,
    truth,
    whole,
    word,
)
from graphmix.results.json_text import load
from graphmix.results.schema import Absent, Flat, Length, OneOf, Part, Prefixed, Range, Rest, parts, split_marks

T = TypeVar("T")

_Read = Callable[[Any, Scope], Any]


def read_file(cls: type[T], path: Path, newest: int | None = None) -> T:
    """Read a JSON file as an object of a dataclass.

    Args:
        cls: a dataclass of `graphmix.results`.
        path: the file.
        newest: the newest `format` that this version reads; None for a file without one.

    Raises:
        RunError: the file is missing, half-written, of a newer format, or not what the dataclass says.
    """
    raw = load(path)
    if newest is not None:
        _check_format(raw, path, newest)
    return parse(cls, raw, path)


def parse(cls: type[T], raw: Any, path: Path) -> T:
    """Turn a JSON value into an object of a dataclass; `path` is the file to name.

    Raises:
        RunError: the value is not what the dataclass says.
    """
    try:
        read: T = _reader(cast(Any, cls))(raw, ())
    except InvalidError as invalid:
        _refuse(path, "".join(invalid.place), invalid.problem)
    return read


def _check_format(raw: dict[str, Any], path: Path, newest: int) -> None:
    if "format" not in raw:
        _refuse(path, "", "has no field 'format'")
    try:
        version = whole(raw["format"], 1, None)
    except InvalidError as invalid:
        _refuse(path, "format", invalid.problem)
    if version > newest:
        _refuse(path, "format", f"is {version}, written by a newer graphmix; this one reads {newest}, so upgrade it")


def _refuse(path: Path, place: str, problem: str) -> NoReturn:
    raise RunError(f"{path}: {place.removeprefix('.') or 'the file'} {problem}")


@cache
def _reader(hint: Any) -> _Read:
    """The function that reads a value of a type."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _checked(*split_marks(hint))
    if origin in (Union, types.UnionType):
        return _union(inner)
    if origin is tuple:
        # A tuple of a fixed length holds values of one type.
        return _list(inner[0], None if inner[1:] == (...,) else len(inner))
    if origin is dict:
        return _named(inner[1])
    if origin is Literal:
        return lambda raw, scope: word(raw, inner)
    if is_dataclass(hint):
        return _Object(hint)
    return _PLAIN[hint]


def _checked(hint: Any, marks: tuple[Any, ...]) -> _Read:
    for mark in marks:
        if isinstance(mark, Range):
            return lambda raw, scope: whole(raw, mark.least, limit(mark, scope))
        if isinstance(mark, OneOf):
            return lambda raw, scope: word(raw, mark.words)
        if isinstance(mark, Length):
            return _list(get_args(hint)[0], mark.field)
    return _reader(hint)


def _union(kinds: tuple[Any, ...]) -> _Read:
    optional = type(None) in kinds
    readers = [_reader(kind) for kind in kinds if kind is not type(None) and kind is not Absent]

    def read(raw: Any, scope: Scope) -> Any:
        if raw is None and optional:
            return None
        for reader in readers[:-1]:
            try:
                return reader(raw, scope)
            except InvalidError:
                continue
        return readers[-1](raw, scope)

    return read


def _list(kind: Any, length: str | int | None) -> _Read:
    item = _reader(kind)

    def read(raw: Any, scope: Scope) -> tuple[Any, ...]:
        if not isinstance(raw, list):
            raise InvalidError("is not a list")
        expected = size(length, scope) if isinstance(length, str) else length
        if expected is not None and len(raw) != expected:
            raise InvalidError(f"has {len(raw)} values where {expected} are expected")
        return tuple(_each(item, raw, scope))

    return read


def _each(item: _Read, raw: list[Any], scope: Scope) -> Iterator[Any]:
    for place, value in enumerate(raw):
        try:
            yield item(value, scope)
        except InvalidError as invalid:
            invalid.place.insert(0, f"[{place}]")
            raise


def _named(kind: Any) -> _Read:
    item = _reader(kind)

    def read(raw: Any, scope: Scope) -> dict[str, Any]:
        check_object(raw)
        return {name: _at(name, item, value, scope) for name, value in raw.items()}

    return read


def _at(key: str, reader: _Read, raw: Any, scope: Scope) -> Any:
    try:
        return reader(raw, scope)
    except InvalidError as invalid:
        invalid.place.insert(0, f".{key}")
        raise


class _Object:
    """Reads a dataclass."""

    def __init__(self, cls: Any):
        self._cls = cls
        self._parts = [(part, self._part_reader(part)) for part in parts(cls)]
        self._problems = getattr(cls, "problems", None)

    def __call__(self, raw: Any, scope: Scope) -> Any:
        check_object(raw)
        return self.fields(raw, (raw, *scope), "")

    def fields(self, raw: dict[str, Any], scope: Scope, prefix: str) -> Any:
        """The dataclass whose keys stand in an object, each after a prefix."""
        made = self._cls(**{part.name: read(raw, scope, prefix) for part, read in self._parts})
        if self._problems is not None:
            for place, problem in self._problems(made):
                raise InvalidError(problem, f".{place}" if place and not place.startswith("[") else place)
        return made

    def _part_reader(self, part: Part) -> Callable[[dict[str, Any], Scope, str], Any]:
        if isinstance(part.place, Flat | Prefixed):
            return _flat(part)
        if isinstance(part.place, Rest):
            return _rest(part.place, _keys(self._cls))
        reader, takes_none = _reader(part.hint), _takes_none(part.hint)

        def read(raw: dict[str, Any], scope: Scope, prefix: str) -> Any:
            key = prefix + part.key
            if not part.required and (key not in raw or (raw[key] is None and not takes_none)):
                return part.default
            if key not in raw:
                raise InvalidError(f"has no field '{key}'")
            return _at(key, reader, raw[key], scope)

        return read


def _flat(part: Part) -> Callable[[dict[str, Any], Scope, str], Any]:
    cls, own = _held(part)
    inner, optional, keys = _Object(cls), _takes_none(part.hint), [own + key for key in _keys(cls)]

    def read(raw: dict[str, Any], scope: Scope, prefix: str) -> Any:
        if optional and not any(prefix + key in raw for key in keys):
            return None
        return inner.fields(raw, scope, prefix + own)

    return read


def _rest(rest: Rest, taken: tuple[str, ...]) -> Callable[[dict[str, Any], Scope, str], Any]:
    readers = {name: (_reader(hint), _takes_none(hint)) for name, hint in rest.known.items()}

    def read(raw: dict[str, Any], scope: Scope, prefix: str) -> dict[str, Any]:
        for name, (reader, optional) in readers.items():
            if name in raw:
                _at(name, reader, raw[name], scope)
            elif not optional:
                raise InvalidError(f"has no field '{name}'")
        return {name: value for name, value in raw.items() if name not in taken}

    return read


def _keys(cls: type) -> tuple[str, ...]:
    """The keys that a dataclass takes of an object, those of its flat parts included."""
    found: list[str] = []
    for part in parts(cls):
        if isinstance(part.place, Flat | Prefixed):
            inner, own = _held(part)
            found += [own + key for key in _keys(inner)]
        elif part.place is None:
            found.append(part.key)
    return tuple(found)


def _held(part: Part) -> tuple[Any, str]:
    """The dataclass of a flat part, and what stands before each of its keys."""
    (cls,) = (kind for kind in get_args(part.hint) or (part.hint,) if kind is not type(None))
    return cls, part.key if isinstance(part.place, Prefixed) else ""


def _takes_none(hint: Any) -> bool:
    inner, _ = split_marks(hint)
    return inner is Any or type(None) in get_args(inner)


_PLAIN: dict[Any, _Read] = {
    Any: lambda raw, scope: raw,
    str: text,
    bool: truth,
    float: number,
    int: lambda raw, scope: whole(raw, None, None),
}
