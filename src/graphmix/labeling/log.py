"""AnswerLog: answers in a file that only grows. An answer counts once its line is on the disk."""

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from graphmix.errors import DataError, RunError
from graphmix.files import require_plain

NUMBER = "n"


class Held(NamedTuple):
    """What a log holds.

    Attributes:
        records: the answers.
        size: the bytes that they take.
        is_cut: whether part of an answer follows them.
        is_open: whether the last answer has no line break.
    """

    records: list[dict[str, Any]]
    size: int
    is_cut: bool = False
    is_open: bool = False


class AnswerLog:
    """One JSON object a line, numbered from 1.

    `append` returns when the operating system has the line on the disk. A process that is killed leaves whole lines,
    and at most one that is cut, which nobody was told of. The next one that opens the file removes it. A last line that
    lacks its line break only, as some editors leave it, is whole: no part of a JSON object is one.

    Attributes:
        path: the file.
        records: what it holds.
        dropped: whether a cut line was removed when it was opened.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.records, size, self.dropped, is_open = read_log(path)
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
            if self.dropped:
                os.ftruncate(self._file, size)
            if is_open:
                _write_all(self._file, b"\n")
            os.fsync(self._file)
            _sync_folder(path.parent)
        except OSError as error:
            raise RunError(f"{path} cannot be written: {error.strerror}") from error
        self._size = size + is_open

    def append(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """Add a record; it gets its number, and is on the disk when this returns.

        Raises:
            RunError: it cannot be written; the file is as it was before.
        """
        numbered = {NUMBER: len(self.records) + 1, **record}
        line = (json.dumps(numbered, allow_nan=False) + "\n").encode()
        try:
            _write_all(self._file, line)
            os.fsync(self._file)
        except OSError as error:
            os.ftruncate(self._file, self._size)
            raise RunError(f"{self.path} cannot be written: {error.strerror}; the answer is not stored") from error
        self._size += len(line)
        self.records.append(numbered)
        return numbered

    def close(self) -> None:
        """Close the file; nothing is held back."""
        os.close(self._file)


def read_log(path: Path) -> Held:
    """Read a log without changing it; another process may be appending to it.

    Raises:
        RunError: a line is damaged or missing.
    """
    content = _content(path)
    records: list[dict[str, Any]] = []
    size, is_open = 0, False
    # Not splitlines: a carriage return inside a line is damage, and what follows it is not cut off.
    for line in re.findall(rb"[^\n]*\n|[^\n]+", content):
        record, is_open = _parse(line), not line.endswith(b"\n")
        if record is None and is_open:
            return Held(records, size, is_cut=True)
        if record is None or record.get(NUMBER) != len(records) + 1:
            wrong = f"line {len(records) + 1} is not the answer that was written there"
            raise RunError(f"{path} is damaged: {wrong}; restore the file, or move {path.parent} away to begin anew")
        records.append(record)
        size += len(line)
    return Held(records, size, is_open=is_open)


def _content(path: Path) -> bytes:
    try:
        require_plain(path)
        return path.read_bytes() if path.exists() else b""
    except OSError as error:
        raise RunError(f"{path} cannot be read: {error.strerror}") from error
    except DataError as error:
        raise RunError(str(error)) from error


def _parse(line: bytes) -> dict[str, Any] | None:
    """Return the record of a line; None if it is damaged."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _write_all(file: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(file, view) :]


def _sync_folder(folder: Path) -> None:
    """Store the folder's own entry of a new file; Windows has no such call."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
