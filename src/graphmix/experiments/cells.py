"""One number of a table: what has to be trained for it, and which stored result that is."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from graphmix.baselines import BASELINES
from graphmix.data import is_file, split_seeds
from graphmix.errors import ConfigError
from graphmix.experiments.spec import EACH, Column, Quoted, Row, Spec
from graphmix.training import Config
from graphmix.training.paper import GAMMAS

# What results depend on; the rest only shows them.
_TRAINS = ("analysis", "baselines", "data", "method", "models", "sparse", "streams.py", "training", "triton_streams.py")


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a person asks for on top of a spec; None is the spec's own."""

    trials: int | None = None
    epochs: int | None = None
    seed: int = 0
    only: str | None = None


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A cell of a table.

    Attributes:
        row: its row's name.
        column: its column's name.
        reading: by which it is computed; None for a baseline or a quoted number.
        dataset: a key of `graphmix.data.DATASETS`.
        split: a split by name.
        splits: how many different splits the trials take in turn.
        first_split: the first of them, by its seed.
        method: what is run; None for a number that is only quoted.
        config: the hyperparameters; a baseline takes trials and seed of them.
        measures: what is measured beyond scores.
        grid: of the theorem's terms, the points they are estimated for.
        paper: the paper's number.
        short: whether it is trained for other epochs than the paper's, so that there is nothing to compare.
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
    def definition(self) -> dict[str, Any]:
        """What its result depends on, besides the code: neither its table nor the paper's number."""
        asked: dict[str, Any] = {
            "dataset": self.dataset,
            "split": self.split,
            "splits": None if self.split == "public" else [self.first_split, self.splits],
            "method": self.method,
            "measures": list(self.measures),
            "grid": {name: list(values) for name, values in self.grid.items()},
        }
        if is_file(self.dataset):
            asked["sha256"] = hashlib.sha256(Path(self.dataset).read_bytes()).hexdigest()
        if self.method in BASELINES:
            return asked | {"trials": self.config.trials, "seed": self.config.seed}
        return asked | self.config.to_dict()

    @property
    def key(self) -> str:
        """A name for its result: cells of different tables that ask for the same share it."""
        text = json.dumps(self.definition | {"code": code_version()}, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:20]

    @property
    def split_seeds(self) -> list[int]:
        """A seed for each trial's split."""
        return split_seeds(self.config.trials, self.splits, self.first_split)

    @property
    def command(self) -> str:
        """What trains it alone."""
        parts = ["graphmix train", self.dataset]
        if self.split != "public":
            parts += [f"--split {self.split} --splits {self.splits}"]
            parts += [f"--split-seed {self.first_split}"] if self.first_split else []
        parts += [f"--method {self.method} --trials {self.config.trials}"]
        if self.config.seed:
            parts += [f"--seed {self.config.seed}"]
        if self.method in BASELINES:
            return " ".join(parts)
        named = {"method", "trials", "seed", "reading", "backbone"}
        parts += [f"--backbone {self.config.backbone} --reading {self.config.reading}"]
        usual = Config.for_dataset(self.dataset, **{name: getattr(self.config, name) for name in sorted(named)})
        for name, value in vars(self.config).items():
            if name not in named and value != getattr(usual, name):
                parts.append(_option(name, value))
        return " ".join(parts)

    def with_settings(self, **changes: Any) -> "Cell":
        """The same cell with other hyperparameters."""
        return replace(self, config=replace(self.config, **changes))


def plan(spec: Spec, asked: Asked) -> list[Cell]:
    """List a spec's cells, row by row, column by column, reading by reading, `asked.only` or not.

    Raises:
        ConfigError: `asked.only` fits none of them, or a hyperparameter is out of its range.
    """
    cells = [cell for row in spec.rows for column in spec.columns for cell in _cells(spec, row, column, asked)]
    if not any(fits(cell, asked.only) and cell.method is not None for cell in cells):
        rows = ", ".join(row.name for row in spec.rows if not row.quoted)
        columns = ", ".join(column.name for column in spec.columns)
        raise ConfigError(
            f"{spec.name} has no cell {asked.only!r} to run; its rows are {rows}; its columns {columns}; "
            f"its readings {', '.join(spec.readings)}"
        )
    return cells


def fits(cell: Cell, only: str | None) -> bool:
    """Whether a pattern ROW/COLUMN or ROW/COLUMN/READING asks for a cell; none asks for all."""
    wanted = [part.strip().lower() or "*" for part in (only or "").split("/")]
    held = (cell.row, cell.column, cell.reading or "")
    return len(wanted) <= len(held) and all(
        fnmatchcase(name.lower(), pattern) for name, pattern in zip(held, wanted, strict=False)
    )


@cache
def code_version() -> str:
    """A hash of the code that results depend on."""
    digest = hashlib.sha256()
    root = files("graphmix")
    for name in _TRAINS:
        for path, content in _sources(root / name, name):
            digest.update(f"{path}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()[:12]


def _sources(place: Any, name: str) -> Iterator[tuple[str, bytes]]:
    if name.endswith(".py"):
        yield name, place.read_bytes()
    elif place.is_dir() and not name.endswith("__pycache__"):
        for inner in sorted(place.iterdir(), key=lambda path: path.name):
            yield from _sources(inner, f"{name}/{inner.name}")


def _cells(spec: Spec, row: Row, column: Column, asked: Asked) -> list[Cell]:
    paper = row.paper.get(column.name)
    if row.quoted:
        return [Cell(row=row.name, column=column.name, reading=None, paper=paper)] if paper else []
    chosen = spec.chosen(row, column)
    trials = asked.trials or chosen.pop("trials", spec.trials)
    dataset, split, method = chosen.pop("dataset"), chosen.pop("split"), chosen["method"]
    splits = trials if spec.splits == EACH else min(int(spec.splits), trials)
    chosen |= {"trials": trials, "seed": asked.seed}
    baseline = method in BASELINES
    return [
        Cell(
            row=row.name,
            column=column.name,
            reading=None if baseline else reading,
            dataset=dataset,
            split=split,
            splits=splits,
            method=method,
            config=_config(dataset, chosen | ({"method": "graphmix"} if baseline else {}), reading, asked.epochs),
            measures=spec.measures,
            grid=spec.grid if spec.kind == "bound" else {},
            paper=paper,
            short=not baseline and asked.epochs not in (None, chosen.get("epochs", Config.epochs)),
        )
        for reading in (spec.readings[:1] if baseline else spec.readings)
    ]


def _config(dataset: str, chosen: dict[str, Any], reading: str, epochs: int | None) -> Config:
    # The specs hold what the paper says; of γ the released code says otherwise, but 0 is the ablation's switch.
    if reading == "released" and chosen.get("gamma") and dataset in GAMMAS[reading]:
        chosen = chosen | {"gamma": GAMMAS[reading][dataset]}
    if epochs is not None:
        own = chosen.get("epochs", Config.epochs)
        ramp = {name: chosen[name] * epochs // own for name in ("rampup_start", "rampup_end") if name in chosen}
        chosen = chosen | ramp | {"epochs": epochs}
    return Config.for_dataset(dataset, reading=reading, **chosen)


def _option(name: str, value: Any) -> str:
    flag = name.replace("_", "-")
    if isinstance(value, bool):
        return f"--{flag}" if value else f"--no-{flag}"
    return f"--{flag} {','.join(map(str, value)) if isinstance(value, tuple) else value}"
