"""Standard input as a file, and standard output as a place for a table: `-` on the command line."""

import io
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from graphmix.cli.screen import announce
from graphmix.errors import ConfigError
from graphmix.limits import gzip_pieces

DASH = Path("-")
# What a table of predictions is on standard output.
AS_CSV = Path("standard output.csv")
_PARQUET, _GZIP = b"PAR1", b"\x1f\x8b"
_BEGINNING = 4096


@contextmanager
def standard_input(*paths: Path | None) -> Iterator[list[Path | None]]:
    """Yield paths, with a temporary file in the place of `-` that holds what standard input gives.

    Tables are read more than once, which a pipe cannot be.

    Raises:
        ConfigError: more than one path is `-`, or standard input is closed.
    """
    if paths.count(DASH) > 1:
        raise ConfigError("standard input, -, can be only one of the tables")
    if DASH not in paths:
        yield list(paths)
        return
    if sys.stdin is None or sys.stdin.closed:
        raise ConfigError("standard input is closed; give the name of a file instead of -")
    with tempfile.TemporaryDirectory() as folder:
        announce("reading standard input")
        held = _copy(Path(folder))
        yield [held if path == DASH else path for path in paths]


def write_output(content: Iterable[bytes]) -> None:
    """Write bytes, which come in pieces, to standard output."""
    sys.stdout.flush()
    sys.stdout.buffer.writelines(content)
    sys.stdout.buffer.flush()


def _copy(folder: Path) -> Path:
    """Copy standard input into a file whose name says what it is: tab- or comma-separated text, gzip or Parquet."""
    stream = sys.stdin.buffer
    beginning = stream.read(_BEGINNING)
    path = folder / f"standard input{_ending(beginning)}"
    with path.open("wb") as file:
        file.write(beginning)
        shutil.copyfileobj(stream, file)
    return path


def _ending(beginning: bytes) -> str:
    """Return the ending of a file's name for what the file begins with."""
    if beginning.startswith(_PARQUET):
        return ".parquet"
    if beginning.startswith(_GZIP):
        return f"{_separated(b''.join(piece for piece, _ in gzip_pieces(io.BytesIO(beginning))))}.gz"
    return _separated(beginning)


def _separated(text: bytes) -> str:
    line = text.split(b"\n", 1)[0]
    return ".tsv" if b"\t" in line and b"," not in line else ".csv"
