"""Folders that a run or a fit writes to: new, empty, or begun by the same command."""

import contextlib
import os
import shutil
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from graphmix.errors import RunError
from graphmix.files import is_temporary
from graphmix.storage.lock import LOCK, may_lock

# The files of a run's folder.
CONFIG, RESULTS, WEIGHTS, CURVES, PARTS, DETAILS = (
    "config.json",
    "results.json",
    "weights.safetensors",
    "curves.safetensors",
    "parts",
    "details.json",
)
# The files of a model's folder besides its parts; what was asked for is in CONFIG too.
MODEL, CLASSIFIER, METRICS, PREDICTIONS = "model.json", "classifier.json", "metrics.json", "predictions.csv"
# The files of a search's folder.
TUNED, BEST, STUDY = "tune.json", "best.toml", "study.db"
# The report of any folder.
PAGE = "report.html"
# The folder in a model's folder where `graphmix label` keeps answers.
LABELS = "labels"
# What `graphmix reproduce` keeps beside its records.
CELLS, WORK = "cells", "work"


def make_folder(folder: Path) -> None:
    """Make a folder and its parents, unless it is there.

    Raises:
        RunError: it cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"{folder} cannot be made: {error.strerror}") from error


@contextlib.contextmanager
def making_folder(folder: Path) -> Iterator[None]:
    """Make a folder and its parents, unless it is there; at the end, remove those that were made and are empty.

    Raises:
        RunError: it cannot be made.
    """
    new = [each for each in (folder, *folder.parents) if not each.exists()]
    try:
        make_folder(folder)
        yield
    finally:
        for each in new:
            # Only an empty folder can be removed.
            with contextlib.suppress(OSError):
                each.rmdir()


def make_empty(folder: Path) -> None:
    """Make a folder for temporary files that only this user can read; what a killed process left in it goes.

    Raises:
        RunError: it cannot be made, or what is in it cannot be removed.
    """
    try:
        if folder.exists():
            shutil.rmtree(folder)
        folder.mkdir(mode=0o700)
    except OSError as error:
        raise RunError(f"{folder} cannot be made anew: {error.strerror or error}; delete it") from error


def check_can_be_made(folder: Path, parameter: str = "out") -> None:
    """Raise RunError unless a folder is there and can be written, or can be made; before anything slow begins."""
    try:
        there = next(each for each in (folder, *folder.absolute().parents) if _is_there(each))
    except OSError as error:
        raise RunError(f"{folder} cannot be made: {error.strerror}; choose another `{parameter}`") from error
    wrong = None
    if not there.is_dir():
        wrong = "is a file" if there.is_file() else "is not a folder"
    elif not os.access(there, os.W_OK | os.X_OK):
        wrong = "cannot be written"
    if wrong is not None:
        told = f"{folder} {wrong}" if there == folder else f"{folder} cannot be made, because {there} {wrong}"
        raise RunError(f"{told}; choose another `{parameter}`")


def _is_there(path: Path) -> bool:
    """Whether there is anything: a link that leads nowhere is in the way too."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


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
    own = (*allowed, LOCK) if may_lock(folder) else allowed
    other = sorted(path.name for path in folder.iterdir() if path.name not in own and not is_temporary(path.name))
    if other:
        raise RunError(f"{folder} holds other files ({other[0]}); choose another `{parameter}` or an empty folder")


def check_no_links(folder: Path) -> None:
    """Raise RunError if a folder that is written to holds links: in one from elsewhere they may lead anywhere."""
    links = sorted(path.name for path in folder.iterdir() if path.is_symlink()) if folder.is_dir() else []
    if links:
        raise RunError(f"{folder / links[0]} is a link, and may lead anywhere; replace it by what it leads to")


def check_run_folder(folder: Path) -> None:
    """Raise RunError if a folder holds a finished run, or anything but a run; before anything slow begins."""
    if (folder / RESULTS).exists():
        raise RunError(f"{folder} holds a finished run; choose another `out` or delete it")
    check_no_links(folder)
    _check_no_model(folder)
    if (folder / CONFIG).exists():
        return
    parts = [path for path in (folder / PARTS).glob("*") if not is_temporary(path.name)]
    check_no_other_files(folder, () if parts else (PARTS,))
    check_can_be_made(folder)


def check_tune_folder(folder: Path) -> None:
    """Raise RunError if a folder cannot be made, or holds anything but a search; before anything slow begins."""
    check_no_links(folder)
    # SQLite keeps a journal beside a database while it writes.
    check_no_other_files(folder, (TUNED, BEST, PAGE, STUDY, f"{STUDY}-journal", f"{STUDY}-wal", f"{STUDY}-shm"))
    check_can_be_made(folder)


def check_results_folder(folder: Path) -> None:
    """Raise RunError if a folder for the records of experiments cannot be made, or is that of a model or a run."""
    _check_no_model(folder)
    if (folder / CONFIG).exists():
        raise RunError(f"{folder} holds a run; choose another `out`")
    for part in (folder, folder / CELLS, folder / WORK):
        check_can_be_made(part)


def _check_no_model(folder: Path) -> None:
    if (folder / MODEL).exists():
        raise RunError(f"{folder} holds a model; choose another `out`")


def lacks_details(folder: Path) -> bool:
    """Whether a folder holds the finished run of a network whose details were never written: its command was killed."""
    finished = (folder / CONFIG).exists() and (folder / RESULTS).exists()
    return finished and not (folder / DETAILS).exists()


def first_difference(begun: dict[str, Any], asked: dict[str, Any]) -> str | None:
    """The first name in `asked` that has another value in `begun`; None if all agree."""
    return next((name for name, value in asked.items() if begun.get(name) != value), None)
