"""Words that people take for the same although their characters differ: for messages, never to match anything."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
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
    """Say which id of a node an unknown one may be, written otherwise: `; '7' may be the node '07', …`; "" if none."""
    wanted = {_bare(name): name for name in unknown}
    for name in islice(known, _MOST):
        if (meant := wanted.get(_bare(name))) is not None:
            may_be = f"{shortened(meant)} may be the node {shortened(name)}, written otherwise"
            return f"; {may_be}: write ids alike in both tables"
    return ""


def _bare(name: str) -> str:
    """An id as it looks, without the leading zeros that spreadsheets remove."""
    return _LEADING_ZEROS.sub("", looks(name))
