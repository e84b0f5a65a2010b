"""Folders that a run or a fit writes to: new, empty, or begun by the same command."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

from graphmix.errors import RunError
from graphmix.files import is_temporary
from graphmix.storage.lock import LOCK


def make_folder(folder: Path) -> None:
    """Make a folder and its parents, unless it is there.

    Raises:
        RunError: it cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"{folder} cannot be made: {error.strerror}") from error


def check_no_other_files(folder: Path, allowed: Collection[str] = (), parameter: str = "out") -> None:
    """Raise RunError if a folder is a file, or holds files of another name; locks and temporary files do not count.

    Args:
        folder: may be missing.
        allowed: names that may be there already.
        parameter: the parameter that the user gave the folder as, for the message.
    """
    if not folder.exists():
        return
    if not folder.is_dir():
        raise RunError(f"{folder} is a file; choose another `{parameter}`")
    other = sorted(
        path.name for path in folder.iterdir() if path.name not in (LOCK, *allowed) and not is_temporary(path.name)
    )
    if other:
        raise RunError(f"{folder} holds other files ({other[0]}); choose another `{parameter}` or an empty folder")


def first_difference(begun: dict[str, Any], asked: dict[str, Any]) -> str | None:
    """The first name in `asked` that has another value in `begun`; None if all agree."""
    return next((name for name, value in asked.items() if begun.get(name) != value), None)
