"""The text of a JSON file, read with no more trust than a stranger's file deserves."""

import json
import math
from pathlib import Path
from typing import Any, NoReturn

from graphmix.errors import RunError


def load(path: Path) -> dict[str, Any]:
    """Read a JSON file that must hold an object.

    Raises:
        RunError: it is missing, unreadable, half-written or not JSON.
    """
    try:
        raw = json.loads(path.read_bytes().decode(), parse_constant=_refuse_constant, parse_float=_finite)
    except OSError as error:
        raise RunError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise RunError(f"{path} cannot be read: byte {error.start} is not UTF-8 text") from error
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise RunError(f"{path} is damaged or half-written: {where}: {error.msg}") from error
    except (ValueError, RecursionError) as error:  # NaN, a number of 5,000 digits, 5,000 brackets
        raise RunError(f"{path} cannot be read as JSON: {error}") from error
    if not isinstance(raw, dict):
        raise RunError(f"{path} is not a results file of graphmix: it holds no JSON object")
    return raw


def _finite(text: str) -> float:
    # A page's script cannot read infinity, even in a setting that is not drawn.
    if not math.isfinite(number := float(text)):
        raise ValueError(f"it contains {text}, which is too large a number")
    return number


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"it contains {name}")
