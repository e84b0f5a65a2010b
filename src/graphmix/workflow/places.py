"""Where tables of results may be written: checked before anything slow begins, and without importing torch."""

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from graphmix.errors import RunError
from graphmix.files import check_output
from graphmix.results.json_text import load
from graphmix.storage.files import write_bytes
from graphmix.storage.folders import CONFIG, PAGE, PREDICTIONS
from graphmix.workflow.options import FitOptions
from graphmix.workflow.output import ENDINGS, check_ending

if TYPE_CHECKING:
    from graphmix.workflow.pieces import PredictionPieces

# No file of a model ends like a table.
_TABLES = (*ENDINGS, ".tab", ".txt", ".gz", ".pq")
# What a fit notes in its config.json about where its predictions go.
NOTED = "predictions"
# And about the files of its tables.
FILES = "files"


def check_table(
    path: Path,
    *,
    inputs: Iterable[Path | None] = (),
    force: bool = False,
    parameter: str = "out",
    later: Path | None = None,
) -> None:
    """Check that a table of results may be written to a file; arguments as for `graphmix.files.check_output`.

    Raises:
        ConfigError: the ending is not that of a table, or the file must not or cannot be written.
    """
    check_ending(path)
    check_output(path, inputs=inputs, force=force, parameter=parameter, later=later)


def check_predictions(
    path: Path | None, folder: Path, inputs: Iterable[Path | None], *, resume: bool = False, force: bool = False
) -> None:
    """Check that a fit may write its predictions.

    Args:
        path: the file; None for predictions.csv in the folder.
        folder: the model's folder.
        inputs: the tables that the fit reads.
        resume: whether to continue a fit, which may have written its predictions already.
        force: whether an existing file may be replaced.

    Raises:
        ConfigError: the file must not or cannot be written.
    """
    # Whether the folder's own file may be written is decided by what the folder holds; see `check_folder`.
    own = path is None or (resume and _noted(folder) == str(path))
    check_table(
        folder / PREDICTIONS if path is None else path,
        inputs=inputs,
        force=force or own,
        parameter="predictions",
        later=folder,
    )


def write_predictions(pieces: "PredictionPieces", path: Path, options: FitOptions) -> None:
    """Write the predictions of a fit; a file that appeared at their place since the fit began is not replaced.

    Raises:
        RunError: the file holds something other than these predictions, or cannot be written.
    """
    content = partial(pieces.content, path, escape_formulas=options.escape_formulas)
    if options.predictions is not None and not options.force and path.exists() and not _holds(path, content()):
        raise RunError(
            f"{path} holds something else than the predictions of this fit; move it, or use `force` to replace it"
        )
    write_bytes(path, content())


def _holds(path: Path, content: Iterable[bytes]) -> bool:
    """Whether a file holds exactly some bytes, which come in pieces."""
    with path.open("rb") as stream:
        return all(stream.read(len(piece)) == piece for piece in content) and not stream.read(1)


def model_files(folder: Path) -> list[Path]:
    """Return the files of a model's folder that no result may replace: all but tables and the fit's report."""
    return [path for path in folder.iterdir() if path.suffix.lower() not in _TABLES and path.name != PAGE]


def _noted(folder: Path) -> str | None:
    """The file for the predictions that a fit noted when it began; it did not exist then, or was to be replaced."""
    if not (folder / CONFIG).exists():
        return None
    noted = load(folder / CONFIG).get(NOTED)
    return noted if isinstance(noted, str) else None
