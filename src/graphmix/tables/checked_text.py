"""The slow, careful way through a text file: decodes it piece by piece and names the line of a defect.

A table is read by pyarrow, which does not say where text is invalid. This pass runs when pyarrow fails, when a look at
what it read raises a doubt, and for text that must be converted to UTF-8.
"""

import codecs
import gzip
import io
from collections.abc import Generator, Iterator
from pathlib import Path

import numpy as np

from graphmix.errors import DataError
from graphmix.limits import Limits, as_size
from graphmix.tables.reading import UTF8
from graphmix.tables.table import shortened

PIECE = 2**20
# Larger rows are refused, unless a user sets another limit.
LARGEST_ROW = Limits.cell
_QUOTE, _BREAK = b'"\n'


class CheckedText:
    """A file's text, without a byte-order mark and without empty lines at the top.

    The counts are those of the pieces read so far.

    Attributes:
        path: the file.
        encoding: the encoding the user named.
        largest: the bytes that a row may have.
        is_utf8: whether that is UTF-8, so that pyarrow can read the file as it is.
        is_whole: whether the text was read to its end.
        skipped: how many empty lines were at the top.
    """

    def __init__(self, path: Path, encoding: str, largest: int = LARGEST_ROW) -> None:
        try:
            "a".encode(encoding)
            self._decoder = codecs.getincrementaldecoder(encoding)()
        except (LookupError, ValueError) as error:
            raise DataError(f"there is no encoding {shortened(encoding)}; try utf-8, latin-1 or utf-16") from error
        self.path, self.encoding, self.largest = path, encoding, largest
        self.is_utf8 = codecs.lookup(encoding).name == UTF8
        self.is_whole = False
        self.skipped = 0
        self._breaks = self._trailing = self._since_break = 0
        self._begun = False

    @property
    def lines(self) -> int:
        """The number of lines, without empty lines at the end."""
        return self.skipped + self._breaks + 1

    def pieces(self) -> Generator[bytes, None, None]:
        """Read the text as pieces of UTF-8; may be called once.

        Raises:
            DataError: the text is not in this encoding, has a NUL byte, or has a line too long for a row.
        """
        with _open(self.path) as raw:
            while piece := raw.read(PIECE):
                yield from self._checked(piece, self._decode(piece, final=False))
            yield from self._checked(b"", self._decode(b"", final=True))
        self.is_whole = True

    def whole(self) -> "CheckedText":
        """Return this text, or a fresh copy of it, read to the end; raises what `pieces` raises."""
        if self.is_whole:
            return self
        text = CheckedText(self.path, self.encoding, self.largest)
        for _ in text.pieces():
            pass
        return text

    def find_line(self, first: int, wanted: bytes) -> int | None:
        """Return the number of the first line that equals `wanted`, from line `first` on; None if there is none."""
        number, rest = self.skipped + 1, b""
        for piece in CheckedText(self.path, self.encoding, self.largest).pieces():
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                if number >= first and line.rstrip(b"\r") == wanted:
                    return number
                number += 1
        return number if number >= first and rest.rstrip(b"\r") == wanted else None

    def find_large_row(self, largest: int) -> int | None:
        """Return the line on which the first row of more than `largest` bytes begins; None if there is none.

        A piece must not be larger than `largest`.
        """
        begins, size, inside = self.skipped + 1, 0, 0
        line = begins
        for piece in CheckedText(self.path, self.encoding, self.largest).pieces():
            letters = np.frombuffer(piece, np.uint8)
            quotes = np.cumsum(letters == _QUOTE) + inside
            breaks = letters == _BREAK
            ends = np.flatnonzero(breaks & (quotes % 2 == 0))
            if size + (ends[0] if len(ends) else len(piece)) > largest:
                return begins
            if len(ends):
                begins, size = line + int(breaks[: ends[-1] + 1].sum()), -int(ends[-1]) - 1
            size, inside, line = size + len(piece), int(quotes[-1]), line + int(breaks.sum())
        return None

    def _decode(self, piece: bytes, final: bool) -> str:
        try:
            return self._decoder.decode(piece, final=final)
        except UnicodeDecodeError as error:
            raise DataError(self._undecodable(error)) from error
        except UnicodeError as error:
            remedy = "`encoding` is that of all text tables, so save them in the same one"
            raise DataError(f"{self.path.name} is not {self.encoding}: {error}; {remedy}") from error

    def _checked(self, piece: bytes, decoded: str) -> Iterator[bytes]:
        text = piece if self.is_utf8 else decoded.encode(UTF8, errors="replace")
        if not self._begun:
            text = text.removeprefix(codecs.BOM_UTF8)
            body = text.lstrip(b"\r\n")
            self.skipped += text.count(b"\n", 0, len(text) - len(body))
            self._begun, text = bool(body), body
        if b"\0" in text:
            line = self._line_at(text, text.index(0))
            raise DataError(f"{self.path.name} line {line} has a NUL byte, so {_why_nul(text, self.encoding)}")
        if text:
            self._count(text)
            yield text

    def _count(self, text: bytes) -> None:
        body = text.rstrip(b"\r\n")
        if body:
            self._breaks += self._trailing + body.count(b"\n")
            self._trailing = 0
        self._trailing += text.count(b"\n", len(body))
        broken = text.rfind(b"\n")
        self._since_break = len(text) - broken - 1 if broken >= 0 else self._since_break + len(text)
        if self._since_break > 2 * self.largest:
            raise DataError(too_large(self.path, self.lines + self._trailing, self.largest))

    def _line_at(self, text: bytes, place: int) -> int:
        return self.lines + self._trailing + text.count(b"\n", 0, place)

    def _undecodable(self, error: UnicodeDecodeError) -> str:
        line = self._line_at(error.object, error.start)
        found = f"{self.path.name} line {line} is not {self.encoding}: {error.reason}"
        if error.object.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
            return f"{found}; the file begins like UTF-32: set `encoding` to utf-32"
        if error.object.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return f"{found}; the file begins like UTF-16: set `encoding` to utf-16"
        return f"{found}; for an old file, or one saved by Excel on Windows, set `encoding` to latin-1"


def _why_nul(text: bytes, encoding: str) -> str:
    """Say what a file with NUL bytes is: plain text in UTF-16 has one in nearly every second place."""
    head = text[:1000]
    for start, name in ((0, "utf-16-be"), (1, "utf-16-le")):
        zeros, others = (head[place::2].count(0) for place in (start, 1 - start))
        if 3 * zeros > len(head) > 9 * others and encoding != name:
            return f"it looks like UTF-16: set `encoding` to {name}"
    return "it is not a text table"


def too_large(path: Path, line: int | None, largest: int) -> str:
    """Return the message for a row above the size limit."""
    where = path.name if line is None else f"{path.name} line {line}"
    return (
        f"{where}: a row is larger than {as_size(largest)}; shorten its text, close an open quote, or raise the limit "
        f"with `limit` cell={4 * largest}"
    )


def is_gzipped(path: Path) -> bool:
    """Whether a file is gzipped, by its name."""
    return path.suffix.lower() == ".gz"


def _open(path: Path) -> "gzip.GzipFile | io.BufferedReader":
    return gzip.GzipFile(path) if is_gzipped(path) else path.open("rb")
