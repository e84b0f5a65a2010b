"""Reading: how a table is read, whichever kind it is."""

from collections.abc import Callable, Collection
from dataclasses import dataclass

UTF8 = "utf-8"
# Called with what is done, and with how many rows so far.
Tell = Callable[[str, int], None]


def nothing(what: str, rows: int) -> None:
    """Tell nobody."""


@dataclass(frozen=True)
class Reading:
    """How a table is read.

    Attributes:
        encoding: the encoding of a text file: any that Python knows, for example `latin-1`.
        has_header: whether the first line of a text file names the columns; otherwise they are called `column 1`,
            `column 2`, …
        ignore: columns that are read only if they turn out to be ids, labels or the like.
        tell: called with what is done with how many rows so far.
    """

    encoding: str = UTF8
    has_header: bool = True
    ignore: Collection[str] = frozenset()
    tell: Tell = nothing


USUAL = Reading()
