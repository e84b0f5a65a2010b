"""A table or figure as data: paper/*.toml, read and checked."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from importlib.resources import files
from typing import Any

from graphmix.data import DATASETS
from graphmix.errors import ConfigError
from graphmix.experiments.rows import Column, Row, Search, Settings
from graphmix.results.claim import EXPECTED, QUANTITIES, Comparison
from graphmix.results.names import METRICS
from graphmix.results.record import KINDS, NOT_IN_PAPER, Quoted
from graphmix.training.config import HYPERPARAMETERS
from graphmix.training.methods import METHODS
from graphmix.training.paper import READINGS
from graphmix.tuning.space import NOT_SEARCHED, check_values

CHARTS = ("embedding", "soft-rank", "curves")
MEASURES = ("embedding", "soft-rank", "separation", "training", "ensembles", "memory")
EACH = "each"
# The network is what a spec compares.
_NOT_SEARCHED = (*NOT_SEARCHED, "backbone")


@dataclass(frozen=True, kw_only=True)
class Spec:
    """A table or figure: rows, columns, settings that differ from the paper's defaults, and the paper's numbers.

    Attributes:
        name: the name of its file.
        title: what it shows.
        source: where it is in the paper, or `NOT_IN_PAPER`.
        about: a sentence or two.
        kind: one of `KINDS`.
        trials: the paper's number of trials.
        rows: the rows.
        columns: the columns.
        settings: settings of every cell: `split`, and hyperparameters that differ from `Config.for_dataset`.
        splits: how many different splits the trials take in turn; "each" for one per trial.
        readings: each cell is computed once per reading.
        metric: what the numbers measure, a key of `METRICS`.
        charts: what a figure shows, of `CHARTS`.
        measures: what is computed of the trained networks besides scores, of `MEASURES`.
        grid: the "alphas" and "gammas" of a search.
        search: a search over other hyperparameters; it replaces the grid.
        says: the claim of the paper that it tries, if any.
        compares: what the claim says of its rows.
        cells_of: another spec that has the same cells, whose record may hold them.
    """

    name: str
    title: str
    source: str
    about: str
    kind: str
    trials: int
    rows: tuple[Row, ...]
    columns: tuple[Column, ...]
    settings: Settings = field(default_factory=dict)
    splits: int | str = 1
    readings: tuple[str, ...] = ("paper",)
    metric: str = "test_accuracy"
    charts: tuple[str, ...] = ()
    measures: tuple[str, ...] = ()
    grid: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    search: Search | None = None
    says: str = ""
    compares: tuple[Comparison, ...] = ()
    cells_of: str = ""

    @property
    def of_paper(self) -> bool:
        """Whether it is a table or figure of the paper."""
        return self.source != NOT_IN_PAPER and not self.compares

    def chosen(self, row: Row, column: Column) -> dict[str, Any]:
        """Return the settings of a cell: of the spec, the column, the row, the row in that column; the last wins."""
        return dict(self.settings) | dict(column.settings) | dict(row.settings) | dict(row.on.get(column.name, {}))


@cache
def names() -> tuple[str, ...]:
    """Return the names of all specs: those of the paper in its order, then the others."""
    found = {path.name.removesuffix(".toml") for path in _folder().iterdir() if path.name.endswith(".toml")}
    return tuple(sorted(found, key=lambda name: (_ORDER.index(name) if name in _ORDER else len(_ORDER), name)))


def paper_specs() -> list[Spec]:
    """Return the specs of the paper, in its order."""
    return [spec for spec in map(load_spec, names()) if spec.of_paper]


@cache
def load_spec(name: str) -> Spec:
    """Read a spec of the package.

    Raises:
        ConfigError: there is no such spec, or it is invalid.
    """
    if name not in names():
        raise ConfigError(f"there is no table or figure {name!r}; there are {', '.join(names())}, or all")
    return parse(tomllib.loads((_folder() / f"{name}.toml").read_text(encoding="utf-8")), name)


def parse(table: dict[str, Any], name: str) -> Spec:
    """Make a spec of a TOML table; `rows_of` names another spec whose rows it has.

    Raises:
        ConfigError: the table is invalid; the message says where.
    """
    table = dict(table)
    columns = tuple(_column(dict(entry), name) for entry in table.get("columns", []))
    rows = tuple(_row(dict(entry), table.get("trials"), name) for entry in table.get("rows", []))
    if "rows_of" in table:
        _require(not rows, name, "rows_of and rows exclude each other")
        rows = load_spec(table.pop("rows_of")).rows
    plain = {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}
    grid = {key: tuple(map(float, values)) for key, values in table.get("grid", {}).items()}
    search = _search(dict(table["search"]), name) if "search" in table else None
    plain["compares"] = tuple(_comparison(dict(entry), name) for entry in table.get("compares", []))
    unknown = set(plain) - {each.name for each in fields(Spec)}
    _require(not unknown, name, f"there is no field {min(unknown, default='')!r}")
    missing = {each.name for each in fields(Spec)[:6]} - set(plain)
    _require(not missing, name, f"the field {min(missing, default='')!r} is missing")
    texts = {key: " ".join(str(plain.get(key, "")).split()) for key in ("about", "says")}
    spec = Spec(**(plain | {"columns": columns, "rows": rows, "grid": grid, "search": search} | texts))
    _check(spec, name)
    return spec


# In the order of the paper.
_ORDER = (
    "standard-split",
    "random-splits",
    "larger-datasets",
    "links",
    "ablation",
    "fewer-labels",
    "state-of-the-art",
    "t-sne",
    "soft-rank",
    "joint-optimisation",
    "selection",
    "theorem",
    # The paper's claims.
    "claim-cost",
    "claim-sensitivity",
    "claim-mixup-layer",
    "claim-co-training",
    "claim-teacher",
    "claim-gat-memory",
    "claim-hidden-states",
    # Not in the paper.
    "leaderboard",
    "leaderboard-random",
    "recipe-search",
    "recipe-search-wider",
    "grand-search",
    "recipe-ablation",
    "past-grand",
    "ensembles",
    "label-rates",
    "few-labels",
)


def _folder() -> Any:
    return files("graphmix.experiments") / "paper"


def _column(entry: dict[str, Any], spec: str) -> Column:
    _require("name" in entry, spec, "a column has no name")
    name, chosen, readings = entry.pop("name"), entry.pop("paper_chosen", None), tuple(entry.pop("readings", ()))
    return Column(name=name, paper_chosen=chosen, readings=readings, settings=entry)


def _comparison(entry: dict[str, Any], spec: str) -> Comparison:
    unknown = set(entry) - {each.name for each in fields(Comparison)}
    _require(not unknown, spec, f"a comparison has no {min(unknown, default='')!r}")
    _require({"row", "quantity", "expects"} <= set(entry), spec, "a comparison needs a row, a quantity and expects")
    found = Comparison(**entry)
    _require(found.expects in EXPECTED, spec, f"expects must be one of {', '.join(EXPECTED)}")
    _require(found.quantity in QUANTITIES, spec, f"quantity must be one of {', '.join(QUANTITIES)}")
    bounded = found.expects in ("at most", "at least")
    _require(
        bounded == (found.bound is not None), spec, "at most and at least need a bound, higher and lower have none"
    )
    _require(bounded or found.against is not None, spec, "higher and lower need a row to compare with")
    return found


def _search(entry: dict[str, Any], spec: str) -> Search:
    values = {key: tuple(options) for key, options in entry.pop("values", {}).items()}
    known = [field.name for field in fields(Search)]
    _require(set(entry) <= set(known), spec, f"a search has {', '.join(known)}")
    try:
        values = {key: check_values(key, options, _NOT_SEARCHED) for key, options in values.items()}
    except ConfigError as error:
        raise ConfigError(f"{spec}.toml: {error}") from error
    counts = [entry.get("points"), entry.get("trials")]
    _require(values and all(isinstance(count, int) and count >= 1 for count in counts), spec, "a search needs a budget")
    search = Search(values=values, **entry)
    again = (search.finalists, search.finalist_trials)
    _require(again == (0, 0) or min(again) >= 1, spec, "finalists need finalist_trials, and these need finalists")
    return search


def _row(entry: dict[str, Any], trials: int | None, spec: str) -> Row:
    _require("name" in entry, spec, "a row has no name")
    name, quoted, readings = entry.pop("name"), entry.pop("quoted", False), tuple(entry.pop("readings", ()))
    paper = {}
    for column, numbers in entry.pop("paper", {}).items():
        fits = isinstance(numbers, list) and len(numbers) in (1, 2)
        _require(fits, spec, f"the paper's number in {name} / {column} is not [mean] or [mean, std]")
        std = float(numbers[1]) if len(numbers) == 2 else None
        paper[column] = Quoted(float(numbers[0]), std, None if quoted else trials)
    return Row(name=name, quoted=quoted, readings=readings, paper=paper, on=entry.pop("on", {}), settings=entry)


def _check(spec: Spec, name: str) -> None:
    _require(spec.name == name, name, f"its name is {spec.name!r}")
    _require(spec.kind in KINDS, name, f"kind must be one of {', '.join(KINDS)}")
    _require(spec.metric in METRICS, name, f"metric must be one of {', '.join(METRICS)}")
    for values, allowed in ((spec.readings, READINGS), (spec.charts, CHARTS), (spec.measures, MEASURES)):
        wrong = set(values) - set(allowed)
        _require(not wrong, name, f"{min(wrong, default='')!r} must be one of {', '.join(allowed)}")
    whole = isinstance(spec.splits, int) and spec.splits >= 1
    _require(whole or spec.splits == EACH, name, f"splits must be a number or {EACH!r}")
    _require(spec.search is None or spec.kind == "selection", name, "only a selection has a search")
    axes = {"alphas", "gammas"} if spec.kind in ("selection", "bound") and spec.search is None else set()
    _require(set(spec.grid) == axes, name, "a search has a grid of alphas and gammas; other kinds have none")
    for entries in (spec.rows, spec.columns):
        titles = [entry.name for entry in entries]
        _require(titles and len(titles) == len(set(titles)), name, "rows and columns need names, each once")
    _check_claim(spec)
    for row in spec.rows:
        stray = (set(row.paper) | set(row.on)) - {column.name for column in spec.columns}
        _require(set(row.readings) <= set(spec.readings), name, f"{row.name} has a reading that the table has not")
        _require(not stray, name, f"{row.name} refers to {min(stray, default='')!r}, which is not a column")
        for column in spec.columns:
            if row.runs:
                _check_cell(spec, row, column)


def _check_claim(spec: Spec) -> None:
    _require(bool(spec.says) == bool(spec.compares), spec.name, "a claim has both says and compares")
    rows = {row.name for row in spec.rows}
    for each in spec.compares:
        stray = {each.row, each.against} - rows - {None}
        _require(
            not stray, spec.name, f"a comparison refers to {min(map(str, stray), default='')!r}, which is not a row"
        )
    for column in spec.columns:
        _require(
            set(column.readings) <= set(spec.readings), spec.name, f"{column.name} has a reading that the table has not"
        )


def _check_cell(spec: Spec, row: Row, column: Column) -> None:
    chosen, where = spec.chosen(row, column), f"{row.name} / {column.name}"
    allowed = {"dataset", "split"} | set(HYPERPARAMETERS)
    unknown = set(chosen) - allowed
    _require(not unknown, spec.name, f"{where} sets {min(unknown, default='')!r}, which is not a hyperparameter")
    _require(chosen.get("dataset") in DATASETS, spec.name, f"{where} has no known dataset")
    _require(chosen.get("method") in METHODS, spec.name, f"{where} has no known method")


def _require(holds: object, spec: str, message: str) -> None:
    if not holds:
        raise ConfigError(f"{spec}.toml: {message}")
