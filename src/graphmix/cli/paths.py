"""Whether what a command is to read exists: checked before torch is imported, so that a typing error shows at once."""

from pathlib import Path

from graphmix.data import is_file
from graphmix.errors import DataError, RunError
from graphmix.files import require_plain
from graphmix.storage.found import describe_place, is_model


def require_files(*paths: Path | None) -> None:
    """Raise a DataError unless every file exists; None stands for an option that was not given."""
    for path in paths:
        if path is not None and not path.exists():
            raise DataError(f"there is no file {path}")


def require_graphs(*names: str | None) -> None:
    """Raise a DataError unless every graph or split that is named by its file is a plain file; others are ignored."""
    for name in names:
        if name is not None and is_file(name):
            require_files(Path(name))
            require_plain(Path(name))


def require_model(folder: Path) -> None:
    """Raise a RunError unless a folder holds a model; the message says what it is instead."""
    if not is_model(folder):
        raise RunError(f"{folder} is not a model's folder: {describe_place(folder)}")
