"""The rows of benchmarks/wild.py, as its tables and plots need them: means over draws, and over the suite."""

import json
import statistics
from pathlib import Path
from typing import Any, NamedTuple

from wild_names import BY_CLASS, GRAPHS, OURS, TITLES

HERE = Path(__file__).parent / "results"
# Where several have a row, the first counts: counties was run again after the models of tables had changed.
RESULTS = (HERE / "wild-cpu.json", HERE / "wild-h200.json", HERE / "wild-h200-host.json")
KEY = ("graph", "amount", "drawn", "draw", "system")
ACCURACY, AUC = "accuracy", "roc_auc"


class Setting(NamedTuple):
    """How many labels, "few" or "many", and how they are drawn, by "class" or from "any"."""

    amount: str
    drawn: str = BY_CLASS


class Spread(NamedTuple):
    """Mean and standard deviation over draws; without a deviation if there is one draw."""

    mean: float
    std: float | None

    def __str__(self) -> str:
        return f"{self.mean:.1f}" if self.std is None else f"{self.mean:.1f} ± {self.std:.1f}"


class Rows:
    """The rows of results files; any of them may be missing."""

    def __init__(self, *records: dict[str, Any]) -> None:
        self.records = records
        found = {tuple(row[name] for name in KEY): row for record in reversed(records) for row in record["rows"]}
        self.rows: list[dict[str, Any]] = list(found.values())

    @classmethod
    def read(cls, path: Path | None = None) -> "Rows | None":
        """Read one results file, or all; None if there is none yet."""
        paths = [each for each in (RESULTS if path is None else (path,)) if each.exists()]
        return cls(*(json.loads(each.read_text()) for each in paths)) if paths else None

    @property
    def graphs(self) -> list[str]:
        """The graphs with a row, in the order of the suite."""
        found = {row["graph"] for row in self.rows}
        return [graph for graph in GRAPHS if graph in found]

    @property
    def systems(self) -> list[str]:
        """The systems with a row, ours first."""
        found = {row["system"] for row in self.rows}
        return [system for system in TITLES if system in found]

    @property
    def peers(self) -> list[str]:
        """The systems that are not ours."""
        return [system for system in self.systems if system != OURS]

    def values(self, measure: str, graph: str, setting: Setting, system: str) -> list[Any]:
        """A measure of every draw; where it could not be measured, it is left out."""
        asked = (graph, setting.amount, setting.drawn, system)
        found = [row for row in self.rows if tuple(row[key] for key in ("graph", "amount", "drawn", "system")) == asked]
        return [row[measure] for row in found if row.get(measure) is not None]

    def spread(self, measure: str, graph: str, setting: Setting, system: str) -> Spread | None:
        """Mean and deviation over the draws; None if there is no row."""
        values = self.values(measure, graph, setting, system)
        if not values:
            return None
        return Spread(statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else None)

    def has_two_classes(self, graph: str) -> bool:
        """Whether ROC AUC is measured on a graph."""
        return any(row["graph"] == graph and row[AUC] is not None for row in self.rows)

    def measures(self, graph: str) -> tuple[str, ...]:
        """What systems are judged by on a graph."""
        return (ACCURACY, AUC) if self.has_two_classes(graph) else (ACCURACY,)

    def best_peer(self, measure: str, graph: str, setting: Setting) -> tuple[str, Spread] | None:
        """The peer with the best mean on a graph."""
        found = [(peer, self.spread(measure, graph, setting, peer)) for peer in self.peers]
        known = [(peer, spread) for peer, spread in found if spread is not None]
        return max(known, key=lambda pair: pair[1].mean, default=None)

    def behind(self, measure: str, graph: str, setting: Setting) -> tuple[str, float] | None:
        """The best peer of a graph and how many points it is ahead of ours; None if one is not measured."""
        ours, best = self.spread(measure, graph, setting, OURS), self.best_peer(measure, graph, setting)
        return None if ours is None or best is None else (best[0], best[1].mean - ours.mean)

    def suite(self, setting: Setting, *, ranked: bool) -> tuple[list[str], dict[str, float]]:
        """The graphs that every system of the setting was run on, and the mean of each system over them.

        Args:
            setting: the labels.
            ranked: whether graphs of two classes count by ROC AUC in place of accuracy.
        """
        measure = {graph: self.measures(graph)[-1] if ranked else ACCURACY for graph in self.graphs}
        means = {
            graph: {system: self.spread(measure[graph], graph, setting, system) for system in self.systems}
            for graph in self.graphs
        }
        run = [system for system in self.systems if any(means[graph][system] for graph in self.graphs)]
        whole = [graph for graph in self.graphs if run and all(means[graph][system] for system in run)]
        if not whole:
            return [], {}
        return whole, {system: statistics.fmean(means[graph][system].mean for graph in whole) for system in run}

    def made(self) -> str:
        """Where the figures come from."""
        machines = dict.fromkeys(
            f"{record['device']}, {record['cores']} cores, torch {record['versions']['torch']}"
            for record in self.records
        )
        commits = dict.fromkeys(str(row["commit"])[:7] for row in self.rows)
        where = "; ".join(machines)
        return f"{where}; commits {', '.join(sorted(commits))}; `{self.records[0]['command']}`."
