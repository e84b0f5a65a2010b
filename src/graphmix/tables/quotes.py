"""Quotes that are opened and not closed: where they are."""

import re
from collections.abc import Iterable, Iterator

_QUOTES = re.compile(rb'""|"')
_LONGEST_RUN = 2**20


def find_open_quote(pieces: Iterable[bytes], separator: str, most: int | None = None) -> int | None:
    """Return the line, counted from 1, on which a cell's quote opens that is not closed.

    A quote opens a cell only as its first character, and two quotes in a quoted cell stand for one.

    Args:
        pieces: a text in UTF-8.
        separator: the character between cells.
        most: how many bytes may follow before a quote counts as not closed; None to look for it up to the end.
    """
    opening = re.compile(b'[%s\r\n]"' % re.escape(separator.encode()))
    line, size = 0, 0
    opened: int | None = None
    for piece in _with_whole_quotes(pieces):
        place = 0
        while True:
            found = (opening if opened is None else _QUOTES).search(piece, place)
            if found is None:
                break
            line += piece.count(b"\n", place, found.end())
            if opened is None:
                opened, size = line, -found.end()
            elif found[0] == b'"':
                if most is not None and size + found.start() > most:
                    return opened
                opened = None
            place = found.end()
        line += piece.count(b"\n", place)
        size += len(piece)
        if opened is not None and most is not None and size > most:
            return opened
    return opened


def _with_whole_quotes(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Move the borders of pieces so that no two characters that belong together are parted.

    A line break is put before the text, so that its first cell begins like any other.
    """
    rest = b"\n"
    for piece in pieces:
        text = rest + piece
        kept = len(text.rstrip(b'"'))
        # A separator before the quotes goes with them. A megabyte of quotes does not end a cell.
        cut = max(kept - 1, 0) if len(text) - kept < _LONGEST_RUN else len(text)
        yield text[:cut]
        rest = text[cut:]
    yield rest
