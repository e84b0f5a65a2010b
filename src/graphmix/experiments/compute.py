"""Cell -> outcome: train one cell and summarise it, or read its stored result."""

import shutil
import tempfile
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from graphmix.analysis import details
from graphmix.analysis.bound import estimate
from graphmix.baselines import BASELINES, judge
from graphmix.data import Dataset
from graphmix.errors import RunError
from graphmix.executors import LOCAL, Executor, Finished, Job
from graphmix.executors.executor import Tell
from graphmix.experiments.cells import Cell
from graphmix.experiments.records import Store
from graphmix.experiments.selection import choose, finalists_of, fresh, points_of, summary
from graphmix.experiments.spec import Spec
from graphmix.experiments.versions import text_of
from graphmix.results.describe import device_name, versions
from graphmix.results.record import Choice, GridPoint, Outcome, Selection
from graphmix.results.run import RunResult
from graphmix.results.wording import settings_text
from graphmix.storage import runs as engine
from graphmix.training import Progress
from graphmix.training.devices import choose_device

Load = Callable[[Cell], Dataset]
# Called with the part of a cell that is computed now, and the progress of its training.
Watch = Callable[[str, Progress | None], None]
# A cell, what part of another cell it is, and whom to tell.
Part = tuple[Cell, str, Watch]
Compute = Callable[..., Outcome]
# Graphs of cells that workers share, the last few.
_MOST_SHARED = 4


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
        executor: each cell, and each point of a search, is a job of it.
    """

    store: Store
    work: Path
    load: Load
    device: str
    commit: str | None
    stored_only: bool = False
    executor: Executor = LOCAL
    _shared: list[tuple[Dataset, Any]] = field(default_factory=list)

    def outcomes(self, spec: Spec, cells: Iterable[tuple[Cell, Watch]]) -> Iterator[Finished[Outcome]]:
        """Compute cells of a spec and store their results; yield each as it ends, failed ones too."""
        if spec.kind == "selection":
            # The points of a search go side by side, so searches follow each other.
            yield from LOCAL.finished(Job(partial(self._selected, spec), each) for each in cells)
            return
        compute = _bounded if spec.kind == "bound" else _trained
        yield from self._computed(compute, ((cell, "", watch) for cell, watch in cells))

    def _selected(self, spec: Spec, cell: Cell, watch: Watch, tell: Tell) -> Outcome:
        grid = self._points(spec, points_of(spec, cell), watch, "")
        finalists = self._points(spec, finalists_of(spec, cell, grid), watch, "finalist, ")
        chosen = choose(finalists or grid)
        (final,) = self._all([(fresh(spec, cell, chosen), "the chosen point, fresh seeds", watch)])
        column = next(column for column in spec.columns if column.name == cell.column)
        theirs = column.paper_chosen
        paper = None if theirs is None else Choice(theirs["alpha"], theirs["gamma"])
        return replace(final, selection=Selection(grid, chosen, paper, finalists or None))

    def _points(
        self, spec: Spec, points: list[tuple[dict[str, Any], Cell]], watch: Watch, what: str
    ) -> tuple[GridPoint, ...]:
        """Train the points of a search, side by side where the executor can."""
        names = [f"{settings_text(each)} ({place + 1} of {len(points)})" for place, (each, _) in enumerate(points)]
        found = self._all([(point, what + name, watch) for name, (_, point) in zip(names, points, strict=True)])
        return tuple(
            summary(point, _run(outcome), settings if spec.search else None)
            for outcome, (settings, point) in zip(found, points, strict=True)
        )

    def _all(self, wanted: Sequence[Part]) -> list[Outcome]:
        """Return the results of trained cells, in order; the first error ends the others."""
        with closing(self._computed(_trained, wanted)) as finished:
            found = {each.place: each.get() for each in finished}
        return [found[place] for place in range(len(wanted))]

    def _computed(self, compute: Compute, wanted: Iterable[Part]) -> Generator[Finished[Outcome], None, None]:
        drawn: list[Cell] = []

        def jobs() -> Iterator[Job[Outcome]]:
            for cell, part, watch in wanted:
                drawn.append(cell)
                yield self._job(compute, cell, part, watch)

        with closing(self.executor.finished(jobs())) as finished:
            for each in finished:
                yield each if each.error is not None else self._keep(drawn[each.place], each)

    def _job(self, compute: Compute, cell: Cell, part: str, watch: Watch) -> Job[Outcome]:
        """Return the job of a cell; if it is stored, or cannot be loaded, one that says so."""
        try:
            held = self.store.read(cell.key)
            if held is not None:
                return Job(_give, (held,))
            if self.stored_only:
                raise NotStoredError
            watch(part, None)
            shared = self._share(self.load(cell))
        except Exception as error:  # noqa: BLE001 - it is the error of this cell, and others may be computed
            return Job(_fail, (error,))
        folder = self.work / cell.key if self.executor.here else None
        name = f"{cell.row} / {cell.column}"
        arguments = (cell, part, shared, folder, self.device)
        return Job(compute, arguments, name, self.device, lambda told: watch(*told))

    def _share(self, dataset: Dataset) -> Any:
        for held, shared in self._shared:
            if held is dataset:
                return shared
        self._shared.append((dataset, self.executor.share(_same, dataset)))
        del self._shared[:-_MOST_SHARED]
        return self._shared[-1][1]

    def _keep(self, cell: Cell, done: Finished[Outcome]) -> Finished[Outcome]:
        """Store the result of a cell, unless it comes from the store."""
        if done.get().key == cell.key:
            return done
        outcome = replace(done.get(), key=cell.key, code=text_of(cell.versions), commit=self.commit)
        try:
            self.store.write(cell.key, outcome)
        except Exception as error:  # noqa: BLE001 - it is the error of this cell
            return Finished(done.place, error=error)
        shutil.rmtree(self.work / cell.key, ignore_errors=True)
        return Finished(done.place, outcome)


def _same(dataset: Dataset) -> Dataset:
    return dataset


def _give(outcome: Outcome, tell: Tell) -> Outcome:
    return outcome


def _fail(error: Exception, tell: Tell) -> Outcome:
    raise error


def _trained(cell: Cell, part: str, dataset: Dataset, folder: Path | None, device: str, tell: Tell) -> Outcome:
    """Train a cell; a run that was begun in a folder goes on, unless that is None."""
    graph, split = dataset
    if cell.method in BASELINES:
        config = cell.config
        run = judge(cell.method, graph, split, trials=config.trials, seed=config.seed, device=device)
        return Outcome(command=cell.command, run=run)
    if folder is None:
        with tempfile.TemporaryDirectory(prefix="graphmix-") as made:
            return _trained(cell, part, dataset, Path(made) / cell.key, device, tell)
    if not engine.resumes(folder, graph, split, cell.config):
        # Begun with other versions: its trials would not be those of one program.
        shutil.rmtree(folder, ignore_errors=True)
    # The run is finished already if the process was killed before the cell was stored.
    trained = engine.train_once(graph, split, cell.config, folder, device=device, watch=lambda step: tell((part, step)))
    summed = details(trained.fit, graph, split, cell.measures)
    return Outcome(command=cell.command, run=trained.results, details=summed)


def _bounded(cell: Cell, part: str, dataset: Dataset, folder: Path | None, device: str, tell: Tell) -> Outcome:
    """Estimate the theorem's terms."""
    graph, split = dataset
    started = time.perf_counter()
    terms = estimate(
        graph,
        split,
        cell.config,
        alphas=cell.grid["alphas"],
        gammas=cell.grid["gammas"],
        device=device,
        watch=lambda done, total: tell((f"{done} of {total} points", None)),
    )
    bound = replace(
        terms,
        settings=cell.definition,
        seconds=round(time.perf_counter() - started, 3),
        device=device_name(choose_device(device)),
        versions=dict(versions()),
    )
    return Outcome(bound=bound)


def _run(outcome: Outcome) -> RunResult:
    if outcome.run is None:
        raise RunError(f"the stored cell {outcome.key} has no run; delete its file to compute it again")
    return outcome.run
