"""Columns as people write them, drawn together with the numbers or days that they mean."""

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

_EPOCH = dt.datetime(1970, 1, 1)
_MARKS = ("", "", "NA", "-", "?", "..", "n.a.", "\u2013", "unknown", "#N/A")
# How numbers with commas between thousands and a decimal point look in each notation.
_NOTATIONS = {
    "1,234.5": str.maketrans({}),
    "1.234,5": str.maketrans(",.", ".,"),
    "1 234,5": str.maketrans(",.", " ,"),
    "1 234.5": str.maketrans(",.", "\u202f."),
    "1'234.5": str.maketrans(",.", "'."),
    "1234,5": str.maketrans(".", ",", ","),
}
_AROUND: tuple[Callable[[str], str], ...] = (
    lambda text: text,
    lambda text: f" {text} ",
    lambda text: f"${text}".replace("$-", "-$"),
    lambda text: f"{text} €",
    lambda text: f"USD {text}",
    lambda text: f"{text}%",
    lambda text: f"({text[1:]})" if text.startswith("-") else text,
    lambda text: f"{text[1:]}-" if text.startswith("-") else text,
    lambda text: text.replace("-", "\u2212"),
    lambda text: text if text.startswith("-") else f"+{text}",
)
_DATES = (
    *("%Y-%m-%d", "%Y/%m/%d", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%SZ", "%d/%m/%Y", "%d.%m.%Y", "%m/%d/%Y"),
    *("%m/%d/%Y %I:%M:%S %p", "%d %b %Y", "%b %d, %Y", "%B %d, %Y", "%a, %d %b %Y %H:%M:%S GMT"),
)
_TRUTH = (("yes", "no"), ("true", "false"), ("Y", "N"), ("t", "f"), ("ON", "OFF"))


@dataclass(frozen=True)
class Column:
    """A column: its cells, and what they mean, None where a cell is missing."""

    kind: str
    cells: list[str]
    values: list[float | None]


def draw(rng: Random, count: int, missing: float = 0.1) -> Column:
    """Draw a column of numbers, dates or words for truth, in one of the forms in use."""
    made = rng.choice([_numbers, _numbers, _dates, _truth])(rng, count)
    # The first cell decides the form, so it stays.
    gaps = [place > 0 and rng.random() < missing for place in range(count)]
    cells = [rng.choice(_MARKS) if gap else cell for gap, cell in zip(gaps, made.cells, strict=True)]
    return Column(made.kind, cells, [None if gap else value for gap, value in zip(gaps, made.values, strict=True)])


def _numbers(rng: Random, count: int) -> Column:
    notation, around = rng.choice(list(_NOTATIONS)), rng.choice(_AROUND)
    digits, places = rng.randint(1, 9), rng.choice([0, 1, 2, 3])
    values = [1234567.25, *(round(rng.uniform(-(10**digits), 10**digits), places) for _ in range(count - 1))]
    cells = [around(f"{value:,.{places or 1}f}" if place else f"{value:,}") for place, value in enumerate(values)]
    # What is around a number has no marks that the notation would change.
    return Column("number", [cell.translate(_NOTATIONS[notation]) for cell in cells], values)


def _dates(rng: Random, count: int) -> Column:
    form = rng.choice(_DATES)
    spread = rng.choice([3, 400, 30_000]) * 86_400
    drawn = [_EPOCH + dt.timedelta(seconds=rng.randrange(spread)) for _ in range(count - 1)]
    cells = [moment.strftime(form) for moment in [dt.datetime(2020, 12, 31, 15), *drawn]]
    return Column("date", cells, [(dt.datetime.strptime(cell, form) - _EPOCH) / dt.timedelta(days=1) for cell in cells])


def _truth(rng: Random, count: int) -> Column:
    pair = rng.choice(_TRUTH)
    said = [True, False, *(rng.random() < 0.5 for _ in range(count))][:count]
    cells = [rng.choice([str.lower, str.upper, str.title])(pair[not each]) for each in said]
    return Column("number", cells, [float(each) for each in said])
