"""Trainer: the other end of the worker's process. Nothing here waits for it."""

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

Report = Callable[[dict[str, Any]], None]


class Trainer:
    """Orders work from a process, and passes its reports on, in a thread of its own.

    Attributes:
        step: what the process is at; None if it has nothing to do.
    """

    def __init__(self, folder: Path, report: Report, *, device: str = "auto", seconds: float | None = None) -> None:
        self._command = [sys.executable, "-m", "graphmix.labeling.worker", str(folder), device, str(seconds or "")]
        self._report = report
        self._process: subprocess.Popen[str] | None = None
        self._guard = threading.Lock()
        self.step: str | None = None

    @property
    def is_busy(self) -> bool:
        """Whether an order is not yet reported."""
        return self.step is not None

    def order(self, what: str, **more: Any) -> bool:
        """Order something; False if the process is busy."""
        with self._guard:
            if self.is_busy:
                return False
            self.step = "starting"
            process = self._running()
        try:
            assert process.stdin is not None  # it is a pipe
            process.stdin.write(json.dumps({"do": what, **more}) + "\n")
            process.stdin.flush()
        except (BrokenPipeError, ValueError):
            # It has ended; the thread that listens says so.
            pass
        return True

    def close(self) -> None:
        """End the process."""
        with self._guard:
            process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()

    def _running(self) -> "subprocess.Popen[str]":
        if self._process is None or self._process.poll() is not None:
            # What the process says when it fails in a way that nobody foresaw.
            errors = tempfile.TemporaryFile()  # noqa: SIM115 - the thread closes it
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
            threading.Thread(target=self._listen, args=(self._process, errors), daemon=True).start()
        return self._process

    def _listen(self, process: "subprocess.Popen[str]", errors: IO[bytes]) -> None:
        assert process.stdout is not None  # it is a pipe
        for line in process.stdout:
            report = json.loads(line)
            if report["did"] == "step":
                self.step = report["step"]
                continue
            self.step = None
            self._report(report)
        code = process.wait()
        if self._process is process and self.is_busy:
            self.step = None
            why = f"the training process ended with code {code}{_last_line(errors)}"
            self._report({"did": "failed", "what": "round", "why": why})
        errors.close()


def spared(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which training leaves one core to the server and the browser, unless a user chose.

    Where more threads compute than there are free cores, they spend their time waiting for each other.
    """
    return {"OMP_NUM_THREADS": str(max(1, (os.cpu_count() or 2) - 1)), **environment}


def _last_line(errors: IO[bytes]) -> str:
    errors.seek(0)
    said = errors.read().decode("utf-8", "replace").strip().splitlines()
    return f": {said[-1]}" if said else ""
