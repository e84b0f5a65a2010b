"""Odd text, names and numbers that every kind of input draws from."""

from random import Random

# Text that programs take for something else, that spreadsheets run, that terminals obey, or that is hard to quote.
ODD = (
    "", " ", "  x ", "NA", "nan", "None", "null", "N/A", "#N/A", "=1+1", "-x", "+1", "@bob", "=cmd|' /C calc'!A0",
    "\uff1d1+1", "\u00e9", "e\u0301", "\u4e2d\u6587", "\U0001f600", "\u0130", "\u00df", "a,b", 'say "x"', '"', '""',
    "'", "'q", "a;b", ";", "x\ty", "l\nb", "c\rd", "r\r\nn", "\\", "\\n", "1e308", "-1e400", "inf", "-0", "0", "1",
    "1.0", "01", "1.", "1_000", "1,5", "true", "FALSE", "[1, 2]", "['a', \"b\"]", "[", "{}", "\u202eabc", "\u200b",
    "\ufeff", "\x01", "\x1b[31mred\x1b[0m", "\x1b]0;t\x07", "\x7f", "\x85", "\x9b31m", "x" * 300,
    "<script>alert(1)</script>", "{{7*7}}", "../../etc/passwd", "%s%n", "$HOME", "[bold]x[/bold]", "`out`",
    "--help", "9007199254740993", "18446744073709551615", "123456789012345678901234567890", "2024-01-01",
    "2024-01-01 10:00:00", "12:30",
)  # fmt: skip
# Numbers as text: beyond what a type holds, not numbers, nearly numbers.
NUMBERS = (
    "0", "-0", "1", "-1", "2", "1.5", "0.1", "1e3", "1E-3", "1e308", "1e309", "-1e400", "1e-320", "nan", "NaN",
    "inf", "-inf", "Infinity", "9" * 20, "9" * 400, "9" * 5000, "0x10", "1_0", " 1 ", "1,5", "", "one", "\u0661",
    "1e", "--1", "+1", "01", "2147483648", "9223372036854775808", "1000000000", "1000000", "3.0",
)  # fmt: skip
# File names: hidden, like options, with control characters, not UTF-8 (as os.fsdecode writes it), very long.
NAMES = (
    "a b", "-x", "--out", "'", '"', "a\nb", "\x1b[31m", "\u202e", "caf\u00e9", "cafe\u0301", "na\udcffme",
    "x" * 200, ".hidden", "~", "%41", "[b]", "`out`", "$(id)", "a;b", "*", "con",
)  # fmt: skip


def long_text(rng: Random) -> str:
    """Text of up to a megabyte."""
    return rng.choice(["x", "\u00e9", "a b ", "\x1b[2J", "\u202e"]) * rng.choice([1000, 50_000, 300_000])


def odd_text(rng: Random) -> str:
    """Odd text, alone, doubled, between plain letters, or at random."""
    drawn = rng.choice(ODD)
    style = rng.randrange(8)
    if style == 0:
        return f"a{drawn}b"
    if style == 1:
        return drawn + rng.choice(ODD)
    if style == 2:
        return "".join(chr(rng.choice([rng.randrange(1, 0x300), rng.randrange(0x2000, 0x2100)])) for _ in range(6))
    return drawn
