"""The layout of a text table: its separator, its columns, and what is above its first row."""

import contextlib
import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass

from graphmix.errors import DataError
from graphmix.tables.checked_text import CheckedText
from graphmix.tables.headers import has_column_names, has_usual_name, is_header
from graphmix.tables.reading import UTF8, Reading
from graphmix.tables.simplified import check_names

# Of the first line's candidates the first that is there; in a .txt file the most frequent.
SEPARATORS = {".csv": ",;\t|", ".tsv": "\t", ".tab": "\t", ".txt": "\t,;|"}
LONGEST_HEADER = 2**20
_LINE_BREAK = re.compile(rb"[\r\n]+")
# Excel reads the separator from such a first line.
_SEPARATOR_LINE = re.compile(r'"?sep=([,;|\t])"?', re.IGNORECASE)
_COMMENT = "#"
# With spaces as separators.
_QUOTED_CELL = re.compile(r'(?<!\S)"[^"]*(?:""[^"]*)*"(?!\S)')
# How many lines must have the same number of cells for spaces to be separators.
_LINES_COMPARED = 20
# How many characters are looked at to say whether the first row is a header; a table is read in larger pieces.
_COMPARED = 2**16


@dataclass(frozen=True)
class Layout:
    """What the top of a file says about the rest.

    Attributes:
        separator: the character between cells.
        names: the columns.
        unnamed: how many columns without a name follow them; spreadsheets leave such columns, without a cell.
        skipped: how many lines are above the header, or the first row, in the file that pyarrow reads.
        has_header: whether a header follows these lines.
        above: how many lines are above the first row, without empty ones at the top.
        has_bare_returns: whether lines may end in a carriage return alone.
    """

    separator: str
    names: list[str]
    unnamed: int
    skipped: int
    has_header: bool
    above: int
    has_bare_returns: bool

    @property
    def all_names(self) -> list[str]:
        """A name for every column of the file; those without one are called by a line break, as no header can."""
        return [*self.names, *("\n" * number for number in range(1, self.unnamed + 1))]


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
    above, separator, cells = _find_top(path.name, decoded, lines, ending)
    commented = _header_in_comment(decoded, lines, above, separator) if reading.has_header else None
    if not reading.has_header:
        names = [f"column {number}" for number in range(1, len(cells) + 1)]
    else:
        names = commented or [cell.strip() for cell in cells]
    has_header = reading.has_header and commented is None
    named = len(names)
    while named > 1 and not names[named - 1]:
        named -= 1
    check_names(names[:named], str(path))
    # CheckedText has left the empty lines at the top out, and so has a copy in UTF-8.
    empty = text.skipped if text.is_utf8 else 0
    unnamed = len(names) - named
    bare = b"\r" in head.rstrip()
    return Layout(separator, names[:named], unnamed, empty + above, has_header, above + has_header, bare)


def _find_top(name: str, decoded: str, lines: list[str], ending: str) -> tuple[int, str, list[str]]:
    """Return how many lines to skip, the separator, and the cells of the first line that is not skipped."""
    if told := _SEPARATOR_LINE.fullmatch(lines[0]):
        above = _next_filled(lines, 1)
        if above == len(lines):
            raise DataError(f"{name} has a separator in its first line, but no rows")
        return above, told[1], _first_cells(name, decoded, above, told[1])
    marked = next((number for number, line in enumerate(lines) if not line.startswith(_COMMENT)), len(lines))
    above = _next_filled(lines, marked) if marked else 0
    # Only lines with a mark: they are not comments.
    above = above if above < len(lines) else 0
    separator = _find_separator(name, lines[above:], ending)
    cells = _first_cells(name, decoded, above, separator)
    if above and not _are_comments(lines[:marked], len(cells), separator):
        return 0, separator, _first_cells(name, decoded, 0, separator)
    return above, separator, cells


def _next_filled(lines: list[str], start: int) -> int:
    """Return the number of the first line from `start` on that is not empty; that of all lines if there is none."""
    return next((number for number in range(start, len(lines)) if lines[number]), len(lines))


def _are_comments(lines: list[str], cells: int, separator: str) -> bool:
    """Whether lines that begin with # are comments, and not a header or rows: ids may begin with # too."""
    if cells == 1:
        return all(line.startswith(f"{_COMMENT} ") for line in lines)
    return lines[0].startswith(f"{_COMMENT} ") or any(line.count(separator) + 1 != cells for line in lines)


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
    compared = [_QUOTED_CELL.sub("x", line) for line in (compared[:-1] if len(compared) > 2 else compared)]
    cells = {len(line.split()) for line in compared}
    if len(cells) != 1 or cells == {1}:
        return False
    if {len(line.split(" ")) for line in compared} != cells:
        raise DataError(f"{name}: several spaces separate its cells; separate them by one tab or comma each")
    return True


def _first_cells(name: str, decoded: str, above: int, separator: str) -> list[str]:
    """Return the cells of the first line that is not skipped."""
    try:
        return next(_rows(decoded, above, separator))
    except csv.Error as error:
        raise DataError(f"{name}: its first line is not a header: {error}") from error


def _rows(decoded: str, above: int, separator: str, most: int | None = None) -> Iterator[list[str]]:
    """Yield the rows below the lines that are skipped; of so many characters at most."""
    body = re.split(r"\r\n|\r|\n", decoded, maxsplit=above)[-1] if above else decoded
    # A row that would be cut is left out.
    end = len(body) if most is None or len(body) <= most else body.rfind("\n", 0, most) + 1
    return csv.reader(io.StringIO(body[:end], newline=""), delimiter=separator)


def _following(decoded: str, above: int, separator: str) -> list[list[str]]:
    """Return rows below the first one that are not empty: the same ones, however much of the file was read."""
    rows: list[list[str]] = []
    # A cell that is too long for `csv` is not a name or a number.
    with contextlib.suppress(csv.Error):
        rows.extend(_rows(decoded, above, separator, _COMPARED))
    return [row for row in rows[1:] if row]


def _header_in_comment(decoded: str, lines: list[str], above: int, separator: str) -> list[str] | None:
    """Return the columns that the last comment names, as many as the first row has cells.

    None if it names none, or if the first row is the header. With spaces between cells a comment of three words looks
    like the names of three columns; with another separator only the most usual names are taken for a header, because a
    row that is taken for one is lost.
    """
    comments = [line for line in lines[:above] if line.startswith(_COMMENT)]
    if not comments:
        return None
    first, following = next(_rows(decoded, above, separator)), _following(decoded, above, separator)
    written = comments[-1].lstrip(f"{_COMMENT} ")
    names = [name.strip() for name in (written.split() if separator == " " else written.split(separator))]
    if len(names) != len(first) or len(names) == 1:
        return None
    if names == first:
        return None
    is_likely = is_header(first, following) if separator == " " else has_column_names(first, following)
    return None if is_likely and not has_usual_name(names) else names
