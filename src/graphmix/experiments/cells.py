"""One number of a table: what must be trained for it, and the key of its stored result."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from graphmix.data import is_file, split_seeds
from graphmix.errors import ConfigError
from graphmix.experiments.rows import Column, Row
from graphmix.experiments.spec import EACH, Spec
from graphmix.experiments.versions import versions_of
from graphmix.files import require_plain
from graphmix.results.commands import train_command
from graphmix.results.record import Quoted
from graphmix.training.config import ADDED, Config
from graphmix.training.methods import METHODS


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The user's changes to a spec; None keeps what the spec says."""

    trials: int | None = None
    epochs: int | None = None
    seed: int = 0
    only: str | None = None


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A cell of a table.

    Attributes:
        row: the name of its row.
        column: the name of its column.
        reading: the reading it is computed by; None for a baseline or a quoted number.
        dataset: a key of `graphmix.data.DATASETS`.
        split: a split by name.
        splits: how many different splits the trials take in turn.
        first_split: the seed of the first split.
        method: what is run; None for a number that is only quoted.
        config: the hyperparameters; a baseline uses only trials and seed.
        measures: what is measured besides scores.
        grid: the points that the theorem's terms are estimated for.
        paper: the paper's number.
        short: whether its number of epochs is not the paper's, so that it cannot be compared.
    """

    row: str
    column: str
    reading: str | None
    dataset: str = ""
    split: str = ""
    splits: int = 1
    first_split: int = 0
    method: str | None = None
    config: Config = field(default_factory=Config)
    measures: tuple[str, ...] = ()
    grid: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    paper: Quoted | None = None
    short: bool = False

    @property
    def baseline(self) -> bool:
        """Whether its method trains no network."""
        return self.method is not None and METHODS[self.method].baseline

    @property
    def definition(self) -> dict[str, Any]:
        """The settings its result depends on; not its table or the paper's number."""
        asked: dict[str, Any] = {
            "dataset": self.dataset,
            "split": self.split,
            "splits": None if self.split == "public" else [self.first_split, self.splits],
            "method": self.method,
            "measures": list(self.measures),
            "grid": {name: list(values) for name, values in self.grid.items()},
        }
        if is_file(self.dataset):
            require_plain(Path(self.dataset))
            with Path(self.dataset).open("rb") as file:
                asked["sha256"] = hashlib.file_digest(file, "sha256").hexdigest()
        if self.baseline:
            return asked | {"trials": self.config.trials, "seed": self.config.seed}
        return asked | self.config.to_dict()

    @property
    def versions(self) -> dict[str, int]:
        """The entries of `COMPUTED` that its result depends on."""
        if self.baseline:
            return versions_of(("data", "baselines"))
        extra = ("bound",) if self.grid else ("measures",) if self.measures else ()
        own = ("graphsgan",) if self.method == "graphsgan" else ()
        return versions_of(("data", "training", *own, *extra))

    @property
    def key(self) -> str:
        """The key of its result; cells of different tables with the same settings share it."""
        text = json.dumps(_without_added(self.definition) | {"computed": self.versions}, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:20]

    @property
    def split_seeds(self) -> list[int]:
        """The seed of each trial's split."""
        return split_seeds(self.config.trials, self.splits, self.first_split)

    @property
    def command(self) -> str:
        """The command that trains only this cell."""
        held = self.config.to_dict()
        if self.baseline:
            held = {name: held[name] for name in ("trials", "seed")}
        place = {"dataset": self.dataset, "split": self.split, "split_seeds": self.split_seeds}
        return train_command(place | held | {"method": self.method})

    def with_settings(self, **changes: Any) -> "Cell":
        """The same cell with other hyperparameters."""
        return replace(self, config=replace(self.config, **changes))


def plan(spec: Spec, asked: Asked) -> list[Cell]:
    """List all cells of a spec, by row, column and reading; `asked.only` does not filter them.

    Raises:
        ConfigError: `asked.only` matches no cell, or a hyperparameter is out of range.
    """
    cells = [cell for row in spec.rows for column in spec.columns for cell in _cells(spec, row, column, asked)]
    if not any(fits(cell, asked.only) and cell.method is not None for cell in cells):
        rows = ", ".join(row.name for row in spec.rows if row.runs)
        columns = ", ".join(column.name for column in spec.columns)
        raise ConfigError(
            f"{spec.name} has no cell {asked.only!r} to run; its rows are {rows}; its columns {columns}; "
            f"its readings {', '.join(spec.readings)}"
        )
    return cells


def fits(cell: Cell, only: str | None) -> bool:
    """Whether a pattern ROW/COLUMN or ROW/COLUMN/READING matches a cell; None matches all."""
    return names_place((cell.row, cell.column, cell.reading), only)


def names_place(place: tuple[str, str, str | None], only: str | None) -> bool:
    """Whether a pattern, as in `fits`, matches a cell given by row, column and reading."""
    wanted = [part.strip().lower() or "*" for part in (only or "").split("/")]
    held = (place[0], place[1], place[2] or "")
    return len(wanted) <= len(held) and all(
        fnmatchcase(name.lower(), pattern) for name, pattern in zip(held, wanted, strict=False)
    )


def _without_added(settings: Mapping[str, Any]) -> dict[str, Any]:
    # A hyperparameter added later must not change the keys of results that were computed without it.
    return {name: value for name, value in settings.items() if name not in ADDED or value != getattr(Config, name)}


def _cells(spec: Spec, row: Row, column: Column, asked: Asked) -> list[Cell]:
    paper = row.paper.get(column.name)
    if row.quoted and paper is None:
        return []
    if not row.runs:
        return [Cell(row=row.name, column=column.name, reading=None, paper=paper)]
    chosen = spec.chosen(row, column)
    trials = asked.trials or chosen.pop("trials", spec.trials)
    dataset, split, method = chosen.pop("dataset"), chosen.pop("split"), chosen["method"]
    splits = trials if spec.splits == EACH else min(int(spec.splits), trials)
    baseline = METHODS[method].baseline
    chosen |= {"trials": trials, "seed": asked.seed, "method": None if baseline else method}
    cells = []
    for reading in spec.readings[:1] if baseline else row.readings or column.readings or spec.readings:
        usual = Config.for_dataset(dataset, reading=reading, **chosen)
        cell = Cell(
            row=row.name,
            column=column.name,
            reading=None if baseline else reading,
            dataset=dataset,
            split=split,
            splits=splits,
            method=method,
            config=usual if asked.epochs is None else _shortened(usual, dataset, chosen, asked.epochs),
            measures=spec.measures,
            grid=spec.grid if spec.kind == "bound" else {},
            paper=paper,
            short=not baseline and asked.epochs not in (None, usual.epochs),
        )
        cells.append(cell)
    return cells


def _shortened(usual: Config, dataset: str, chosen: Mapping[str, Any], epochs: int) -> Config:
    """The same settings with other epochs; if the spec sets a ramp, the ramp is scaled too."""
    ramp = {name: chosen[name] * epochs // usual.epochs for name in ("rampup_start", "rampup_end") if name in chosen}
    return Config.for_dataset(dataset, reading=usual.reading, **(dict(chosen) | ramp | {"epochs": epochs}))
