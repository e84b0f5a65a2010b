"""Spec -> record: every cell is stored as soon as it is computed, so that a killed run can be resumed.

In the results folder:

SPEC.json    the record, rewritten after every cell
cells/       results of cells by key, shared by all specs
work/        run folders of unfinished cells
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from graphmix import data
from graphmix.data import Dataset, SourceUnavailable
from graphmix.errors import RunError
from graphmix.executors import LOCAL, Executor, Finished
from graphmix.experiments.cells import Asked, Cell, fits, plan
from graphmix.experiments.compute import Computer, Load, NotStoredError
from graphmix.experiments.compute import Watch as WatchCell
from graphmix.experiments.records import Failure, Store, assemble, entry, kept, read_cells, write_record
from graphmix.experiments.spec import Spec
from graphmix.files import remove_temporary_files
from graphmix.limits import USUAL, Limits
from graphmix.machine import is_out_of_memory
from graphmix.results.record import CellResult, Outcome, Record
from graphmix.storage.folders import CELLS, WORK
from graphmix.storage.lock import locked
from graphmix.training import Progress
from graphmix.training.devices import choose_device, give_back_memory
from graphmix.training.estimates import check_runs


@dataclass(frozen=True)
class Stage:
    """The progress of a reproduction.

    Attributes:
        spec: the current table or figure.
        entries: its cells, as in the record.
        todo: the cells still to compute; until then the record may show an earlier result.
        place: index of the current cell in `entries`; their number after the last.
        part: the current part of a cell that is trained more than once.
        step: the progress of training; None before it starts.
        epochs: number of epochs of the current cell.
        running: indices of all cells in work, if there are several.
    """

    spec: Spec
    entries: list[CellResult]
    todo: list[bool]
    place: int
    part: str = ""
    step: Progress | None = None
    epochs: int = 0
    running: frozenset[int] = frozenset()


Watch = Callable[[Stage], None]


def reproduce(
    specs: Iterable[Spec],
    asked: Asked,
    folder: Path,
    *,
    device: str = "auto",
    load: Load | None = None,
    commit: str | None = None,
    watch: Watch = lambda stage: None,
    stored_only: bool = False,
    command: str | None = None,
    executor: Executor = LOCAL,
) -> list[Record]:
    """Compute the missing cells of the specs and write their records.

    If a cell fails, the record says so and the other cells are computed; the next run tries it again.

    Args:
        specs: tables and figures.
        asked: the user's changes to the specs.
        folder: the results folder; created if missing.
        device: the device to train on.
        load: loads a cell's graph and split; default: `graphmix.data.load`.
        commit: the commit of the code, for the record.
        watch: called with the progress.
        stored_only: compute nothing, only make the records from stored cells.
        command: the command that makes the record; default: `graphmix reproduce`.
        executor: where cells are computed; in this process by default, one after the other.

    Returns:
        The records.

    Raises:
        ConfigError: no spec has the cells asked for, or a hyperparameter is out of range.
        RunError: the folder cannot be used, or a stored cell is damaged.
    """
    device = executor.device(device)
    if executor.here:
        choose_device(device)
    planned = [(spec, plan(spec, asked)) for spec in specs]
    for _, cells in planned:
        for config in {cell.config for cell in cells if cell.method is not None and fits(cell, asked.only)}:
            check_runs(config)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"{folder} cannot be used as a results folder: {error.strerror}") from error
    computer = Computer(
        store=Store(folder / CELLS),
        work=folder / WORK,
        load=load or loader(),
        device=device,
        commit=commit,
        stored_only=stored_only,
        executor=executor,
    )
    with locked(folder):
        remove_temporary_files(folder / CELLS)
        # What is in the way of the last table is said before the first is computed.
        for spec, _ in planned:
            read_cells(folder, spec)
        records = [_run(computer, each, asked, folder, command, watch) for each in planned]
        # Only an empty folder can be removed: an unfinished run is kept.
        with contextlib.suppress(OSError):
            computer.work.rmdir()
    return records


def loader(data_root: Path | None = None, report: Callable[[str], None] | None = None, limit: Limits = USUAL) -> Load:
    """Return a function that loads graphs and splits; it keeps the last few, because a table uses them repeatedly."""

    @lru_cache(maxsize=4)
    def read(dataset: str, split: str, seeds: tuple[int, ...]) -> Dataset:
        return data.load(dataset, split=split, seeds=seeds, data_root=data_root, report=report, limit=limit)

    def load(cell: Cell) -> Dataset:
        return read(cell.dataset, cell.split, () if cell.split == data.PUBLIC else tuple(cell.split_seeds))

    return load


def _run(
    computer: Computer, planned: tuple[Spec, list[Cell]], asked: Asked, folder: Path, command: str | None, watch: Watch
) -> Record:
    spec, cells = planned
    wanted = [cell.method is not None and fits(cell, asked.only) for cell in cells]
    held = [_held(computer.store, spec, cell) for cell in cells]
    # The cells to compute. A search is always repeated, even if all its cells are stored.
    todo = [wants and outcome is None for wants, outcome in zip(wanted, held, strict=True)]
    entries = [entry(spec, cell, outcome, None) for cell, outcome in zip(cells, held, strict=True)]
    # The record keeps its earlier entries until new ones are computed, so that killing the run loses nothing.
    before = read_cells(folder, spec)
    for place, cell in enumerate(cells):
        old = before.get((cell.row, cell.column, cell.reading))
        if old is not None and (todo[place] or not wanted[place]):
            entries[place] = kept(spec, cell, old) or entries[place]
    missing = [place for place, wanted in enumerate(todo) if wanted]
    running: set[int] = set()

    def drawn() -> Iterator[tuple[Cell, WatchCell]]:
        for place in missing:

            def tell(part: str, step: Progress | None, place: int = place) -> None:
                watch(Stage(spec, entries, todo, place, part, step, cells[place].config.epochs, frozenset(running)))

            running.add(place)
            yield cells[place], tell

    for done in computer.outcomes(spec, drawn()):
        place = missing[done.place]
        running.discard(place)
        earlier, entries[place] = entries[place], _entry(spec, cells[place], done, entries[place])
        give_back_memory()
        todo[place] = False
        if entries[place] is not earlier:
            write_record(folder, assemble(spec, asked, entries, computer.commit, command))
        watch(Stage(spec, entries, todo, place + 1, running=frozenset(running)))
    record = assemble(spec, asked, entries, computer.commit, command)
    write_record(folder, record)
    watch(Stage(spec, entries, todo, len(entries)))
    return record


def _held(store: Store, spec: Spec, cell: Cell) -> Outcome | None:
    # A search is not stored itself, only its cells; repeating it is fast when all of them are stored.
    return None if cell.method is None or spec.kind == "selection" else store.read(cell.key)


def _entry(spec: Spec, cell: Cell, done: Finished[Outcome], before: CellResult) -> CellResult:
    try:
        return entry(spec, cell, done.get(), None)
    except NotStoredError:
        return before
    except SourceUnavailable:
        # The sentence names no folders, because a record may be read on other machines.
        error: Failure = ("unavailable", f"the files of {cell.dataset} are not here and could not be downloaded")
    except Exception as caught:  # noqa: BLE001
        # Any error stops only this cell: the record says what happened, and the command ends with a failure.
        if is_out_of_memory(caught):
            return entry(spec, cell, None, ("failed", "out of memory; compute it on a machine with more"))
        error = ("failed", f"{type(caught).__name__}: {str(caught).splitlines()[0] if str(caught) else 'no message'}")
    return entry(spec, cell, None, error)
