"""Watcher: callbacks that tell how far a fit is. The library itself prints nothing."""

from graphmix.results.survey import Survey
from graphmix.training import Config
from graphmix.training.loop import Watch
from graphmix.workflow.problem import Problem


class Watcher:
    """Callbacks of a fit, which do nothing; override those you need."""

    def stage(self, name: str) -> None:
        """A stage begins: "reading", "encoding", "training" or "writing"; of advice "choosing" or "holding out"."""

    def understood(self, problem: Problem, survey: Survey) -> None:
        """The tables are read, and training has not begun."""

    def step(self, what: str, done: int = 0, total: int = 0) -> None:
        """Something that may take long begins, or has done so much of at most `total`; 0 if that is not known."""

    def method(self, name: str, config: Config) -> Watch | None:
        """A method begins to train; the result, if any, is called after every epoch."""
        return None
