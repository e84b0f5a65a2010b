"""Spec -> record: every cell is computed once and kept at once, so that a killed run can be continued.

In the results folder:

SPEC.json    the record, rewritten after every cell
cells/       results of cells by key, shared by all specs
work/        run folders of cells that are not done
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from graphmix import data
from graphmix.data import Dataset, SourceUnavailable
from graphmix.errors import RunError
from graphmix.experiments.cells import Asked, Cell, fits, plan
from graphmix.experiments.compute import Computer, Load, NotStoredError
from graphmix.experiments.records import Failure, Store, assemble, entry, kept, read_cells, write_record
from graphmix.experiments.spec import Spec
from graphmix.files import remove_temporary_files
from graphmix.results.record import CellResult, Outcome, Record
from graphmix.storage.lock import locked
from graphmix.training import Progress
from graphmix.training.devices import choose_device


@dataclass(frozen=True)
class Stage:
    """Where a reproduction stands.

    Attributes:
        spec: the table or figure in hand.
        entries: its cells, as in the record.
        todo: which of them are asked for and not there yet; until then the record may show an earlier result.
        place: the cell in hand, by its place there; as many as there are after the last.
        part: what of it is in hand, where it is trained more than once.
        step: where training stands; None before it begins.
        epochs: how many the cell in hand is trained for.
    """

    spec: Spec
    entries: list[CellResult]
    todo: list[bool]
    place: int
    part: str = ""
    step: Progress | None = None
    epochs: int = 0


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
) -> list[Record]:
    """Compute what is missing of the specs' cells and write their records.

    A cell that fails is shown as failed and the others go on; the next run tries it again.

    Args:
        specs: tables and figures.
        asked: what is asked for on top of them.
        folder: the results folder, made if need be.
        device: where to train.
        load: where a cell's graph and split come from; `graphmix.data.load` when not given.
        commit: what the code is at, for the record.
        watch: told where things stand.
        stored_only: compute nothing, only put together what is stored in the folder.
        command: what makes the record, where that is not `graphmix reproduce`.

    Returns:
        The records.

    Raises:
        ConfigError: what is asked for is in no spec, or out of its range.
        RunError: the folder cannot be used, or a stored cell is damaged.
    """
    choose_device(device)
    planned = [(spec, plan(spec, asked)) for spec in specs]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"{folder} cannot be used as a results folder: {error.strerror}") from error
    computer = Computer(
        store=Store(folder / "cells"),
        work=folder / "work",
        load=load or loader(),
        device=device,
        commit=commit,
        stored_only=stored_only,
    )
    with locked(folder):
        remove_temporary_files(folder / "cells")
        return [_run(computer, each, asked, folder, command, watch) for each in planned]


def loader(data_root: Path | None = None, report: Callable[[str], None] | None = None) -> Load:
    """Load cells' graphs and splits; the latest few are kept, since a table asks for the same again and again."""

    @lru_cache(maxsize=4)
    def read(dataset: str, split: str, seeds: tuple[int, ...]) -> Dataset:
        return data.load(dataset, split=split, seeds=seeds, data_root=data_root, report=report)

    def load(cell: Cell) -> Dataset:
        return read(cell.dataset, cell.split, () if cell.split == data.PUBLIC else tuple(cell.split_seeds))

    return load


def _run(
    computer: Computer, planned: tuple[Spec, list[Cell]], asked: Asked, folder: Path, command: str | None, watch: Watch
) -> Record:
    spec, cells = planned
    wanted = [cell.method is not None and fits(cell, asked.only) for cell in cells]
    held = [_held(computer.store, spec, cell) for cell in cells]
    # What was asked for and is not there yet; a search is gone through even where all of it is.
    todo = [wants and outcome is None for wants, outcome in zip(wanted, held, strict=True)]
    entries = [entry(spec, cell, outcome, None) for cell, outcome in zip(cells, held, strict=True)]
    # What the record has of the others stays, and of these too until there is something better: a kill loses nothing.
    before = read_cells(folder, spec, damaged_ok=asked.only is None)
    for place, cell in enumerate(cells):
        old = before.get((cell.row, cell.column, cell.reading))
        if old is not None and (todo[place] or not wanted[place]):
            entries[place] = kept(spec, cell, old) or entries[place]
    for place in [place for place, missing in enumerate(todo) if missing]:

        def tell(part: str, step: Progress | None, place: int = place) -> None:
            watch(Stage(spec, entries, todo, place, part, step, cells[place].config.epochs))

        entries[place] = _entry(computer, spec, cells[place], tell, entries[place])
        todo[place] = False
        write_record(folder, assemble(spec, asked, entries, computer.commit, command))
        watch(Stage(spec, entries, todo, place + 1))
    record = assemble(spec, asked, entries, computer.commit, command)
    write_record(folder, record)
    watch(Stage(spec, entries, todo, len(entries)))
    return record


def _held(store: Store, spec: Spec, cell: Cell) -> Outcome | None:
    # A search is made of stored cells, but is not one; going through it costs little when they are all there.
    return None if cell.method is None or spec.kind == "selection" else store.read(cell.key)


def _entry(
    computer: Computer, spec: Spec, cell: Cell, tell: Callable[[str, Progress | None], None], before: CellResult
) -> CellResult:
    try:
        return entry(spec, cell, computer.outcome(spec, cell, tell), None)
    except NotStoredError:
        return before
    except SourceUnavailable:
        # Without the folders it was looked for in: a record may be read on other machines.
        error: Failure = ("unavailable", f"the files of {cell.dataset} are not here and could not be downloaded")
    except Exception as caught:  # noqa: BLE001
        # One cell of a hundred, whatever it is: the record says what happened, and the command ends with a failure.
        error = ("failed", f"{type(caught).__name__}: {str(caught).splitlines()[0] if str(caught) else 'no message'}")
    return entry(spec, cell, None, error)
