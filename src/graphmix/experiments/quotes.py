"""The paper's number for a run, by dataset, split, network and method."""

from functools import cache

from graphmix.experiments.spec import load_spec, names
from graphmix.results.record import Quoted
from graphmix.results.run import RunResult
from graphmix.training.methods import METHODS

# A run that differs in one of these is a variant, for which the paper has no number.
_USUAL = {"optimisation": "alternate", "predictor": "auto", "class_weight": "none", "target_weight": "none"}

_Place = tuple[str, str, str | None, str, bool, bool]


def quoted(run: RunResult) -> tuple[Quoted, str] | None:
    """The paper's number for a run and what it measures; None if the paper has none, or for a variant."""
    settings = run.settings
    if any(settings.get(name, value) != value for name, value in _USUAL.items()):
        return None
    mixes = run.method == "graphmix"
    off = (mixes and settings["alpha"] == 0, mixes and settings["gamma"] == 0)
    return _numbers().get((run.dataset, run.split or "", run.backbone, run.method, *off))


@cache
def _numbers() -> dict[_Place, tuple[Quoted, str]]:
    """Return every number of the paper's tables; if two tables differ on a cell, the first counts."""
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
