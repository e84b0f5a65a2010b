"""A model read from its folder, with a line on the screen that says so."""

from pathlib import Path
from typing import TYPE_CHECKING

from graphmix.cli.busy import busy
from graphmix.cli.screen import announce

if TYPE_CHECKING:
    from graphmix.workflow.model import TableModel


def read_model(folder: Path) -> "TableModel":
    """Read a model, and show what takes long: the packages that it needs, then the model."""
    # Imported here: pyarrow and torch take seconds to import.
    with busy("starting"):
        from graphmix.workflow.model import load_model
    announce("reading the model")
    with busy("reading the model"):
        return load_model(folder)
