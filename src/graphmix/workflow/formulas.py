"""Cells that a spreadsheet would run as a formula (OWASP, CSV injection)."""

import re
from collections import Counter
from collections.abc import Iterable

from graphmix.tables.patterns import NUMBER

_SIGNS = "=+@＝＋－＠\\-"
_SIGN = re.compile(f"[{_SIGNS}]")
# A spreadsheet may split a cell where another locale, or another program, separates cells. What it skips before a
# formula is skipped here too.
_BLANK = r'[^\S\t\r\n]|["\x00-\x08\x0e-\x1f\u200b-\u200f\u2060\ufeff]'
_PIECE = re.compile(rf"(^|[;,\t\r\n])((?:{_BLANK})*+)(?=[{_SIGNS}])([^;,\t\r\n]*)")
_NUMBER = re.compile(NUMBER)
_QUOTED = re.compile(r'[",\t\r\n]')
# Skipped by some programs, which then see what follows as the beginning of the cell.
_SKIPPED = ("\t", "\r", "\n")


def is_formula(text: str) -> bool:
    """Whether a spreadsheet would run a cell, or a piece of it; numbers and a sign alone are not formulas.

    Example:
        >>> is_formula("=1+1"), is_formula("a;@b"), is_formula("-3.5"), is_formula("+")
        (True, True, False, False)
    """
    if not _SIGN.search(text):
        return False
    # A formula may go on after a line break, but not after a semicolon.
    harmless = () if _QUOTED.search(text) else ("+", "-")
    pieces = (found[3] for found in _PIECE.finditer(text))
    return any(piece not in harmless and not _NUMBER.fullmatch(piece) for piece in pieces)


def escape(text: str) -> str:
    """Put an apostrophe before every piece of a cell that a spreadsheet could run; numbers stay numbers.

    Example:
        >>> escape("=1+1"), escape("a;=b"), escape("-3.5"), escape("plain")
        ("'=1+1", "a;'=b", '-3.5', 'plain')
    """
    if not _SIGN.search(text) and not text.startswith(_SKIPPED):
        return text
    # In a cell that is written between quotes, a number that is not the first piece may be followed by a quote.
    in_quotes = _QUOTED.search(text) is not None

    def guard(found: re.Match[str]) -> str:
        between, skipped, piece = found.groups()
        is_number = _NUMBER.fullmatch(piece) and not (in_quotes and (between or skipped))
        return found[0] if is_number else f"{between}{skipped}'{piece}"

    guarded = _PIECE.sub(guard, text)
    return f"'{guarded}" if text.startswith(_SKIPPED) else guarded


def count_formulas(columns: Iterable[list[object]]) -> int:
    """Return how many cells a spreadsheet would run."""
    # Classes are repeated often; each is looked at once.
    counts = (Counter(cell for cell in cells if isinstance(cell, str)) for cells in columns)
    return sum(count for counted in counts for cell, count in counted.items() if is_formula(cell))
