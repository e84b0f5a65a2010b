"""Checkpoints of batches in a folder, one file for each batch, and each written whole or not at all."""

from collections.abc import Collection, Sequence
from pathlib import Path

from torch import Tensor

from graphmix.errors import RunError
from graphmix.storage.files import read_tensors, write_tensors
from graphmix.training.checkpoint_minutes import MINUTES, check_minutes
from graphmix.training.checkpoints import Begun, Checkpoints

# The beginnings of their names: of a run, and of the two trainings of a candidate.
RUNNING, HOLDING_OUT, TRAINING = "running", "holding-out", "training"


def open_checkpoints(folder: Path, kind: str, minutes: float = MINUTES, *, skip: Collection[int] = ()) -> Checkpoints:
    """Read what a killed process left in a folder, and keep states there from now on; the folder may be missing.

    Args:
        folder: where the files are.
        kind: how their names begin.
        minutes: how long to train between two writes; 0 for one after every epoch.
        skip: trials that are trained already; files with such trials are removed.

    Raises:
        RunError: a file is damaged.
    """
    check_minutes(minutes)
    begun = []
    for path in sorted(folder.glob(f"{kind}-*.safetensors")):
        found = _read(path)
        if set(found.trials) & set(skip):
            path.unlink()
        else:
            begun.append(found)

    def write(trials: Sequence[int], tensors: dict[str, Tensor]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        write_tensors(_path(folder, kind, trials), tensors)

    return Checkpoints(write, begun, 60 * minutes)


def remove_checkpoints(folder: Path, kind: str, trials: Sequence[int] | None = None) -> None:
    """Remove the checkpoint of a batch that is trained, or without `trials` those of all."""
    paths = folder.glob(f"{kind}-*.safetensors") if trials is None else [_path(folder, kind, trials)]
    for path in paths:
        path.unlink(missing_ok=True)


def _path(folder: Path, kind: str, trials: Sequence[int]) -> Path:
    return folder / f"{kind}-{trials[0]:06d}-{trials[-1]:06d}.safetensors"


def _read(path: Path) -> Begun:
    try:
        tensors = read_tensors(path)
        return Begun(tuple(tensors["trials"].tolist()), tensors, str(path))
    except (KeyError, RunError) as error:
        raise RunError(f"{path} is damaged ({error}); delete it, and its trials begin anew") from error
