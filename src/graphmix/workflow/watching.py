"""Watcher: callbacks that tell how far a fit is. The library itself prints nothing."""

from collections.abc import Callable

from graphmix.results.survey import Survey
from graphmix.workflow.problem import Problem


class Watcher:
    """Callbacks of a fit, which do nothing; override those you need."""

    def stage(self, name: str) -> None:
        """A stage begins: "reading", "encoding", "training" or "writing"; of advice "choosing" or "holding out"."""

    def expected(self, what: str) -> None:
        """The tables are large; `what` says what reading them takes: memory, time, and room on the disk."""

    def rows(self, what: str, rows: int) -> None:
        """So many rows of a table are done so far; `what` is done with them."""

    def understood(self, problem: Problem, survey: Survey) -> None:
        """The tables are read, and training has not begun."""

    def step(self, what: str) -> None:
        """Something that may take long begins."""

    def begins(self, what: str, place: int, steps: int) -> Callable[[int, int], None]:
        """Step `place`, from 0, of `steps` of the training begins; the result is called with what is done, of how much.

        Networks that train side by side call it from several threads.
        """
        return lambda done, total: None
