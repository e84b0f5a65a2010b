"""Where a study is kept: an Optuna storage by its URL or path, and its failures in one sentence."""

import contextlib
import logging
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphmix.errors import ConfigError, RunError
from graphmix.text import name_for_screen

if TYPE_CHECKING:
    import optuna

# How long to wait for another process that writes, in seconds.
_WAIT = 10
# How often to try again to make tables that another process makes, and the seconds between.
_TRIES, _PAUSE = 10, 0.2
_JOURNALS = (".log", ".journal")


def open_storage(storage: str | Path | None) -> "tuple[optuna.storages.BaseStorage, str]":
    """Return an Optuna storage, and its name for messages, without a password.

    Args:
        storage: a URL such as sqlite:///study.db or postgresql://host/name; the path of an SQLite file, or of a
            journal, which ends in .log; or None for one in memory.

    Raises:
        ConfigError: it is neither.
        RunError: it cannot be opened.
    """
    import optuna
    from optuna.storages.journal import JournalRedisBackend

    if storage is None:
        return optuna.storages.InMemoryStorage(), "memory"
    text = str(storage)
    place = _without_password(text)
    with reporting(place):
        if "://" not in text:
            return _open_path(Path(text), place)
        if text.startswith("redis"):
            return optuna.storages.JournalStorage(JournalRedisBackend(text)), place
        return _open_database(text), place


def _open_path(path: Path, place: str) -> "tuple[optuna.storages.BaseStorage, str]":
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    if not path.parent.is_dir():
        raise RunError(f"{place} cannot be made: the folder {path.parent} does not exist; choose another `storage`")
    if path.suffix.lower() not in _JOURNALS:
        from sqlalchemy.engine import URL

        url = URL.create("sqlite", database=str(path)).render_as_string(hide_password=False)
        # Optuna takes braces in a URL for places to fill in.
        return _open_database(url.replace("{", "{{").replace("}", "}}")), place
    return JournalStorage(JournalFileBackend(str(path))), place


def _open_database(url: str) -> "optuna.storages.BaseStorage":
    import optuna
    from sqlalchemy.exc import IntegrityError, OperationalError, ProgrammingError

    options: dict[str, Any] = {"connect_args": {"timeout": _WAIT}} if url.startswith("sqlite") else {}
    for _ in range(_TRIES):
        try:
            return optuna.storages.RDBStorage(url, engine_kwargs=options)
        except (IntegrityError, OperationalError, ProgrammingError) as error:
            # Another process makes the same tables at this moment.
            if not isinstance(error, IntegrityError) and "exists" not in str(error):
                raise
            time.sleep(_PAUSE)
        except AssertionError:  # it looks into its folder for the versions of its tables
            raise OSError("Optuna cannot read its own files; too many files may be open") from None
    return optuna.storages.RDBStorage(url, engine_kwargs=options)


def _without_password(url: str) -> str:
    if "://" not in url:
        return name_for_screen(url)
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        return name_for_screen(make_url(url).render_as_string(hide_password=True))
    except (ArgumentError, ValueError) as error:
        raise ConfigError("`storage` must be a URL such as sqlite:///study.db, or the path of a file") from error


@contextlib.contextmanager
def reporting(place: str) -> Iterator[None]:
    """Turn what a storage raises into one sentence that names it, and keep Optuna from printing.

    Raises:
        RunError: the storage is locked, cannot be reached, or is none.
    """
    import optuna
    from sqlalchemy.exc import ArgumentError, SQLAlchemyError

    with _quiet():
        try:
            yield
        except optuna.exceptions.UpdateFinishedTrialError:
            raise
        except (optuna.exceptions.StorageInternalError, SQLAlchemyError, ArgumentError, ImportError, OSError) as error:
            if isinstance(error, ImportError):
                raise RunError(f"the storage {place} needs a package: {_first_line(error)}") from error
            raise RunError(f"the storage {place} cannot be used: {_reason(error)}") from error
        except (RuntimeError, ValueError) as error:
            if not _is_of_storage(error):
                raise
            raise RunError(f"the storage {place} cannot be used: {_first_line(error)}") from error


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Show only Optuna's errors: what it tells of every point is told in our own words."""
    logger = logging.getLogger("optuna")
    before = logger.level
    logger.setLevel(logging.ERROR + 1)
    try:
        yield
    finally:
        logger.setLevel(before)


def _reason(error: BaseException) -> str:
    """The reason that a driver gives, which is the innermost; in words of its own only if we know none better."""
    while error.__cause__ is not None:
        error = error.__cause__
    text = _first_line(getattr(error, "orig", None) or error)
    if "locked" in text:
        return f"another program has locked it for more than {_WAIT} s; close that program, or choose another `storage`"
    if "not a database" in text:
        return "it is not a database; choose another `storage`"
    return text


def _first_line(error: BaseException) -> str:
    return name_for_screen((str(error) or type(error).__name__).splitlines()[0])


def _is_of_storage(error: BaseException) -> bool:
    """Whether Optuna says that the tables of a database are those of another version or program."""
    return "schema" in str(error) or "storage" in str(error)
