"""Example tables: the districts of an invented country, with their borders and the results of a vote.

No district, name or number is real. The table looks like one that people publish: codes with leading zeros, names,
thousands separators, spaces around numbers, percent signs, missing cells. The vote of a few districts is known. Two
things decide it: what the columns say, and a mood of the region that no column holds and that neighbours share. So a
model needs the columns and the borders.

Example:
    >>> tables = districts()
    >>> tables["nodes.csv"][0][:4], len(tables["nodes.csv"]) - 1
    (('code', 'district', 'Prov', 'GraduateRate2023'), 588)
"""

import csv
import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from graphmix.errors import DataError
from graphmix.files import check_output, write_whole

Rows = list[tuple[str, ...]]
Floats = NDArray[np.float64]

_ROWS, _COLUMNS = 24, 25
_NEW = 12
_LABELED = 80
_BORDERS_DROPPED = 0.06
_MISSING = 0.02
_SMOOTHINGS = 12
# How strongly the columns, the region and chance decide the vote.
_BY_COLUMNS, _BY_REGION, _BY_CHANCE = 1.2, 2.0, 0.4
_PROVINCES = ("AR", "BO", "CE", "DU", "EK", "FA", "GO", "HU", "IV", "KA", "LO", "MI")
_BEGINNINGS = """
    Ald Bren Corv Dov Elm Fesk Gald Hust Ister Jorv Kest Lind Morv Nald Orm Pelk Quist Rath Selv Torv Ulv Varn Wesk Yald
    Zorn
"""
_ENDINGS = """
    aby anto avel eck emmen endal erow esta ibor ildra imar inge ithe olm ond onick orra oske ulin umar usk ustad uvik
    yll
"""
_INDUSTRIES = ("mixed", "farming", "mining", "manufacturing", "government", "tourism")
_HEADER = (
    "code",
    "district",
    "Prov",
    "GraduateRate2023",
    "MedianIncome2023",
    "POP_ESTIMATE_2023",
    "R_birth_2023",
    "R_death_2023",
    "R_NET_MIG_2023",
    "Rural-urban code",
    "Main industry",
    "Metro",
    "Labour_force_2023",
    "Employed_2023",
    "Unemployed_2023",
    "Unemployment_rate_2023",
)
EXAMPLE_LABEL = "vote_2024"
_BORDER = ("district_a", "district_b")


def write_districts(folder: Path | str, *, force: bool = False) -> list[Path]:
    """Write the example tables into a folder, which is made if it is missing.

    Args:
        folder: the folder.
        force: whether files of the same names are replaced.

    Returns:
        The paths of nodes.csv, edges.csv, truth.csv, new_nodes.csv and new_edges.csv.

    Raises:
        ConfigError: a file exists already and `force` is not set, or cannot be written.
        DataError: the folder cannot be made.
    """
    folder, tables = Path(folder), districts()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{folder} cannot be made: {error.strerror}; choose another `folder`") from error
    paths = [folder / name for name in tables]
    for path in paths:
        check_output(path, force=force, parameter="folder")
    for path, rows in zip(paths, tables.values(), strict=True):
        write_whole(path, _as_csv(rows))
    return paths


def districts() -> dict[str, Rows]:
    """Make the example tables: rows of text by the name of the file, the header first.

    nodes.csv has 588 districts, 80 of them with a vote, and edges.csv their borders. new_nodes.csv and new_edges.csv
    have 12 districts that were founded later. truth.csv has the votes of all districts whose vote is not in nodes.csv.
    """
    rng = np.random.Generator(np.random.PCG64(14))
    borders = _draw_borders(rng)
    table, merit = _draw_columns(rng, borders)
    region = _smooth(rng.normal(size=_ROWS * _COLUMNS), borders)
    score = _BY_COLUMNS * merit + _BY_REGION * region + _BY_CHANCE * rng.normal(size=len(merit))
    votes = np.where(score > np.quantile(score, 0.6), "For", "Against").tolist()
    order = rng.permutation(len(votes)).tolist()
    new, old = order[:_NEW], order[_NEW:]
    known = set(rng.permutation(old)[:_LABELED].tolist())
    codes = [row[0] for row in table]
    is_new = np.isin(borders, new).any(axis=1)
    return {
        "nodes.csv": [(*_HEADER, EXAMPLE_LABEL), *((*table[i], votes[i] if i in known else "") for i in old)],
        "edges.csv": [_BORDER, *((codes[a], codes[b]) for a, b in borders[~is_new].tolist())],
        "truth.csv": [("code", EXAMPLE_LABEL), *((codes[i], votes[i]) for i in order if i not in known)],
        "new_nodes.csv": [_HEADER, *(table[i] for i in new)],
        "new_edges.csv": [_BORDER, *((codes[a], codes[b]) for a, b in borders[is_new].tolist())],
    }


def _as_csv(rows: Rows) -> bytes:
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(rows)
    return stream.getvalue().encode()


def _draw_borders(rng: np.random.Generator) -> NDArray[np.int64]:
    """Pairs of neighbours `[borders, 2]` on a map of hexagons, of which some borders are left out."""
    place = np.arange(_ROWS * _COLUMNS).reshape(_ROWS, _COLUMNS)
    pairs = [(place[:, :-1], place[:, 1:]), (place[:-1], place[1:])]
    # Every second row is moved by half a hexagon, so its other neighbour above and below is on the right.
    pairs += [(place[1:-1:2, :-1], place[2::2, 1:]), (place[1::2, :-1], place[:-1:2, 1:])]
    borders = np.concatenate([np.stack([a.ravel(), b.ravel()], axis=1) for a, b in pairs])
    return borders[rng.random(len(borders)) >= _BORDERS_DROPPED]


def _smooth(noise: Floats, borders: NDArray[np.int64]) -> Floats:
    """Average over neighbours a few times, then scale to mean 0 and standard deviation 1."""
    a, b = borders.T
    degree = np.bincount(borders.ravel(), minlength=len(noise)) + 1
    for _ in range(_SMOOTHINGS):
        around = np.bincount(a, noise[b], len(noise)) + np.bincount(b, noise[a], len(noise))
        noise = (noise + around) / degree
    return _scaled(noise)


def _scaled(values: Floats) -> Floats:
    scaled: Floats = (values - values.mean()) / values.std()
    return scaled


def _draw_columns(rng: np.random.Generator, borders: NDArray[np.int64]) -> tuple[Rows, Floats]:
    """Draw the columns as people write them, and what they say about the vote `[districts]`."""
    count = _ROWS * _COLUMNS
    urban = _scaled(rng.normal(size=count) + 0.6 * _smooth(rng.normal(size=count), borders))
    graduates = 0.55 * urban + 0.85 * rng.normal(size=count)
    young = rng.normal(size=count)
    income = 0.5 * graduates + 0.3 * urban + 0.8 * rng.normal(size=count)
    industry = np.where(rng.random(count) < 0.4, 0, rng.integers(1, len(_INDUSTRIES), count))
    merit = _scaled(0.8 * urban + 0.9 * graduates + 0.5 * young + 0.7 * (industry == 5) - 0.7 * (industry == 2))
    people = np.exp(10.2 + 1.1 * urban).astype(int)
    force = (people * rng.uniform(0.42, 0.55, count)).astype(int)
    rate = np.clip(5.2 - 0.8 * income + rng.normal(0, 1, count), 1.2, 14)
    jobless = (force * rate / 100).astype(int)
    birth, death = 11.5 + 1.6 * young + rng.normal(0, 0.8, count), 10.5 - 1.5 * young + rng.normal(0, 1, count)
    rural = np.clip(np.round(5 - 2.2 * urban + rng.normal(0, 0.6, count)), 1, 9).astype(int)
    columns: list[Sequence[str]] = [
        *_names(rng),
        [f"{value:.1f}" for value in np.clip(20 + 7.5 * graduates, 5, 70)],
        [f"{value:,}" for value in (46_000 + 9_000 * income).astype(int)],
        [f"{value:,}" for value in people],
        *([f"{value:.1f}" for value in values] for values in (birth, death, 6 * urban + rng.normal(0, 9, count))),
        [str(value) for value in rural],
        [_INDUSTRIES[kind] for kind in industry],
        ["yes" if value <= 3 else "no" for value in rural],
        *([f" {value:,} " for value in values] for values in (force, force - jobless, jobless)),
        [f"{value:.1f} %" for value in 100 * jobless / force],
    ]
    _leave_out(rng, columns)
    return list(zip(*columns, strict=True)), merit


def _names(rng: np.random.Generator) -> tuple[list[str], list[str], list[str]]:
    """Codes with leading zeros, names of which each stands once, and provinces, which are blocks of the map."""
    names = [f"{beginning}{ending} District" for beginning in _BEGINNINGS.split() for ending in _ENDINGS.split()]
    names = [names[i] for i in rng.permutation(len(names)).tolist()]
    row, column = np.divmod(np.arange(_ROWS * _COLUMNS), _COLUMNS)
    province = (row * 3 // _ROWS * 4 + column * 4 // _COLUMNS).tolist()
    # Odd numbers within a province, as where codes were given out with room for later ones.
    codes = [f"{block + 1:02d}{2 * province[:place].count(block) + 1:03d}" for place, block in enumerate(province)]
    return codes, names, [_PROVINCES[block] for block in province]


def _leave_out(rng: np.random.Generator, columns: list[Sequence[str]]) -> None:
    """Replace a few cells by what people write where a number is missing."""
    for place in range(3, len(columns)):
        missing = rng.random(len(columns[place])) < _MISSING
        columns[place] = ["n.a." if lost else cell for cell, lost in zip(columns[place], missing, strict=True)]
