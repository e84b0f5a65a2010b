"""Text in messages: from elsewhere, made fit for a terminal (one line, no control characters, not too long); counts."""

import re
import unicodedata

# Control characters, invisible ones that change the direction of text, lone surrogates, line and paragraph separators.
_HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
# Invisible too, but part of words in Persian and Hindi, and of emoji.
_JOINERS = "\u200c\u200d"

# Longer words and lines are cut. Every path that a system allows by default fits into a line.
_LONG_WORD, _WORD, _LINE = re.compile(r"\S{1001,}"), 200, 6000


def visible(text: str) -> str:
    """Escape characters that a terminal would obey or hide.

    Example:
        >>> print(visible("red\\x1b[31m and\\nmore"))
        red\\x1b[31m and\\nmore
    """
    if text.isprintable():
        return text
    return "".join(_escaped(letter) for letter in text)


def clipped(text: str, most: int) -> str:
    """Cut text that is longer than `most` characters in the middle, and say how long it was.

    Example:
        >>> clipped("a" * 100_000, 8)
        'aaaa … (100,000 characters) … aaaa'
    """
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]} … ({len(text):,} characters) … {text[len(text) - half :]}"


def name_for_screen(text: str, most: int = 300) -> str:
    """Make a name, label, id or reason fit for a message, a table or a bar: in one line, and cut if it is long."""
    return visible(clipped(text, most))


def counted(number: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun.

    Example:
        >>> counted(1, "row"), counted(2500, "row"), counted(2, "cell is", "cells are")
        ('1 row', '2,500 rows', '2 cells are')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def for_screen(text: str) -> str:
    """Make text of one or more lines fit for a terminal: long words and lines are cut, hidden characters escaped.

    Example:
        >>> print(for_screen("a label: \\x1b]0;title\\x07"))
        a label: \\x1b]0;title\\x07
    """
    return "\n".join(visible(_shortened(line)) for line in text.split("\n"))


def _shortened(line: str) -> str:
    return clipped(_LONG_WORD.sub(lambda word: clipped(word[0], _WORD), line), _LINE)


def _escaped(letter: str) -> str:
    if letter in _JOINERS or unicodedata.category(letter) not in _HIDDEN:
        return letter
    return ascii(letter)[1:-1]


def signed(value: float, digits: int = 2) -> str:
    """Write a number with its sign, the minus as wide as the plus; the sign stays where all digits are rounded away.

    Example:
        >>> signed(-1.234), signed(0.04, 1)
        ('−1.23', '+0.0')
    """
    return f"{value:+.{digits}f}".replace("-", "−")
