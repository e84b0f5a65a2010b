"""Split: which nodes are trained on, selected by, and tested on; validated on construction, and stored in a file."""

import io
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from graphmix.data.checks import UNKNOWN
from graphmix.data.datasets.arrays import read_arrays
from graphmix.data.graph import Graph
from graphmix.errors import DataError
from graphmix.files import write_whole
from graphmix.limits import USUAL, Limits

_NEEDED = ("train", "val", "test", "name")


@dataclass(frozen=True, eq=False, repr=False)
class Split:
    """Which nodes are trained on, selected by, and tested on. `Split.build` takes plain `[nodes]` masks too.

    Attributes:
        train: bool `[splits, nodes]`; splits is 1, shared by all trials, or one per trial.
        val: bool `[splits, nodes]`; may be empty in all splits if nothing is selected by it.
        test: bool `[splits, nodes]`; may be empty if there are no test labels.
        name: the name in results, for example "public".
        seeds: the seed of each split, if it was drawn at random (`make_split`).
        held_out: whether the validation masks are folds of the labels, held out in turn.

    Raises:
        DataError: on construction, if masks overlap, differ in shape, or leave nothing to train on.
    """

    train: Tensor
    val: Tensor
    test: Tensor
    name: str = "custom"
    seeds: tuple[int, ...] | None = None
    held_out: bool = False

    def __post_init__(self) -> None:
        roles = {"training": self.train, "validation": self.val, "test": self.test}
        for role, mask in roles.items():
            if mask.dtype != torch.bool or mask.dim() != 2:
                form = f"{str(mask.dtype).removeprefix('torch.')} {list(mask.shape)}"
                raise DataError(f"the {role} mask must be bool [splits, nodes] or [nodes], but it is {form}")
        if not self.train.shape == self.val.shape == self.test.shape:
            shapes = ", ".join(f"{role} {list(mask.shape)}" for role, mask in roles.items())
            raise DataError(f"the masks of a split must have one shape, but they are {shapes}")
        if self.seeds is not None and len(self.seeds) != self.num_splits:
            raise DataError(f"there are {self.num_splits} splits, but {len(self.seeds)} seeds")
        self._require("training", self.train)
        if self.has_validation:
            self.require_validation()
        for first, second in combinations(roles, 2):
            both = (roles[first] & roles[second]).nonzero()
            if len(both):
                trial, node = both[0].tolist()
                where = f"node {node} is in both the {first} and the {second} mask"
                raise DataError(f"{self._owner(trial)} overlaps: {where}")

    @classmethod
    def build(
        cls,
        train: object,
        val: object,
        test: object,
        name: str = "custom",
        seeds: tuple[int, ...] | None = None,
        held_out: bool = False,
    ) -> "Split":
        """Make a split from bool masks, `[nodes]` or `[splits, nodes]`, torch or numpy."""
        return cls(_as_mask(train), _as_mask(val), _as_mask(test), name, seeds, held_out)

    @classmethod
    def load(cls, path: Path | str, limit: Limits = USUAL) -> "Split":
        """Read a split that `save` wrote.

        Args:
            path: the file.
            limit: how large it may be.

        Raises:
            DataError: the file is missing, damaged, or not a split; the message names it.
        """
        path = Path(path)
        arrays = read_arrays(path, "a split", (*_NEEDED, "seeds", "held_out"), limit)
        missing = [array for array in _NEEDED if array not in arrays]
        if missing:
            raise DataError(f"{path} has no array {missing[0]!r}")
        seeds = arrays.get("seeds")
        if seeds is not None and (seeds.ndim != 1 or seeds.dtype.kind not in "iu"):
            raise DataError(f"{path}: seeds must be whole numbers [splits], not {seeds.dtype} {list(seeds.shape)}")
        held_out = arrays.get("held_out", np.array(False))
        if held_out.shape or held_out.dtype != np.bool_:
            raise DataError(f"{path}: held_out must be true or false, not {held_out.dtype} {list(held_out.shape)}")
        try:
            train, val, test = arrays["train"], arrays["val"], arrays["test"]
            drawn = None if seeds is None else tuple(seeds.tolist())
            return cls.build(train, val, test, str(arrays["name"]), drawn, bool(held_out))
        except DataError as error:
            raise DataError(f"{path}: {error}") from error

    def save(self, path: Path | str) -> None:
        """Write the split to an .npz file of plain arrays, whole or not at all; a file of that name is replaced.

        Raises:
            DataError: it cannot be written.
        """
        arrays: dict[str, Any] = {role: getattr(self, role).cpu().numpy() for role in ("train", "val", "test")}
        if self.seeds is not None:
            arrays["seeds"] = np.array(self.seeds, dtype=np.int64)
        if self.held_out:
            arrays["held_out"] = np.array(True)
        content = io.BytesIO()
        np.savez_compressed(content, name=np.array(self.name), **arrays)
        try:
            write_whole(Path(path), content.getvalue())
        except OSError as error:
            raise DataError(f"{path} cannot be written: {error.strerror or error}") from error

    def __repr__(self) -> str:
        # Counted in the first split: the others have about the same sizes.
        sizes = " / ".join(str(int(mask[:1].sum())) for mask in (self.train, self.val, self.test))
        drawn = "" if self.seeds is None else f", {_listed(self.seeds)}"
        return f"Split({self.name!r}: {self.num_splits} x {sizes} of {self.train.shape[1]} nodes{drawn})"

    @property
    def num_splits(self) -> int:
        """Number of splits: 1, or one per trial."""
        return self.train.shape[0]

    @property
    def unlabeled(self) -> Tensor:
        """All nodes except the training nodes: bool `[splits, nodes]`."""
        return ~self.train

    @property
    def has_validation(self) -> bool:
        """Whether there are validation nodes."""
        return bool(self.val.any())

    def require_validation(self) -> None:
        """Raise a `DataError` unless every split has validation nodes."""
        self._require("validation", self.val)

    def check(self, graph: Graph) -> None:
        """Raise a `DataError` unless this split fits the graph and has a label for every node it uses."""
        nodes = self.train.shape[1]
        if nodes != graph.num_nodes:
            raise DataError(f"the split has {nodes} nodes, but the graph has {graph.num_nodes}")
        used = self.train | self.val | self.test
        unknown = (used & (graph.y == UNKNOWN).to(used.device)).nonzero()
        if len(unknown):
            trial, node = unknown[0].tolist()
            raise DataError(f"{self._owner(trial)} uses node {node}, whose label is unknown (-1)")

    def to(self, device: torch.device | str) -> "Split":
        """Move to a device."""
        return replace(self, train=self.train.to(device), val=self.val.to(device), test=self.test.to(device))

    def _require(self, role: str, mask: Tensor) -> None:
        empty = (~mask.any(dim=1)).nonzero()
        if len(empty):
            raise DataError(f"{self._owner(int(empty[0]))} has no {role} nodes")

    def _owner(self, trial: int) -> str:
        return "the split" if self.num_splits == 1 else f"trial {trial}"


def _listed(seeds: tuple[int, ...]) -> str:
    shown = [str(seed) for seed in seeds]
    if len(shown) > 5:
        shown = [*shown[:3], "…", shown[-1]]
    return f"seed{'s' * (len(seeds) > 1)} {', '.join(shown)}"


def _as_mask(mask: object) -> Tensor:
    if isinstance(mask, Tensor):
        tensor = mask.detach().clone()
    else:
        array = np.array(mask)
        if array.dtype.kind not in "biu":
            raise DataError(f"a mask must be bool [splits, nodes] or [nodes], but its type is {array.dtype}")
        tensor = torch.from_numpy(array)
    return tensor[None] if tensor.dim() == 1 else tensor
