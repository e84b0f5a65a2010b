"""The process that trains: it reads orders from standard input and writes what came of them to standard output.

Both are lines of JSON; probabilities go through a file. The process ends when its input does, so it never outlives the
server, however that one ends.
"""

import json
import os
import queue
import shutil
import sys
import threading
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

import numpy as np
import torch

from graphmix.errors import GraphMixError
from graphmix.labeling.begin import Matter, own_model, read_matter, stored
from graphmix.labeling.places import lay_out
from graphmix.labeling.round import LOOK
from graphmix.labeling.rounds import Before, Result, Told, look, save, train
from graphmix.limits import LARGEST_CELL, Limits
from graphmix.machine import is_out_of_memory
from graphmix.storage.files import write_tensors
from graphmix.storage.found import is_model
from graphmix.workflow.model import load_model

# Lower than that of the page's server, which somebody waits for.
_NICENESS = 5
# The server has read the same tables with the limits that the user chose.
_LIMITS = Limits(size=2**40, rows=2 * 10**9, columns=2 * 10**9, cell=LARGEST_CELL)


class Worker:
    """Does what it is ordered, one thing after the other.

    Attributes:
        folder: the model's folder.
        matter: what is labeled.
    """

    def __init__(self, folder: Path, matter: Matter, scratch: Path, device: str, seconds: float | None) -> None:
        self.folder, self.matter = folder, matter
        self._scratch, self._device, self._seconds = scratch, device, seconds
        self._before: Before = None

    def do(self, order: dict[str, Any], tell: Told) -> dict[str, Any]:
        """Follow an order; return what to report."""
        if order["do"] == "map":
            trained = own_model(self.folder, self.matter.begun)
            model = load_model(trained) if is_model(trained) else self.matter.model
            nodes, places = lay_out(self.matter.problem.graph, model, keep=order["keep"])
            return self._report("map", {"nodes": torch.from_numpy(nodes), "places": torch.from_numpy(places)}, {})
        labels = [order["labels"].get(node, was) for node, was in self._given()]
        result = self._result(order, labels, tell)
        if result.model is not None:
            self._before = result.round.classes, result.probabilities
        wrong = None
        if result.model is not None and result.round.stage != LOOK:
            wrong = save(result.model, own_model(self.folder, self.matter.begun))
        tensors = {"probabilities": torch.from_numpy(result.probabilities.astype(np.float32))}
        return self._report("round", tensors, {"round": asdict(result.round), "wrong": wrong})

    def _result(self, order: dict[str, Any], labels: list[str | None], tell: Told) -> Result:
        stage, answers = order["stage"], order["answers"]
        if stage == LOOK:
            return look(self.matter, labels, answers)
        # What the quick round tried is of use to the thorough one with the same labels, and to no other.
        tried = self._scratch / f"tried-{answers}"
        for old in self._scratch.glob("tried-*"):
            if old != tried:
                shutil.rmtree(old)
        return train(
            self.matter,
            labels,
            stage,
            answers,
            folder=tried,
            device=self._device,
            seconds=self._seconds,
            before=self._before,
            watch=tell,
        )

    def _given(self) -> Iterator[tuple[str, str | None]]:
        return zip(self.matter.problem.ids, self.matter.problem.labels, strict=True)

    def _report(self, what: str, tensors: dict[str, torch.Tensor], more: dict[str, Any]) -> dict[str, Any]:
        path = self._scratch / f"{what}.safetensors"
        write_tensors(path, tensors)
        return {"did": what, "file": str(path), **more}


def main(arguments: list[str], orders: IO[str], reports: IO[str]) -> None:
    """Serve a session: `FOLDER SCRATCH DEVICE SECONDS`, where SECONDS may be empty. The server removes SCRATCH."""
    folder, scratch, device, seconds = Path(arguments[0]), Path(arguments[1]), arguments[2], arguments[3]
    waiting: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(orders, waiting), daemon=True).start()
    begun = stored(folder)
    assert begun is not None  # the server has written it
    matter = read_matter(folder, begun, _LIMITS)
    worker = Worker(folder, matter, scratch, device, float(seconds) if seconds else None)
    while True:
        _serve(worker, json.loads(waiting.get()), reports)


def _listen(orders: IO[str], waiting: "queue.SimpleQueue[str]") -> None:
    """Take orders; end the process with its input, whatever it is doing."""
    for line in orders:
        waiting.put(line)
    os._exit(0)


def _serve(worker: Worker, order: dict[str, Any], reports: IO[str]) -> None:
    def tell(report: dict[str, Any]) -> None:
        reports.write(json.dumps(report) + "\n")
        reports.flush()

    try:
        tell(worker.do(order, Told(lambda step: tell({"did": "step", "step": step}))))
    except (GraphMixError, OSError, RuntimeError, MemoryError) as error:
        why = "there is not enough memory" if is_out_of_memory(error) else str(error)
        tell({"did": "failed", "why": why})


if __name__ == "__main__":
    if hasattr(os, "nice"):
        os.nice(_NICENESS)
    # Nothing else may be written where reports are read, also not by libraries in C.
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as reports:
        os.dup2(2, 1)
        main(sys.argv[1:], sys.stdin, reports)
