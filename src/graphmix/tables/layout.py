"""The layout of a text table: its separator, its columns, and what is above its first row."""

import csv
import io
import re
from dataclasses import dataclass

from graphmix.errors import DataError
from graphmix.tables.checked_text import CheckedText
from graphmix.tables.reading import UTF8, Reading
from graphmix.tables.simplified import check_names

# Of the first line's candidates the first that is there; in a .txt file the most frequent.
SEPARATORS = {".csv": ",;\t|", ".tsv": "\t", ".tab": "\t", ".txt": "\t,;|"}
LONGEST_HEADER = 2**20
_LINE_BREAK = re.compile(rb"[\r\n]+")
# Excel reads the separator from such a first line.
_SEPARATOR_LINE = re.compile(r'"?sep=([,;|\t])"?', re.IGNORECASE)
_COMMENT = "#"
# How many lines must have the same number of cells for spaces to be separators.
_LINES_COMPARED = 20


@dataclass(frozen=True)
class Layout:
    """What the top of a file says about the rest.

    Attributes:
        separator: the character between cells.
        names: the columns.
        skipped: how many lines are above the header, or the first row, in the file that pyarrow reads.
        has_header: whether a header follows these lines.
        above: how many lines are above the first row, empty ones not counted.
        has_bare_returns: whether lines may end in a carriage return alone.
    """

    separator: str
    names: list[str]
    skipped: int
    has_header: bool
    above: int
    has_bare_returns: bool


def is_enough(head: bytes) -> bool:
    """Whether the top of a file has its header and first row, or is too long to have one."""
    if len(head) > LONGEST_HEADER:
        return True
    lines = _LINE_BREAK.split(head)
    comments = next((number for number, line in enumerate(lines) if not line.startswith(b"#")), len(lines))
    # A line break between two quotes is part of a name.
    return len(lines) > comments + 2 and head.count(b'"') % 2 == 0


def find_layout(text: CheckedText, head: bytes, ending: str, reading: Reading) -> Layout:
    """Find the layout of a file in the top of its text.

    Raises:
        DataError: the file is empty, or its header is invalid.
    """
    path, decoded = text.path, head.decode(UTF8, errors="ignore")
    if not decoded.strip():
        raise DataError(f"{path} is empty")
    lines = decoded.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if len(lines) == 1 and len(head) > LONGEST_HEADER:
        raise DataError(f"{path}: its header is longer than {LONGEST_HEADER // 2**20} MiB")
    told = _SEPARATOR_LINE.fullmatch(lines[0])
    above = 1 if told else _count_comments(lines)
    separator = told[1] if told else _find_separator(path.name, lines[above:], ending)
    cells = _first_cells(path.name, decoded, above, separator)
    commented = None if told or not reading.has_header else _header_in_comment(lines, above, len(cells), separator)
    if not reading.has_header:
        names = [f"column {number}" for number in range(1, len(cells) + 1)]
    else:
        names = commented or [cell.strip() for cell in cells]
    has_header = reading.has_header and commented is None
    check_names(names, str(path))
    # CheckedText has left the empty lines at the top out, and so has a copy in UTF-8.
    empty = text.skipped if text.is_utf8 else 0
    return Layout(separator, names, empty + above, has_header, above + has_header, b"\r" in head.rstrip())


def _count_comments(lines: list[str]) -> int:
    """Return how many lines at the top are comments; 0 if there is nothing else."""
    comments = next((number for number, line in enumerate(lines) if not line.startswith(_COMMENT)), 0)
    return comments if any(line.strip() for line in lines[comments:]) else 0


def _find_separator(name: str, lines: list[str], ending: str) -> str:
    # A separator inside quotes is part of a name.
    bare = "".join(lines[0].split('"')[::2])
    candidates = SEPARATORS[ending]
    if ending != ".txt":
        return next((candidate for candidate in candidates if candidate in bare), candidates[0])
    separator = max(candidates, key=bare.count)
    return " " if separator not in bare and _are_spaced(name, lines) else separator


def _are_spaced(name: str, lines: list[str]) -> bool:
    """Whether a space is between any two cells, as in many lists of edges.

    Raises:
        DataError: several spaces are.
    """
    # The last line may have been cut.
    compared = [line.strip() for line in lines[: _LINES_COMPARED + 1] if line.strip()]
    compared = compared[:-1] if len(compared) > 2 else compared
    cells = {len(line.split()) for line in compared}
    if len(cells) != 1 or cells == {1}:
        return False
    if {len(line.split(" ")) for line in compared} != cells:
        raise DataError(f"{name}: several spaces separate its cells; separate them by one tab or comma each")
    return True


def _first_cells(name: str, decoded: str, above: int, separator: str) -> list[str]:
    """Return the cells of the first line that is not skipped."""
    body = re.split(r"\r\n|\r|\n", decoded, maxsplit=above)[-1] if above else decoded
    try:
        return next(csv.reader(io.StringIO(body, newline=""), delimiter=separator))
    except csv.Error as error:
        raise DataError(f"{name}: its first line is not a header: {error}") from error


def _header_in_comment(lines: list[str], above: int, cells: int, separator: str) -> list[str] | None:
    """Return the columns that the last comment names: as many as the first row has cells; None if it names none."""
    if not above:
        return None
    last = lines[above - 1]
    # `#id` alone at the top is the name of a column; below or after other comments, the mark is not part of it.
    named = last.lstrip(f"{_COMMENT} ") if above > 1 or last.startswith(f"{_COMMENT} ") else last
    names = [name.strip() for name in named.split(separator)]
    return names if len(names) == cells and (cells > 1 or above == 1) else None
