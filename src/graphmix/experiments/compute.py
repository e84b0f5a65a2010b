"""Cell -> outcome: train one cell and summarise it, or read its stored result."""

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from graphmix.analysis import details
from graphmix.analysis.bound import estimate
from graphmix.baselines import BASELINES, judge
from graphmix.data import Dataset
from graphmix.errors import RunError
from graphmix.experiments.cells import Cell
from graphmix.experiments.records import Store
from graphmix.experiments.selection import choose, fresh, points_of, summary
from graphmix.experiments.spec import Spec
from graphmix.experiments.versions import text_of
from graphmix.results.describe import device_name, versions
from graphmix.results.record import Choice, Outcome, Selection
from graphmix.results.run import RunResult
from graphmix.results.wording import settings_text
from graphmix.storage import runs as engine
from graphmix.training import Progress
from graphmix.training.devices import choose_device

Load = Callable[[Cell], Dataset]
# Called with the part of a cell that is computed now, and the progress of its training.
Watch = Callable[[str, Progress | None], None]


class NotStoredError(Exception):
    """The cell is not stored, and nothing may be computed."""


@dataclass(frozen=True, kw_only=True)
class Computer:
    """Computes cells and stores their results.

    Attributes:
        store: where results are kept.
        work: folder of unfinished runs.
        load: loads a cell's graph and split.
        device: the device to train on.
        commit: the commit of the code, for the record.
        stored_only: whether to compute nothing and raise `NotStoredError` instead.
    """

    store: Store
    work: Path
    load: Load
    device: str
    commit: str | None
    stored_only: bool = False

    def outcome(self, spec: Spec, cell: Cell, watch: Watch) -> Outcome:
        """Return a cell's result; it is computed and stored if it is not stored yet."""
        if spec.kind == "selection":
            return self._selected(spec, cell, watch)
        if spec.kind == "bound":
            return self._bounded(cell, watch)
        return self._trained(cell, watch, "")

    def _trained(self, cell: Cell, watch: Watch, part: str) -> Outcome:
        held = self._stored(cell)
        if held is not None:
            return held
        watch(part, None)
        graph, split = self.load(cell)
        if cell.method in BASELINES:
            config = cell.config
            run = judge(cell.method, graph, split, trials=config.trials, seed=config.seed, device=self.device)
            return self._keep(cell, Outcome(command=cell.command, run=run))
        folder = self.work / cell.key
        if not engine.resumes(folder, graph, split, cell.config):
            # Begun with other versions: its trials would not be those of one program.
            shutil.rmtree(folder, ignore_errors=True)
        # The run is finished already if the process was killed before the cell was stored.
        trained = engine.train_once(
            graph, split, cell.config, folder, device=self.device, watch=lambda step: watch(part, step)
        )
        summed = details(trained.fit, graph, split, cell.measures)
        kept = self._keep(cell, Outcome(command=cell.command, run=trained.results, details=summed))
        shutil.rmtree(folder, ignore_errors=True)
        return kept

    def _selected(self, spec: Spec, cell: Cell, watch: Watch) -> Outcome:
        points = points_of(spec, cell)
        grid = []
        for place, (settings, point) in enumerate(points):
            part = f"{settings_text(settings)} ({place + 1} of {len(points)})"
            grid.append(summary(point, _run(self._trained(point, watch, part)), settings if spec.search else None))
        chosen = choose(grid)
        final = self._trained(fresh(spec, cell, chosen), watch, "the chosen point, fresh seeds")
        column = next(column for column in spec.columns if column.name == cell.column)
        theirs = column.paper_chosen
        paper = None if theirs is None else Choice(theirs["alpha"], theirs["gamma"])
        return replace(final, selection=Selection(tuple(grid), chosen, paper))

    def _bounded(self, cell: Cell, watch: Watch) -> Outcome:
        held = self._stored(cell)
        if held is not None:
            return held
        watch("", None)
        graph, split = self.load(cell)
        started = time.perf_counter()
        terms = estimate(
            graph,
            split,
            cell.config,
            alphas=cell.grid["alphas"],
            gammas=cell.grid["gammas"],
            device=self.device,
            watch=lambda done, total: watch(f"{done} of {total} points", None),
        )
        bound = replace(
            terms,
            settings=cell.definition,
            seconds=round(time.perf_counter() - started, 3),
            device=device_name(choose_device(self.device)),
            versions=dict(versions()),
        )
        return self._keep(cell, Outcome(bound=bound))

    def _stored(self, cell: Cell) -> Outcome | None:
        held = self.store.read(cell.key)
        if held is None and self.stored_only:
            raise NotStoredError
        return held

    def _keep(self, cell: Cell, result: Outcome) -> Outcome:
        outcome = replace(result, key=cell.key, code=text_of(cell.versions), commit=self.commit)
        self.store.write(cell.key, outcome)
        return outcome


def _run(outcome: Outcome) -> RunResult:
    if outcome.run is None:
        raise RunError(f"the stored cell {outcome.key} has no run; delete its file to compute it again")
    return outcome.run
