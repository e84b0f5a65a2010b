"""Limits: how large what is read from a file may become, checked before it takes any memory.

A file of a few megabytes can unpack to gigabytes. Each limit has a default that ordinary data stays far below, and a
name by which a user raises it.
"""

import os
import re
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import BinaryIO, NamedTuple

from graphmix.errors import ConfigError, DataError

KIB, MIB, GIB = 2**10, 2**20, 2**30
# deflate never makes more than this many bytes of one.
DEFLATE_MOST = 1032
PIECE = 2**20
# Pieces that stay in the cache of a core are unpacked twice as fast.
_SMALL_PIECE = 2**16
# How much of a file is unpacked before the size that it says of itself may be believed.
_BEGINNING = 2**26
# The header and the trailer of a gzip file.
_SMALLEST_GZIP = 18
# pyarrow counts the bytes of a block of text with 32 bits.
LARGEST_CELL = GIB
_VALUE = re.compile(r"([0-9]{1,18}(?:_[0-9]{1,18}){0,6})(?:([KMGT])(?:I?B)?)?", re.IGNORECASE)
_POWERS = {"K": 1, "M": 2, "G": 3, "T": 4}


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How large what is read from a file may become.

    Attributes:
        size: bytes that one compressed file (.gz, .npz, .parquet) may unpack to; a file that is itself larger passes if
            it does not grow.
        rows: rows of a table.
        columns: columns of a table.
        cell: bytes of one cell of a table, and of one row of a text file.
        members: arrays in an .npz file, used or not.
    """

    size: int = 2 * GIB
    rows: int = 20_000_000
    columns: int = 100_000
    cell: int = 64 * MIB
    members: int = 1000

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ConfigError(f"the limit {field.name!r} must be a whole number of at least 1, not {value!r}")
        if self.cell > LARGEST_CELL:
            raise ConfigError(f"the limit 'cell' must be at most {as_size(LARGEST_CELL)}, not {as_size(self.cell)}")

    @classmethod
    def parse(cls, given: Iterable[str]) -> "Limits":
        """Read limits as they are written on a command line: NAME=VALUE, where VALUE may end in K, M, G or T.

        Sizes count in steps of 1024, and numbers of things in steps of 1000.

        Example:
            >>> Limits.parse(["size=4G", "rows=2_000_000"]).size
            4294967296

        Raises:
            ConfigError: a name or a value is invalid, or a name is given twice.
        """
        chosen: dict[str, int] = {}
        for text in given:
            name, _, value = text.partition("=")
            found = _VALUE.fullmatch(value)
            if name not in NAMES or found is None:
                raise ConfigError(
                    f"`limit` must be NAME=VALUE, where NAME is one of {', '.join(NAMES)} and VALUE a whole number, "
                    f"such as 500M or 2_000_000; not {text[:60]!r}"
                )
            if name in chosen:
                raise ConfigError(f"`limit` {name} is given twice")
            step = 1024 if name in _BYTES else 1000
            chosen[name] = int(found[1].replace("_", "")) * step ** _POWERS.get((found[2] or "").upper(), 0)
        return cls(**chosen)


USUAL = Limits()
_BYTES = ("size", "cell")
NAMES = tuple(field.name for field in fields(Limits))


def as_size(count: int) -> str:
    """Return a number of bytes for people: `64 MiB`, `6.2 GiB`."""
    for unit, name in ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if count >= unit:
            return f"{count / unit:,.3g} {name}" if count < 1000 * unit else f"{count / unit:,.0f} {name}"
    return f"{count} bytes"


class Excess(NamedTuple):
    """How a file exceeds a limit.

    Attributes:
        how: what is too large, for example `has 30 columns, and the limit is 20`.
        name: the limit.
        value: what the limit must be for the file to be read.
    """

    how: str
    name: str
    value: int | str


def refuse(what: str, found: Sequence[Excess]) -> None:
    """Raise DataError if a file exceeds a limit; the message names all of them, so that they can be raised at once."""
    if found:
        raised = " and ".join(f"`limit` {each.name}={each.value}" for each in found)
        hows, them = "; it ".join(each.how for each in found), "it" if len(found) == 1 else "them"
        raise DataError(f"{what} {hows}; if that is right, raise {them} with {raised}")


def how_to_raise(name: str, value: int | str) -> str:
    """End a message on a limit that was exceeded."""
    return f"if that is right, raise it with `limit` {name}={value}"


def too_large(needed: int, on_disk: int, limit: Limits) -> list[Excess]:
    """Return an excess if something unpacks to more bytes than the limit, and to more than it has on the disk."""
    if needed <= max(limit.size, on_disk):
        return []
    how = f"unpacks to {as_size(needed)}, and the limit is {as_size(limit.size)}"
    return [Excess(how, "size", _rounded_up(needed))]


def too_many(count: int, most: int, name: str) -> list[Excess]:
    """Return an excess if there are more things than a limit, called `name`, allows."""
    return [Excess(f"has {count:,} {name}, and the limit is {most:,}", name, count)] if count > most else []


def check_unpacked(needed: int, on_disk: int, limit: Limits, what: str) -> None:
    """Raise DataError if something unpacks to more bytes than the limit, and to more than it has on the disk."""
    refuse(what, too_large(needed, on_disk, limit))


def check_count(count: int, most: int, name: str, what: str) -> None:
    """Raise DataError if there are more things than a limit allows; `what` names the file, `name` the limit."""
    refuse(what, too_many(count, most, name))


def gzip_excess(path: Path, limit: Limits) -> list[Excess]:
    """Return an excess if a gzip file unpacks to more bytes than the limit.

    It is unpacked piece by piece, but only if it is large enough that it could be too large: what a file says of its
    own size may be false. If its beginning agrees with that size, it is believed. A damaged file passes; whoever reads
    it says what is wrong.

    Raises:
        OSError: it cannot be read.
    """
    on_disk = path.stat().st_size
    most = max(limit.size, on_disk)
    if on_disk * DEFLATE_MOST <= most or on_disk < _SMALLEST_GZIP:
        return []
    with path.open("rb") as file:
        said, total = _size_said(file), 0
        for piece, place in gzip_pieces(file):
            total += len(piece)
            if total > _BEGINNING and total * on_disk > most * place and said > most:
                return too_large(said, on_disk, limit)
            if total > most:
                how = f"unpacks to more than {as_size(limit.size)}, the limit"
                return [Excess(how, "size", _rounded_up(enough(total, place / on_disk, limit.size)))]
    return []


def enough(count: int, share: float, limit: int) -> int:
    """Return a limit that suffices for a file, after a share of it already had more than the present limit."""
    return max(4 * limit, int(count / share * 1.25))


def gzip_pieces(file: BinaryIO) -> Iterable[tuple[bytes, int]]:
    """Unpack a gzip file of one or more members, at most 64 KiB at a time; stop silently where it is damaged.

    Each piece comes with the number of bytes of the file that were unpacked by then.
    """
    unpacker = zlib.decompressobj(wbits=31)
    while packed := file.read(_SMALL_PIECE):
        while packed:
            try:
                piece = unpacker.decompress(packed, _SMALL_PIECE)
            except zlib.error:
                return
            packed = unpacker.unconsumed_tail
            if unpacker.eof:
                packed, unpacker = unpacker.unused_data.lstrip(b"\0"), zlib.decompressobj(wbits=31)
            yield piece, file.tell() - len(packed)


def _size_said(file: BinaryIO) -> int:
    """Return the size of a gzip file's last member by its last four bytes; sizes beyond 4 GiB wrap around."""
    file.seek(-4, os.SEEK_END)
    said = int.from_bytes(file.read(), "little")
    file.seek(0)
    return said


def _rounded_up(count: int) -> str:
    unit, name = next(each for each in ((GIB, "G"), (MIB, "M"), (1, "")) if count >= each[0])
    return f"{-(-count // unit)}{name}"
