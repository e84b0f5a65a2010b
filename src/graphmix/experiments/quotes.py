"""The paper's number beside a run of any kind, by what the run did."""

from functools import cache
from typing import Any

from graphmix.experiments.spec import Quoted, load_spec, names
from graphmix.training.methods import METHODS

# What a run of the paper's method does where the paper says nothing else.
_USUAL = {"optimisation": "alternate", "predictor": "auto", "class_weight": "none", "target_weight": "none"}

_Place = tuple[str, str, str | None, str, bool, bool]


def quoted(run: dict[str, Any]) -> tuple[Quoted, str] | None:
    """The paper's number and what it measures, by a run's results; None where it has none, or for a variant."""
    if any(run.get(name, value) != value for name, value in _USUAL.items()):
        return None
    mixes = run["method"] == "graphmix"
    off = (mixes and run["alpha"] == 0, mixes and run["gamma"] == 0)
    return _numbers().get((run["dataset"], run["split"], run["backbone"], run["method"], *off))


@cache
def _numbers() -> dict[_Place, tuple[Quoted, str]]:
    """Every number of the paper's tables; where two tables give one cell different values, the first has it."""
    found: dict[_Place, tuple[Quoted, str]] = {}
    for spec in map(load_spec, names()):
        if spec.kind != "table":
            continue
        for row in spec.rows:
            for column in spec.columns if not row.quoted else ():
                chosen = spec.chosen(row, column)
                method = chosen["method"]
                backbone = None if METHODS[method].baseline else chosen.get("backbone", "gcn")
                mixes = method == "graphmix"
                off = (mixes and chosen.get("alpha") == 0, mixes and chosen.get("gamma") == 0)
                place = (chosen["dataset"], chosen["split"], backbone, method, *off)
                if column.name in row.paper:
                    found.setdefault(place, (row.paper[column.name], spec.metric))
    return found
