"""Words that people take for the same although their characters differ: for messages, never to match anything."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from itertools import islice

from graphmix.tables.table import shortened

_LEADING_ZEROS = re.compile(r"^0+(?=[0-9]+$)")
# To look through so many ids takes about a second.
_MOST = 1_000_000


def looks(text: str) -> str:
    """Return what is left of a text without case, invisible characters, forms of characters, and how it is spaced.

    Example:
        >>> looks(" New\\u00a0 York") == looks("new york"), looks("Cafe\\u0301") == looks("Caf\\u00e9")
        (True, True)
    """
    if not text.isascii():
        text = "".join(each for each in unicodedata.normalize("NFKC", text) if unicodedata.category(each) != "Cf")
    return " ".join(text.casefold().split())


def likely_meant(unknown: Iterable[str], known: Sequence[str]) -> str:
    """Say which id of a node an unknown one may be: `; '7' may be '07', …`; "" if none looks alike."""
    meant = written_otherwise(unknown, known, _bare)
    return f"; {meant}: write ids alike in both tables" if meant else ""


def written_otherwise(unknown: Iterable[str], known: Sequence[str], look: Callable[[str], str] = looks) -> str:
    """Say which known word an unknown one may be: `'red' may be 'Red', written otherwise`; "" if none looks alike."""
    wanted = {look(name): name for name in islice(unknown, _MOST)}
    for name in islice(known, _MOST):
        if (meant := wanted.get(look(name))) is not None:
            return f"{shortened(meant)} may be {shortened(name)}, written otherwise"
    return ""


def _bare(name: str) -> str:
    """An id as it looks, without the leading zeros that spreadsheets remove."""
    return _LEADING_ZEROS.sub("", looks(name))
