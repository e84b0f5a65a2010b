"""How a dataclass stands in a JSON file: `graphmix.results.reader` and `writer` follow the type hints and these marks.

- A field without a default must be in the file. Null is allowed where the type has None.
- A field with a default may be missing or null, and then has its default. It is always written, except a `Maybe`
  that is None and a field that is `ABSENT`.
- Numbers are finite, and no larger than what a float holds exactly.

Example:
    >>> @dataclass(frozen=True)
    ... class Bins:
    ...     count: tuple[Count, ...]
    ...     share: Annotated[tuple[float | None, ...], Length("count")]
    ...     note: Maybe[str] = None
    >>> [part.key for part in parts(Bins)]
    ['count', 'share', 'note']
"""

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from enum import Enum
from functools import cache
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

T = TypeVar("T")


class Absent(Enum):
    """The value of a field that the file does not have, where null would mean something else."""

    ABSENT = "absent"


ABSENT = Absent.ABSENT


@dataclass(frozen=True)
class Key:
    """The field's name in the file, where it cannot be the attribute's."""

    name: str


@dataclass(frozen=True)
class LeftOut:
    """The field is left out of the file when it is None."""


@dataclass(frozen=True)
class Flat:
    """The fields of this dataclass stand among those of the object that holds it; None where none of them is there."""


@dataclass(frozen=True)
class Prefixed:
    """Like `Flat`, with the attribute's name before each of the dataclass's keys."""


@dataclass(frozen=True)
class Rest:
    """A dict of everything in the object that no other field of the dataclass takes.

    Attributes:
        known: types of some keys; those whose type has no None must be there.
    """

    known: Mapping[str, Any]

    def __hash__(self) -> int:
        return hash(tuple(self.known))


@dataclass(frozen=True)
class Length:
    """A list is as long as another field, or as that field's number: of this object or one that holds it; or a.b."""

    field: str


@dataclass(frozen=True)
class Range:
    """A whole number is at least `least`, and below `below`: a number, or a field as for `Length`."""

    least: int
    below: int | str | None = None


@dataclass(frozen=True)
class OneOf:
    """A text is one of these words; `Literal` where the words are not those of a registry."""

    words: tuple[str, ...]


Maybe = Annotated[T | None, LeftOut()]
Count = Annotated[int, Range(0)]
Positive = Annotated[int, Range(1)]
Shares = tuple[float | None, ...]


@dataclass(frozen=True)
class Part:
    """A field of a dataclass as it stands in a file.

    Attributes:
        name: of the attribute.
        key: in the file.
        hint: its type, without the marks below.
        place: the mark that says where it stands: `Flat`, `Prefixed`, `Rest`; None for a key of its own.
        required: whether it must be in the file.
        default: its value where it is not.
        left_out: whether it is left out of the file when it is None.
    """

    name: str
    key: str
    hint: Any
    place: Flat | Prefixed | Rest | None
    required: bool
    default: Any
    left_out: bool


@cache
def parts(cls: type) -> tuple[Part, ...]:
    """The fields of a dataclass, in the order of the file."""
    hints = get_type_hints(cls, include_extras=True)
    return tuple(_part(field, hints[field.name]) for field in fields(cls))


def _part(field: Any, hint: Any) -> Part:
    inner, marks = split_marks(hint)
    checks = tuple(mark for mark in marks if isinstance(mark, Length | Range | OneOf))
    default = field.default_factory() if field.default_factory is not MISSING else field.default
    return Part(
        name=field.name,
        key=next((mark.name for mark in marks if isinstance(mark, Key)), field.name),
        hint=Annotated[(inner, *checks)] if checks else inner,
        place=next((mark for mark in marks if isinstance(mark, Flat | Prefixed | Rest)), None),
        required=default is MISSING,
        default=default,
        left_out=any(isinstance(mark, LeftOut) for mark in marks),
    )


def split_marks(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    """A type hint without its marks, and the marks."""
    if get_origin(hint) is not Annotated:
        return hint, ()
    inner, *marks = get_args(hint)
    return inner, tuple(marks)
