"""Values of a JSON file that know where they stand, so that what is wrong with one can be said in a sentence."""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from graphmix.errors import RunError

# Beyond this a float no longer holds every whole number, and nothing we draw comes near.
_LARGEST = 2**53


@dataclass(frozen=True)
class Value:
    """A value, the file it is in, and where: "cells[3].run.test_accuracy"."""

    file: Path
    place: str
    raw: Any

    def refuse(self, problem: str) -> NoReturn:
        """Raise the one sentence: which file, where in it, and what is wrong there."""
        raise RunError(f"{self.file} cannot be drawn: {self.place or 'the file'} {problem}")

    def field(self, name: str) -> "Value":
        """A field that must be there; it may be null."""
        if not isinstance(self.raw, dict):
            self.refuse("is not an object with named fields")
        if name not in self.raw:
            self.refuse(f"has no field '{name}'")
        return Value(self.file, f"{self.place}.{name}" if self.place else name, self.raw[name])

    def maybe(self, name: str) -> "Value | None":
        """A field that may be missing or null."""
        if not isinstance(self.raw, dict):
            self.refuse("is not an object with named fields")
        return None if self.raw.get(name) is None else self.field(name)

    def items(self, length: int | None = None) -> list["Value"]:
        """The values of a list."""
        self._check_length(length)
        return [Value(self.file, f"{self.place}[{place}]", raw) for place, raw in enumerate(self.raw)]

    def entries(self) -> Iterator[tuple[str, "Value"]]:
        """The named values of an object."""
        if not isinstance(self.raw, dict):
            self.refuse("is not an object with named fields")
        return ((name, self.field(name)) for name in self.raw)

    def text(self) -> str:
        """A text."""
        if not isinstance(self.raw, str):
            self.refuse("is not a text")
        return self.raw

    def word(self, words: tuple[str, ...]) -> str:
        """One of a few words."""
        if self.text() not in words:
            self.refuse(f"is {self.raw[:40]!r}, not one of {', '.join(words)}")
        return self.text()

    def truth(self) -> bool:
        """True or false."""
        if not isinstance(self.raw, bool):
            self.refuse("is neither true nor false")
        return self.raw

    def number(self) -> float:
        """A finite number."""
        if not isinstance(self.raw, int | float) or isinstance(self.raw, bool):
            self.refuse("is not a number")
        if not abs(self.raw) <= _LARGEST:  # so written, this refuses what is not a number at all, too
            self.refuse("is not a finite number of a sensible size")
        return self.raw

    def number_or_none(self) -> float | None:
        """A finite number, or null."""
        return None if self.raw is None else self.number()

    def whole(self, least: int = 0, below: int | None = None) -> int:
        """A whole number that is at least `least` and below `below`."""
        number = self.number()
        if number != int(number):
            self.refuse("is not a whole number")
        if number < least or (below is not None and number >= below):
            self.refuse(f"is {int(number)}, which is out of range")
        return int(number)

    def numbers(self, length: int | None = None) -> tuple[float, ...]:
        """A list of finite numbers."""
        self._check_length(length)
        if not all(type(raw) in (int, float) and -_LARGEST <= raw <= _LARGEST for raw in self.raw):
            return tuple(item.number() for item in self.items())  # finds the culprit
        return tuple(self.raw)

    def numbers_or_none(self, length: int | None = None) -> tuple[float | None, ...]:
        """A list of finite numbers and nulls."""
        self._check_length(length)
        Value(self.file, self.place, [raw for raw in self.raw if raw is not None]).numbers()
        return tuple(self.raw)

    def wholes(self, length: int | None = None, *, least: int = 0, below: int | None = None) -> tuple[int, ...]:
        """A list of whole numbers in a range."""
        self._check_length(length)
        most = _LARGEST if below is None else below - 1
        if not all(type(raw) is int and least <= raw <= most for raw in self.raw):
            return tuple(item.whole(least, below) for item in self.items())
        return tuple(self.raw)

    def words(self, words: tuple[str, ...], length: int | None = None) -> tuple[str, ...]:
        """A list of a few words."""
        return tuple(item.word(words) for item in self.items(length))

    def _check_length(self, length: int | None) -> None:
        if not isinstance(self.raw, list):
            self.refuse("is not a list")
        if length is not None and len(self.raw) != length:
            self.refuse(f"has {len(self.raw)} values where {length} are expected")

    def texts(self) -> tuple[str, ...]:
        """A list of texts."""
        return tuple(item.text() for item in self.items())


def load(file: Path) -> Value:
    """Read a JSON file that must hold an object.

    Raises:
        RunError: it is missing, unreadable, half-written or not JSON.
    """
    try:
        raw = json.loads(file.read_bytes().decode(), parse_constant=_refuse_constant, parse_float=_finite)
    except OSError as error:
        raise RunError(f"{file} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise RunError(f"{file} cannot be read: byte {error.start} is not UTF-8 text") from error
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise RunError(f"{file} is damaged or half-written: {where}: {error.msg}") from error
    except (ValueError, RecursionError) as error:  # NaN, a number of 5,000 digits, 5,000 brackets
        raise RunError(f"{file} cannot be read as JSON: {error}") from error
    if not isinstance(raw, dict):
        raise RunError(f"{file} is not a results file of graphmix: it holds no JSON object")
    return Value(file, "", raw)


def check_format(value: Value, newest: int) -> None:
    """Refuse a file of a format that this version does not know yet."""
    version = value.field("format").whole(1)
    if version > newest:
        value.field("format").refuse(
            f"is {version}, written by a newer graphmix; this one reads {newest}, so upgrade it"
        )


def _finite(text: str) -> float:
    # A page's script reads no infinity, not even one among settings that nobody draws.
    if not math.isfinite(number := float(text)):
        raise ValueError(f"it contains {text}, which is too large a number")
    return number


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"it contains {name}")
