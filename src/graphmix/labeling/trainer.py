"""Trainer: the other end of the worker's process. Nothing here waits for it."""

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

from graphmix.errors import GraphMixError

Report = Callable[[dict[str, Any]], None]
# For a report that is being stored when everything ends.
_LONGEST_WAIT = 5.0


class Trainer:
    """Orders work from a process, and passes its reports on, in a thread of its own.

    Attributes:
        step: what the process is at; None if it has nothing to do.
    """

    def __init__(
        self, folder: Path, report: Report, *, scratch: Path, device: str = "auto", seconds: float | None = None
    ) -> None:
        # Nothing is imported from the current folder: it may come from elsewhere, as the tables do.
        worker = [sys.executable, "-P", "-m", "graphmix.labeling.worker"]
        self._command = [*worker, str(folder), str(scratch), device, str(seconds or "")]
        self._report = report
        self._process: subprocess.Popen[str] | None = None
        self._listener: threading.Thread | None = None
        self._guard = threading.Lock()
        self._closed = False
        self.step: str | None = None

    @property
    def is_busy(self) -> bool:
        """Whether an order is not yet reported."""
        return self.step is not None

    def order(self, what: str, **more: Any) -> bool:
        """Order something; False if the process is busy. If it cannot be started, that is reported."""
        line = json.dumps({"do": what, **more}) + "\n"
        with self._guard:
            if self.is_busy or self._closed:
                return False
            self.step = "starting"
        # A pipe takes 64 KiB before the process reads, and that one may import torch first.
        try:
            threading.Thread(target=self._send, args=(line,), daemon=True).start()
        except RuntimeError as error:
            self._fail(f"the training process cannot be started: {error}")
            return False
        return True

    def end(self) -> None:
        """End the process; the next order starts another."""
        with self._guard:
            process, self._process, self.step = self._process, None, None
        if process is not None:
            process.kill()
            process.wait()

    def close(self) -> None:
        """End the process for good, and wait until nothing more is reported."""
        self._closed = True
        self.end()
        if self._listener is not None:
            self._listener.join(_LONGEST_WAIT)

    def _send(self, line: str) -> None:
        try:
            with self._guard:
                if self._closed:
                    return
                process = self._running()
            assert process.stdin is not None  # it is a pipe
            process.stdin.write(line)
            process.stdin.flush()
        except (BrokenPipeError, ValueError):
            # It has ended; the thread that listens says so.
            pass
        except (OSError, RuntimeError) as error:
            self._fail(f"the training process cannot be started: {error}")

    def _running(self) -> "subprocess.Popen[str]":
        if self._process is None or self._process.poll() is not None:
            with ExitStack() as stack:
                # What the process says when it fails in a way that nobody foresaw.
                errors = stack.enter_context(tempfile.TemporaryFile())
                self._process = subprocess.Popen(
                    self._command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    text=True,
                    encoding="utf-8",
                    env=spared(os.environ),
                    # Ctrl-C in the terminal is for the server, which then ends the process.
                    start_new_session=True,
                )
                # Nobody would hear a process without its listener.
                stack.callback(self._give_up)
                self._listener = threading.Thread(target=self._listen, args=(self._process, errors), daemon=True)
                self._listener.start()
                # The thread closes it.
                stack.pop_all()
        return self._process

    def _give_up(self) -> None:
        process, self._process, self._listener = self._process, None, None
        if process is not None:
            process.kill()
            process.wait()

    def _listen(self, process: "subprocess.Popen[str]", errors: IO[bytes]) -> None:
        assert process.stdout is not None  # it is a pipe
        with errors:
            for line in process.stdout:
                # What was cut off is told by the end of the process, and what an ended process said is of no use.
                if line.endswith("\n") and self._process is process:
                    self._hear(line)
            code = process.wait()
            if self._process is process and self.is_busy:
                self._fail(f"the training process ended with code {code}{_last_line(errors)}")

    def _hear(self, line: str) -> None:
        try:
            report = json.loads(line)
            if report["did"] == "step":
                self.step = report["step"]
                return
            self.step = None
            self._report(report)
        except Exception as error:  # noqa: BLE001 - whatever it is, the page says so, and the next round may begin
            why = str(error) if isinstance(error, GraphMixError | OSError) else f"{type(error).__name__}: {error}"
            self._fail(f"what the training process made cannot be used: {why}")

    def _fail(self, why: str) -> None:
        self.step = None
        self._report({"did": "failed", "why": why})


def spared(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which training leaves one core to the server and the browser, unless a user chose.

    Where more threads compute than there are free cores, they spend their time waiting for each other.
    """
    return {"OMP_NUM_THREADS": str(max(1, (os.cpu_count() or 2) - 1)), **environment}


def _last_line(errors: IO[bytes]) -> str:
    errors.seek(0)
    said = errors.read().decode("utf-8", "replace").strip().splitlines()
    return f": {said[-1]}" if said else ""
