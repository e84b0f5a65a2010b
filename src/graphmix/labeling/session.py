"""Session: the answers on the disk, what the last round predicts, and what to ask next."""

import shutil
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

from graphmix.errors import DataError, RunError
from graphmix.labeling.answers import ACTS, LABEL, LONGEST_KEY, SKIP, UNDO, Answer, check_class
from graphmix.labeling.asking import to_check, to_label
from graphmix.labeling.begin import Matter
from graphmix.labeling.behind import Behind
from graphmix.labeling.cells import Cells
from graphmix.labeling.log import NUMBER, AnswerLog
from graphmix.labeling.places import MOST_POINTS
from graphmix.labeling.round import LOOK, QUICK, THOROUGH, Ask
from graphmix.labeling.trainer import Trainer
from graphmix.labeling.view import View, read_round, read_view, write_view
from graphmix.labeling.written import ANSWERS, replayed, table_name, written
from graphmix.storage.files import read_tensors, write_bytes
from graphmix.storage.folders import LABELS, make_empty
from graphmix.storage.lock import locked

ROUNDS, SCRATCH = "rounds.jsonl", "scratch"
MODES = ("label", "check")
_WRITE_AFTER = 1.0


class Session:
    """One person who labels. Its methods may be called from several threads.

    Attributes:
        folder: the model's folder.
        matter: what is labeled.
        answers: what was said.
        rounds: the rounds so far.
        cells: the table's text.
        dropped: whether an answer was cut off in the middle when the last process ended.
        trouble: what went wrong in the background, in a sentence; None if nothing did.
        unwritten: why the labeled table could not be written, in a sentence; None once it is.
        map: the numbers and places of the nodes on the map; None until somebody asks for it.
        scratch: a folder for temporary files, which ends with the session; the next one removes it after a kill.
        guard: held while something changes, and by whoever reads more than one value.
    """

    def __init__(
        self, folder: Path, matter: Matter, *, every: int = 5, device: str = "auto", seconds: float | None = None
    ) -> None:
        self.folder, self.matter, self.every = folder, matter, every
        self._place = folder / LABELS
        self._log = AnswerLog(self._place / ANSWERS)
        self._past = AnswerLog(self._place / ROUNDS)
        self.answers = replayed(folder, matter, self._log.records)
        self.dropped = self._log.dropped
        self._given_classes = matter.problem.classes if any(matter.problem.labels) else ()
        problem = matter.problem
        self.number = {name: node for node, name in enumerate(problem.ids)}
        self.cells = Cells(matter.table, matter.rows, {matter.columns.id, matter.label})
        rounds = [read_round(record, self._past.path) for record in self._past.records]
        # The answers may come from a copy that has fewer than the last rounds knew: those that follow are new.
        self.rounds = [replace(each, answers=min(each.answers, len(self._log.records))) for each in rounds]
        self.view = read_view(self._place, self.rounds, len(problem.ids))
        # Keys of undos that found no answer: sent again, they must not take back a new one.
        self._took_nothing: set[str] = set()
        self.trouble: str | None = None
        self.unwritten: str | None = None
        self.map: tuple[list[int], list[list[float]]] | None = None
        self.guard = threading.RLock()
        self.scratch = self._place / SCRATCH
        make_empty(self.scratch)
        self._trainer = Trainer(folder, self._reported, scratch=self.scratch, device=device, seconds=seconds)
        # Another process, which ends with the map: somebody waits for it, perhaps in the middle of a round.
        self._painter = Trainer(folder, self._drawn, scratch=self.scratch, device=device)
        self._cannot_draw = False
        self._behind = Behind(self._write_quietly, _WRITE_AFTER)
        self._writing = threading.RLock()
        self._written = -1

    # What is asked and said.

    def answer(self, node: int, act: str, label: Any = None, key: str = "") -> Answer | None:
        """Store an answer; it is on the disk when this returns. None if an answer with this key is there already.

        Raises:
            DataError: the answer is invalid.
            RunError: it cannot be written.
        """
        if act not in ACTS:
            raise DataError(f"there is no answer {act!r}; there are {', '.join(ACTS)}")
        name = check_class(label, self.matter.columns.encoding) if act == LABEL else None
        said = {"act": act, "node": self.id_of(node), "label": name}
        return self._append({name: value for name, value in said.items() if value is not None}, key)

    def id_of(self, node: int) -> str:
        """Return the id of a node.

        Raises:
            DataError: there is no such node.
        """
        if not 0 <= node < len(self.matter.problem.ids):
            raise DataError("there is no such node")
        return self.matter.problem.ids[node]

    def undo(self, key: str = "") -> Answer | None:
        """Take the last answer back, and return it; None if there is none.

        With a key that took an answer back already, nothing more happens, and that answer is returned. A key that found
        none to take back takes none later.
        """
        _check_key(key)
        with self.guard:
            if key and key in self.answers.keys:
                return self.answers.taken.get(key)
            last = None if key in self._took_nothing else self.answers.last
            if last is not None:
                self._append({"act": UNDO, "of": last.number}, key)
            elif key:
                self._took_nothing.add(key)
            return last

    def _append(self, record: dict[str, Any], key: str) -> Answer | None:
        _check_key(key)
        with self.guard:
            if key and key in self.answers.keys:
                return None
            now = datetime.now(UTC).isoformat(timespec="seconds")
            self.answers.apply(self._log.append({"at": now, **record, **({"key": key} if key else {})}))
            self._train_if_due()
            self.write_soon()
            return self.answers.last

    def next(self, mode: str = "label") -> tuple[int, Ask] | None:
        """Return the node to ask about; None if there is none, or nothing is chosen yet.

        Args:
            mode: "label" for nodes without a label, "check" for given labels that look wrong.
        """
        with self.guard:
            asks = self.suspects() if mode == "check" else to_label(self.rounds, self.answers)
            return next(((self.number[ask.node], ask) for ask in asks), None)

    def suspects(self) -> list[Ask]:
        """Return given labels that look wrong and that nobody has said anything about since."""
        with self.guard:
            return to_check(self.rounds, self.answers)

    @property
    def classes(self) -> list[str]:
        """The classes to choose from: as they were named at the start, then those of the table, then new ones."""
        with self.guard:
            said = [answer.label for answer in self.answers.standing if answer.label is not None]
        return list(dict.fromkeys([*self.matter.begun.classes, *self._given_classes, *said]))

    # What happens in the background.

    @property
    def step(self) -> str | None:
        """What the training process is at; None if it is idle."""
        return self._trainer.step

    def begin(self) -> None:
        """Choose the first nodes, or train on what was said after the last round."""
        with self.guard:
            if not self.rounds:
                self._order(LOOK)
            elif self.view is None or self._unlearned():
                self._order(QUICK)

    def retrain(self) -> bool:
        """Train now; False if a round is under way."""
        with self.guard:
            return self._order(QUICK)

    def draw_map(self, again: bool = False) -> bool:
        """Lay the nodes out on a map; False if that is under way, or has failed and is not tried again."""
        with self.guard:
            if self._cannot_draw and not again:
                return False
            self._cannot_draw = False
            labeled = (node for name, node in self.number.items() if self.answers.label_of(name) is not None)
            began = self._painter.order("map", keep=list(islice(labeled, MOST_POINTS)))
            if began:
                self.map = None
            return began

    def _order(self, stage: str) -> bool:
        answers = len(self._log.records)
        return self._trainer.order("round", stage=stage, answers=answers, labels=self.answers.changed())

    def _unlearned(self) -> int:
        """How many answers that change labels were given since the last round began."""
        since = self.rounds[-1].answers if self.rounds else 0
        return sum(record["act"] != SKIP for record in self._log.records[since:])

    def _train_if_due(self) -> None:
        if self.rounds and self._unlearned() >= self.every:
            self._order(QUICK)

    def _reported(self, report: dict[str, Any]) -> None:
        with self.guard:
            if report["did"] == "failed":
                self.trouble = report["why"]
            else:
                self.trouble = report["wrong"]
                self._take(report)

    def _drawn(self, report: dict[str, Any]) -> None:
        with self.guard:
            if report["did"] == "failed":
                self.trouble, self._cannot_draw = f"the map cannot be drawn: {report['why']}", True
            else:
                held = read_tensors(Path(report["file"]))
                self.map = held["nodes"].tolist(), held["places"].tolist()
            self._painter.end()

    def _take(self, report: dict[str, Any]) -> None:
        """Take in a round, and order the next if there is reason to."""
        done = read_round(report["round"], self._past.path)
        probabilities = read_tensors(Path(report["file"]))["probabilities"]
        record = self._past.append(report["round"])
        self.rounds.append(done)
        self.view = View(done.classes, probabilities.numpy())
        write_view(self._place, probabilities, record[NUMBER])
        self.write_soon()
        if self._unlearned() >= self.every:
            self._order(QUICK)
        elif done.stage == QUICK and done.needs is None:
            self._order(THOROUGH)
        elif done.stage == LOOK and done.needs is not None and self.answers.labels() and self._can_train():
            self._order(QUICK)

    def _can_train(self) -> bool:
        """Whether there may be labels enough at the start for a first model."""
        return len(self.rounds) == 1 and len(set(filter(None, self.answers.labels().values()))) > 1

    # The table.

    @property
    def table_path(self) -> Path:
        """Where the labeled table goes: beside the answers."""
        return self._place / table_name(self.matter)

    def table(self) -> bytes:
        """Return the labeled table in the format of the input."""
        with self.guard:
            changed, labels = self.answers.changed(), list(self.answers.labels().values())
        return written(self.folder, self.matter, changed, labels)

    def write_table(self) -> Path:
        """Write the labeled table beside the answers."""
        with self._writing:
            count = len(self._log.records)
            write_bytes(self.table_path, self.table())
            self._written, self.unwritten = count, None
            return self.table_path

    def write_soon(self) -> None:
        """Write the table in the background, a moment later; the log has every answer until then."""
        if self._written != len(self._log.records):
            try:
                self._behind.soon()
            except RuntimeError as error:
                # The answer is stored, so it must not fail; the next one asks again.
                self.unwritten = f"the labeled table cannot be written: {error}"

    def _write_if_due(self) -> None:
        with self._writing:
            if self._written != len(self._log.records):
                self.write_table()

    def _write_quietly(self) -> None:
        try:
            self._write_if_due()
        except Exception as error:  # noqa: BLE001 - whatever it is, the page says so, and the log has the answers
            self.unwritten = f"the labeled table cannot be written: {error}"

    def close(self) -> None:
        """End the training process, and write the table."""
        try:
            self._trainer.close()
            self._painter.close()
            self._behind.cancel()
            self._write_if_due()
        finally:
            self._log.close()
            self._past.close()
            # If something cannot be removed, the next session says so.
            shutil.rmtree(self.scratch, ignore_errors=True)


def _check_key(key: object) -> None:
    if not isinstance(key, str) or len(key) > LONGEST_KEY:
        raise DataError(f"a key may have {LONGEST_KEY} characters")


@contextmanager
def opened(folder: Path, matter: Matter, **options: Any) -> Iterator[Session]:
    """Open a session; no other process may have it open.

    Raises:
        RunError: another process has, or the answers are damaged.
    """
    with ExitStack() as stack:
        try:
            stack.enter_context(locked(folder / LABELS))
        except RunError as error:
            raise RunError(f"{folder} cannot be opened for labeling: {error}") from error
        session = Session(folder, matter, **options)
        stack.callback(session.close)
        yield session
