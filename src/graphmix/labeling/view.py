"""View: what the last round predicts, and rounds as they are read back from the disk."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphmix.labeling.log import NUMBER
from graphmix.labeling.round import Round
from graphmix.results.reader import parse
from graphmix.storage.files import read_tensors, write_tensors

_VIEW = "view.safetensors"


@dataclass(frozen=True, eq=False)
class View:
    """What the last round predicts: `[nodes, classes]`."""

    classes: tuple[str, ...]
    probabilities: NDArray[np.float32]


def read_round(record: dict[str, Any], path: Path) -> Round:
    """Return a round from its record in a file."""
    held = {name: value for name, value in record.items() if name != NUMBER}
    made: Round = parse(Round, held, path)
    return made


def write_view(folder: Path, probabilities: Tensor, number: int) -> None:
    """Write what the round of a number predicts."""
    write_tensors(folder / _VIEW, {"probabilities": probabilities, "round": torch.tensor([number])})


def read_view(folder: Path, rounds: list[Round], nodes: int) -> View | None:
    """Return what the last round predicts; None if the process was killed before that was written."""
    if not rounds or not (folder / _VIEW).exists():
        return None
    held, size = read_tensors(folder / _VIEW), [nodes, len(rounds[-1].classes)]
    if held["round"].tolist() != [len(rounds)] or list(held["probabilities"].shape) != size:
        return None
    return View(rounds[-1].classes, held["probabilities"].numpy())
