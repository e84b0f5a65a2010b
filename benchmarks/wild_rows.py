"""The rows of benchmarks/wild.py, as its tables and plots need them: means over draws, and over the suite."""

import json
import statistics
from pathlib import Path
from typing import Any, NamedTuple

from wild_names import BY_CLASS, GRAPHS, OURS, TITLES

HERE = Path(__file__).parent / "results"
# Where several have a row, the first counts.
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


class Lead(NamedTuple):
    """The means of ours and of a peer over graphs, each over the draws that both were run on, and how many graphs."""

    ours: float
    peer: float
    graphs: int


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
        return list(self._by_draw(measure, graph, setting, system).values())

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

    def pair(self, measure: str, graph: str, setting: Setting, peer: str) -> tuple[float, float] | None:
        """The means of ours and of a peer, over the draws that both were run on; None if there are none."""
        ours, theirs = (self._by_draw(measure, graph, setting, system) for system in (OURS, peer))
        shared = sorted(ours.keys() & theirs.keys())
        if not shared:
            return None
        return statistics.fmean(ours[draw] for draw in shared), statistics.fmean(theirs[draw] for draw in shared)

    def behind(self, measure: str, graph: str, setting: Setting) -> tuple[str, float] | None:
        """The peer of a graph that is furthest ahead of ours, or least behind, and by how many points."""
        pairs = {peer: self.pair(measure, graph, setting, peer) for peer in self.peers}
        points = {peer: pair[1] - pair[0] for peer, pair in pairs.items() if pair is not None}
        return max(points.items(), key=lambda found: found[1], default=None)

    def lead(self, setting: Setting, peer: str, *, ranked: bool) -> Lead | None:
        """Ours against a peer over the suite, on the graphs and draws that both were run on; None if there are none.

        Args:
            setting: the labels.
            peer: the peer.
            ranked: whether graphs of two classes count by ROC AUC in place of accuracy.
        """
        measure = {graph: self.measures(graph)[-1] if ranked else ACCURACY for graph in self.graphs}
        found = [self.pair(measure[graph], graph, setting, peer) for graph in self.graphs]
        pairs = [pair for pair in found if pair is not None]
        if not pairs:
            return None
        return Lead(statistics.fmean(one for one, _ in pairs), statistics.fmean(two for _, two in pairs), len(pairs))

    def _by_draw(self, measure: str, graph: str, setting: Setting, system: str) -> dict[int, Any]:
        asked = (graph, setting.amount, setting.drawn, system)
        found = [row for row in self.rows if tuple(row[key] for key in ("graph", "amount", "drawn", "system")) == asked]
        return {row["draw"]: row[measure] for row in found if row.get(measure) is not None}

    def made(self) -> str:
        """Where the figures come from."""
        machines = dict.fromkeys(
            f"{record['device']}, {record['cores']} cores, torch {record['versions']['torch']}"
            for record in self.records
        )
        commits = dict.fromkeys(str(row["commit"])[:7] for row in self.rows)
        where = "; ".join(machines)
        return f"{where}; commits {', '.join(sorted(commits))}; `{self.records[0]['command']}`."
