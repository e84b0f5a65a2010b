"""Stages: how far a fit is, and how long each of its stages took."""

import time

from graphmix.workflow.watching import Watcher


class Stages:
    """The stages of a fit: tells a watcher when one begins, and counts the seconds of each."""

    def __init__(self, watch: Watcher) -> None:
        self.seconds: dict[str, float] = {}
        self._watch, self._stage, self._since = watch, "", time.perf_counter()

    def begin(self, stage: str) -> None:
        """Begin a stage, and end the one before."""
        self.end()
        self._stage = stage
        self._watch.stage(stage)

    def end(self) -> None:
        """End the stage that was begun last."""
        now = time.perf_counter()
        if self._stage:
            self.seconds[self._stage] = round(now - self._since, 3)
        self._stage, self._since = "", now
