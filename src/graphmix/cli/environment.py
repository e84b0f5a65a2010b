"""What a process is given: variables that other packages trust, and the current folder."""

import os
from pathlib import Path

from graphmix.errors import RunError

_SIZES = ("COLUMNS", "LINES", "TERMINAL_WIDTH")
# Nothing can be laid out in less, and no screen is wider.
_LEAST, _MOST = 10, 10_000


def forget_odd_sizes() -> None:
    """Unset sizes of the screen that are not valid, before the packages that read them are imported."""
    for name in _SIZES:
        value = os.environ.get(name, "")
        if value and not (value.isascii() and value.isdecimal() and _LEAST <= int(value[:9]) <= _MOST):
            del os.environ[name]


def require_current_folder() -> None:
    """Raise RunError if the current folder was deleted: relative paths lead nowhere, and torch's libraries abort."""
    try:
        Path.cwd()
    except OSError as error:
        raise RunError("the current folder does not exist any more; change to another one") from error
