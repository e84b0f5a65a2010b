"""The paper's number for a run, by dataset, split, network and method."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from graphmix.experiments.spec import load_spec, names
from graphmix.results.record import Quoted
from graphmix.results.run import RunResult
from graphmix.training.methods import METHODS

# A run that differs in one of these is a variant, for which the paper has no number.
_USUAL = {"optimisation": "alternate", "predictor": "auto", "class_weight": "none", "target_weight": "none"}
_USUAL |= {"mixup_layer": "hidden", "teacher": "gnn", "gnn_targets": "none"}

_Place = tuple[str, str, str | None, str, bool, bool]


def quoted(run: RunResult) -> tuple[Quoted, str] | None:
    """The paper's number for a run and what it measures; None if the paper has none, or for a variant."""
    settings = run.settings
    if any(settings.get(name, value) != value for name, value in _USUAL.items()):
        return None
    return _numbers().get(_place(run.dataset, run.split or "", run.backbone, settings))


def _place(dataset: str, split: str, backbone: str | None, settings: Mapping[str, Any]) -> _Place:
    """What the paper's numbers are found by; the last two say whether GraphMix lacks mixup or predicted targets."""
    mixes = settings["method"] == "graphmix"
    off = (mixes and settings.get("alpha") == 0, mixes and settings.get("gamma") == 0)
    return dataset, split, backbone, settings["method"], *off


@cache
def _numbers() -> dict[_Place, tuple[Quoted, str]]:
    """Return every number of the paper's tables; if two tables differ on a cell, the first counts."""
    found: dict[_Place, tuple[Quoted, str]] = {}
    for spec in map(load_spec, names()):
        if spec.kind != "table":
            continue
        for row in spec.rows:
            for column in spec.columns if row.runs else ():
                chosen = spec.chosen(row, column)
                method = METHODS[chosen["method"]]
                backbone = None if method.baseline else chosen.get("backbone", method.backbone)
                place = _place(chosen["dataset"], chosen["split"], backbone, chosen)
                if column.name in row.paper:
                    found.setdefault(place, (row.paper[column.name], spec.metric))
    return found
