"""Whether what a command is to read exists: checked before torch is imported, so that a typing error shows at once."""

from pathlib import Path

from graphmix.errors import DataError, RunError


def require_files(*paths: Path | None) -> None:
    """Raise a DataError unless every file exists; None stands for an option that was not given."""
    for path in paths:
        if path is not None and not path.exists():
            raise DataError(f"there is no file {path}")


def require_model(folder: Path) -> None:
    """Raise a RunError unless a model's folder exists."""
    if not folder.is_dir():
        found = "it is a file" if folder.exists() else "there is no such folder"
        raise RunError(f"{folder} is not a model's folder: {found}")
