"""How a column writes its numbers: what parts groups of digits, which mark is the decimal one, which words mean 1.

A notation is named by an example, so that people can read it: `1,234.5` or `yes/no`. It is found once, when a column is
learned from, stored with the encoder, and then used for every other table.
"""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from graphmix.tables.patterns import APOSTROPHES, DASHES, NUMBER, SPACES, UNIT

# Numbers as programs write them, and nothing else.
PLAIN = "plain"
# Words for 1 and for 0.
WORDS = {"yes/no": ("yes", "no"), "true/false": ("true", "false"), "y/n": ("y", "n"), "t/f": ("t", "f")} | {
    "on/off": ("on", "off")
}
# So many different shapes are looked at; a column of numbers has a few dozen.
_MOST_SHAPES = 5_000
_MOST_UNITS = 5
_EXPONENT = r"([eE][+-]?[0-9]+)?"
_ENDLESS = r"[+-]?(?i:inf|infinity)"
PLAIN_NUMBER = rf"^{NUMBER}$|^{_ENDLESS}$"


class Marks(NamedTuple):
    """The decimal mark of a notation, and the mark between groups of digits, or ""."""

    decimal: str
    group: str


# The most likely first; in a file with semicolons between its cells, decimal commas are.
MARKS = {
    "1234.5": Marks(".", ""),
    "1,234.5": Marks(".", ","),
    "1234,5": Marks(",", ""),
    "1.234,5": Marks(",", "."),
    "1 234.5": Marks(".", " "),
    "1 234,5": Marks(",", " "),
    "1'234.5": Marks(".", "'"),
    "1'234,5": Marks(",", "'"),
}
_WITH_SEMICOLONS = sorted(MARKS, key=lambda name: (MARKS[name].decimal != ",", MARKS[name].group != ""))
NOTATIONS = (PLAIN, *MARKS, *WORDS)
# Which other reading every cell of a notation may have, and what the two are.
_RIVALS = {"1,234.5": "1234,5", "1234,5": "1,234.5", "1.234,5": "1234.5", "1234.5": "1.234,5"}


class Found(NamedTuple):
    """The notation of a column, and what the user should know about it, or ""."""

    notation: str
    doubt: str = ""


def pattern(notation: str, strict: bool = False) -> str:
    """Return the pattern of a whole cell that `bare` has made, for pyarrow and for Python.

    Unless it is strict, a decimal point will do instead of a decimal comma where no groups are parted.
    """
    decimal, group = MARKS[notation]
    whole = "[0-9]+"
    if group:
        mark = re.escape(group)
        # Commas also part numbers as in India: 12,34,567.
        inner = rf"({mark}[0-9]{{2,3}})*" if group == "," else rf"({mark}[0-9]{{3}})*"
        whole = rf"([1-9][0-9]{{0,2}}{inner}{mark}[0-9]{{3}}|[0-9]+)"
    point = re.escape(decimal) if strict or group or decimal == "." else "[.,]"
    return rf"^([+-]?({whole}({point}[0-9]*)?|{point}[0-9]+){_EXPONENT}|{_ENDLESS})$"


def bare(text: Any) -> Any:
    """Return cells `[rows]` without units; a minus that is a dash, trails or is a pair of brackets stands in front."""
    import pyarrow.compute as pc

    # Each of these takes long, and few columns need one.
    if not pc.all(pc.string_is_ascii(text)).as_py():
        for letters, plain in ((SPACES, " "), (APOSTROPHES, "'"), (DASHES, "-")):
            text = pc.replace_substring_regex(text, letters, plain)
    if pc.any(pc.match_substring(text, "(")).as_py():
        text = pc.replace_substring_regex(text, rf"^(?:{UNIT}\s*)?\(\s*([^()]*?)\s*\)\s*(?:{UNIT})?$", r"-\1")
    if pc.any(pc.ends_with(text, "-")).as_py():
        text = pc.replace_substring_regex(text, rf"^([^-]*[0-9])\s*((?:{UNIT})?)\s*-$", r"-\1\2")
    if pc.all(pc.match_substring_regex(text, r"^[+-]?[0-9.,' ]+$")).as_py():
        return text
    whole = rf"^([+-]?)\s*(?:{UNIT}\s*)?([+-]?)\s*([.,]?[0-9](?:.*[0-9])?[.,]?)\s*(?:{UNIT})?$"
    return pc.replace_substring_regex(text, whole, r"\1\2\3")


def unmarked(text: Any, notation: str) -> Any:
    """Return cells `[rows]` that match a notation's pattern as programs write numbers."""
    import pyarrow.compute as pc

    decimal, group = MARKS[notation]
    if group:
        text = pc.replace_substring(text, group, "")
    return pc.replace_substring(text, decimal, ".") if decimal != "." else text


def find_notation(text: Any, decimal: str) -> Found:
    """Find the notation that reads most cells of a column.

    Args:
        text: cells `[rows]` that `bare` has made; null where missing.
        decimal: the decimal mark that the file suggests.

    Returns:
        The notation: of several that read equally many cells the first of `MARKS`, or, if a comma is the decimal mark
        that the file suggests, the first of those with a comma.
    """
    shapes = _shapes(text)
    order = list(MARKS) if decimal == "." else _WITH_SEMICOLONS
    read = {name: _count(shapes, name) for name in order}
    best = max(order, key=lambda name: read[name])
    if not read[best]:
        return Found(PLAIN)
    rival = _RIVALS.get(best)
    group = "" if rival is None else MARKS[best].group or MARKS[rival].group
    parted = rival is not None and any(group in shape for shape in shapes)
    if rival is None or not parted or read[rival] < read[best]:
        return Found(best)
    said, other = ("1234", "1.234") if MARKS[best].group else ("1.234", "1234")
    return Found(best, f"1{group}234 is read as {said}; it could also be {other}")


def find_words(text: Any) -> str:
    """Return the name of the two words that all cells `[rows]` are, in any case; "" if there is none."""
    import pyarrow.compute as pc

    first = text.drop_null()[:1].to_pylist()
    name = next((name for name, words in WORDS.items() if first and first[0].lower() in words), "")
    if not name or pc.max(pc.binary_length(text)).as_py() > len("false"):
        return ""
    return name if set(pc.unique(pc.ascii_lower(text.drop_null())).to_pylist()) <= set(WORDS[name]) else ""


def units_of(text: Any) -> tuple[str, ...]:
    """Return the units of cells `[rows]` that are numbers, sorted, in upper case; "" stands for none."""
    import pyarrow.compute as pc

    kept = pc.replace_substring_regex(text.drop_null(), rf"[0-9.,'()+\-\s]+|{DASHES}|{SPACES}|{APOSTROPHES}", "")
    kept = pc.if_else(pc.match_substring_regex(kept, "^[eE]?$"), "", pc.utf8_upper(kept))
    return tuple(sorted(pc.unique(kept).to_pylist()))


def mixed_units(units: Sequence[str]) -> str:
    """Say which units a column has, if these differ; else ""."""
    return f"its units differ ({named_units(units)}) and are ignored" if len(units) > 1 else ""


def named_units(units: Sequence[str]) -> str:
    """Name some units, `none` where there is none."""
    return ", ".join(["none" if unit == "" else unit for unit in units][:_MOST_UNITS])


def _shapes(text: Any) -> dict[str, int]:
    """Count the shapes of cells: every digit is a 9, but a single 0 before a mark stays."""
    import pyarrow.compute as pc

    kept = pc.replace_substring_regex(text.drop_null(), r"^([+-]?)0([.,'\s])", r"\1o\2")
    found = pc.value_counts(pc.replace_substring_regex(kept, "[0-9]", "9"))
    counts = zip(found.field("values").to_pylist(), found.field("counts").to_pylist(), strict=True)
    most = sorted(counts, key=lambda pair: -pair[1])[:_MOST_SHAPES]
    return {shape.replace("o", "0", 1) if shape.lstrip("+-")[:1] == "o" else shape: count for shape, count in most}


def _count(shapes: dict[str, int], notation: str) -> int:
    whole = re.compile(pattern(notation, strict=True))
    return sum(count for shape, count in shapes.items() if whole.match(shape))
