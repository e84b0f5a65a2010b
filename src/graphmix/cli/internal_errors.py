"""What nobody foresaw: one sentence for the person, the traceback in a log file, and an exit code of its own.

Only the standard library is imported here, so that a broken installation is told in the same way.
"""

import contextlib
import os
import platform
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from graphmix.cli.interrupts import INTERRUPTED, end
from graphmix.distribution import __version__

INTERNAL = 70

_LONGEST = 200
_PACKAGES = ("numpy", "scipy", "scikit-learn", "pyarrow", "torch", "typer", "rich", "safetensors")
# The logs of errors that Python could not raise.
_unraisable: list[Path | None] = []


def describe(error: BaseException) -> str:
    """Write the log of an error, and return the sentence to show."""
    path = write_log(error)
    log = "no log file could be written" if path is None else f"please report it with the log file {path}"
    return f"internal error ({summary(error)}); {log}"


def show(error: BaseException) -> None:
    """Write the log of an error, and say so on standard error if there is one; for errors outside of commands."""
    told = describe(error)
    if sys.stderr is not None:
        sys.stderr.write(f"graphmix: {told}\n")


def summary(error: BaseException) -> str:
    """Return the kind of an error and the beginning of its message."""
    name = type(error).__name__
    try:
        text = " ".join(str(error).split())
    except Exception:  # noqa: BLE001 - its own message may be what is broken
        text = ""
    text = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    return f"{name}: {text}" if text else name


def write_log(error: BaseException) -> Path | None:
    """Write the traceback of an error to a new file; None if that is possible nowhere."""
    text = f"{_circumstances()}\n{''.join(traceback.format_exception(error))}"
    for folder in _folders():
        with contextlib.suppress(OSError, ValueError):
            folder.mkdir(parents=True, exist_ok=True)
            name = f"error-{time.strftime('%Y%m%d-%H%M%S')}-"
            handle, path = tempfile.mkstemp(prefix=name, suffix=".log", dir=folder)
            with os.fdopen(handle, "wb") as stream:
                stream.write(text.encode("utf-8", "backslashreplace"))
            return Path(path)
    return None


def log_threads() -> None:
    """Let errors that end a thread, or that Python cannot raise, go to a log instead of the terminal."""
    threading.excepthook = _log_thread
    sys.unraisablehook = _log_unraisable


def _log_thread(ended: threading.ExceptHookArgs) -> None:
    if ended.exc_value is not None and not isinstance(ended.exc_value, SystemExit):
        show(ended.exc_value)


def _log_unraisable(ended: "sys.UnraisableHookArgs") -> None:
    # Ctrl-C or a request to terminate met a place that cannot raise it: it must not be lost.
    if isinstance(ended.exc_value, KeyboardInterrupt):
        end(INTERRUPTED)
    if isinstance(ended.exc_value, SystemExit):
        end(ended.exc_value.code if isinstance(ended.exc_value.code, int) else INTERNAL)
    # The command goes on; a repeated one is not logged again.
    if ended.exc_value is not None and not _unraisable:
        _unraisable.append(write_log(ended.exc_value))


def _circumstances() -> str:
    lines = [time.strftime("%Y-%m-%d %H:%M:%S"), f"command: {sys.argv!r}"]
    lines.append(f"Python {platform.python_version()} on {platform.platform()}")
    lines.append(f"graphmix {__version__}")
    for package in _PACKAGES:
        with contextlib.suppress(PackageNotFoundError, OSError):  # too many files may be open
            lines.append(f"{package} {version(package)}")
    return "\n".join(lines) + "\n"


def _folders() -> Iterator[Path]:
    """The folders for logs, the best first: beside the cache that somebody chose, the platform's, or for any file."""
    if chosen := os.environ.get("GRAPHMIX_CACHE"):
        yield Path(chosen) / "logs"
    # RuntimeError: no HOME, and no entry in the list of users.
    with contextlib.suppress(ImportError, RuntimeError):
        import platformdirs

        place = platformdirs.user_log_path("graphmix", appauthor=False, opinion=False)
        # Older versions of platformdirs leave the "~" there then.
        if place.is_absolute():
            yield place
    with contextlib.suppress(OSError):  # no folder for temporary files can be written
        yield Path(tempfile.gettempdir())
