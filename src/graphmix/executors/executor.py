"""Executor: what runs jobs. A job is a pure function and its arguments."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

Result = TypeVar("Result")
Tell = Callable[[Any], None]


def say_nothing(step: Any) -> None:
    """Tell nobody how far a job is."""


@dataclass(frozen=True)
class Job(Generic[Result]):
    """A piece of work: `function(*arguments, tell=…)`.

    Attributes:
        function: a function of a module, which another process can import. Its result depends only on its arguments.
        arguments: what it is called with; values that can be pickled. What `Executor.share` returned is replaced by
            the shared value.
        name: what it is, for messages.
        device: where it computes: "cpu" or "cuda", as `Executor.device` returned it.
        tell: called in this process with what the function tells: how far it is. Other processes tell twice a second.
    """

    function: Callable[..., Result]
    arguments: tuple[Any, ...] = ()
    name: str = "a job"
    device: str = "cpu"
    tell: Tell = field(default=say_nothing)


@dataclass(frozen=True)
class Finished(Generic[Result]):
    """A job that ended, with its result or its error.

    Attributes:
        place: which job it was, counted from 0.
        value: the result; None if it failed.
        error: why it failed; None if it did not.
    """

    place: int
    value: Result | None = None
    error: Exception | None = None

    def get(self) -> Result:
        """Return the result, or raise the error."""
        if self.error is not None:
            raise self.error
        return self.value  # type: ignore[return-value]  # a result may be None


class Executor(ABC):
    """Runs jobs, here or elsewhere. The results do not depend on which executor it is.

    Attributes:
        here: whether jobs run in this process, where they can read and write files.
    """

    here: bool

    @abstractmethod
    def share(self, make: Callable[..., Any], *arguments: Any) -> Any:
        """Return something to put among the arguments of jobs: they get `make(*arguments)`.

        Each process computes it once. The function and its arguments can be pickled.
        """

    @abstractmethod
    def finished(self, jobs: Iterable[Job[Result]], *, at_once: int = 1) -> Generator[Finished[Result], None, None]:
        """Run jobs and yield each as it ends, failed ones too. Closing the iterator stops the others.

        Args:
            jobs: drawn one by one, when there is room for another.
            at_once: how many may run side by side in this process. If several do, each has one thread; otherwise it
                has all threads of this process. Workers elsewhere have the same number of threads for a job.
        """

    @abstractmethod
    def device(self, name: str) -> str:
        """Return the device of jobs, given what a user asked for: "auto", "cpu", "cuda" or "cuda:1".

        Raises:
            ConfigError: there is no such device.
        """

    def results(self, jobs: Iterable[Job[Result]], *, at_once: int = 1) -> Generator[tuple[int, Result], None, None]:
        """Run jobs and yield the place and the result of each as it ends; the first error ends all of them."""
        with closing(self.finished(jobs, at_once=at_once)) as finished:
            for each in finished:
                yield each.place, each.get()

    def result(self, function: Callable[..., Result], *arguments: Any, device: str = "cpu") -> Result:
        """Run one job and return its result."""
        ((_, found),) = self.results([Job(function, arguments, device=device)])
        return found
