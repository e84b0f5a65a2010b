"""Standard output and standard error that may be closed, full, or a pipe that nobody reads any more.

Losing standard output ends the command: OutputLost is raised once, and what is written later is dropped, so that
Python's own flush at the end finds nothing to fail on. Losing standard error changes nothing, as nobody can be told.
"""

import errno
import io
import os
import select
import sys
from collections.abc import Callable
from typing import Any, TextIO

OUTPUT, ERRORS = 1, 2


class OutputLost(Exception):  # noqa: N818 - named after the state, not after the error
    """Standard output cannot be written. Not an OSError: typer swallows those of pipes."""


class _Guarded(io.FileIO):
    """A descriptor that is written until that fails, and then takes everything and keeps nothing."""

    def __init__(self, number: int, fail: Callable[[OSError], None]) -> None:
        super().__init__(number, "w", closefd=False)
        self._fail, self._lost = fail, False

    def write(self, data: Any) -> int:
        """Write bytes, all or a part of them."""
        while not self._lost:
            try:
                written = super().write(data)
            except OSError as error:
                self._lost = True
                self._fail(error)
                break
            if written is not None:
                return written
            # The descriptor does not wait by itself: another program that has it too chose so.
            select.select([], [self], [])
        return len(data)


def guard_streams() -> None:
    """Put guarded streams in the place of the process's own; streams of a test are left alone.

    A terminal that cannot show "±" gets a question mark, not a traceback after an hour's training.
    """
    sys.stdout = _guarded(sys.stdout, OUTPUT, _raise)
    sys.stderr = _guarded(sys.stderr, ERRORS, _ignore)


def _guarded(stream: TextIO | None, number: int, fail: Callable[[OSError], None]) -> TextIO:
    if stream is None:
        # It was closed when Python began. Whatever is opened next would get its number, and what is printed.
        _occupy(number)
        encoding, terminal = "utf-8", False
    elif isinstance(stream, io.TextIOWrapper) and isinstance(getattr(stream.buffer, "raw", stream.buffer), io.FileIO):
        encoding, terminal = stream.encoding, stream.isatty()
    else:
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
        return stream
    raw = _Guarded(number, fail)
    return io.TextIOWrapper(
        io.BufferedWriter(raw), encoding, errors="replace", line_buffering=terminal or number == ERRORS
    )


def _occupy(number: int) -> None:
    """Give a closed descriptor something that can be opened but not written."""
    try:
        os.fstat(number)
    except OSError:
        null = os.open(os.devnull, os.O_RDONLY)
        if null != number:
            os.dup2(null, number)
            os.close(null)


def _raise(error: OSError) -> None:
    told = "it is closed" if error.errno == errno.EBADF else error.strerror or str(error)
    raise OutputLost(f"standard output cannot be written: {told}") from error


def _ignore(error: OSError) -> None:
    """Nobody can be told."""
