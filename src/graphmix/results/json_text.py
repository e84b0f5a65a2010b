"""The text of a JSON file, read with no more trust than a stranger's file deserves."""

import json
import math
from pathlib import Path
from typing import Any, NoReturn

from graphmix.errors import DataError, RunError
from graphmix.files import require_plain

# Parsed, a file takes some ten times its size. The largest that we write have a few million numbers.
_LARGEST = 2**28
# A float has at most so many digits before its point.
_MOST_DIGITS = 310


def load(path: Path) -> dict[str, Any]:
    """Read a JSON file that must hold an object.

    Raises:
        RunError: it is missing, unreadable, too large, half-written or not JSON.
    """
    try:
        require_plain(path)
        if (size := path.stat().st_size) > _LARGEST:
            raise RunError(f"{path} cannot be read: its {size:,} bytes are more than results ever have")
        return parse(path.read_bytes(), path)
    except OSError as error:
        raise RunError(f"{path} cannot be read: {error.strerror}") from error
    except DataError as error:
        raise RunError(str(error)) from error


def parse(content: bytes, path: Path) -> dict[str, Any]:
    """Read the content of such a file; `path` is for the message.

    Raises:
        RunError: it is not JSON, or not an object.
    """
    try:
        raw = json.loads(content.decode(), parse_constant=_refuse_constant, parse_float=_finite, parse_int=_whole)
    except UnicodeDecodeError as error:
        raise RunError(f"{path} cannot be read: byte {error.start} is not UTF-8 text") from error
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise RunError(f"{path} is damaged or half-written: {where}: {error.msg}") from error
    except ValueError as error:  # NaN, a number of 5,000 digits
        raise RunError(f"{path} cannot be read as JSON: {error}") from error
    except RecursionError as error:  # 5,000 brackets
        raise RunError(f"{path} cannot be read as JSON: lists or objects are nested too deeply") from error
    if not isinstance(raw, dict):
        raise RunError(f"{path} is not a results file of graphmix: it holds no JSON object")
    return raw


def _finite(text: str) -> float:
    # A page's script cannot read infinity, even in a setting that is not drawn.
    if not math.isfinite(number := float(text)):
        raise ValueError(f"it contains {text[:40]}, which is too large a number")
    return number


def _whole(text: str) -> int:
    if len(text) > _MOST_DIGITS:
        raise ValueError(f"it contains a number of {len(text):,} digits")
    return int(text)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"it contains {name}")
