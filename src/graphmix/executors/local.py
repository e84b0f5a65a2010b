"""The executor that needs nothing: jobs in this process.

The operations of one batch of trials are too small to divide among cores: torch would spend more time synchronising
than computing. So each core takes a whole batch, with one torch thread. Batches share only the data, torch releases
Python's lock inside every operation, and a trial's result does not depend on what runs beside it.
"""

import threading
import traceback
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing
from typing import Any, TypeVar

from graphmix.executors.executor import Executor, Finished, Job, Tell

Result = TypeVar("Result")

_current = threading.local()


class _Stopped(Exception):  # noqa: N818 - not an error: the main thread no longer wants the result
    """Raised in a thread whose result is no longer needed."""


class Local(Executor):
    """Runs jobs in this process, one after the other or in threads side by side."""

    here = True

    def share(self, make: Callable[..., Any], *arguments: Any) -> Any:
        """Return the value itself."""
        return make(*arguments)

    def finished(self, jobs: Iterable[Job[Result]], *, at_once: int = 1) -> Generator[Finished[Result], None, None]:
        """Run jobs in this thread, or several in threads of their own."""
        if at_once > 1:
            yield from _in_threads(jobs, at_once)
            return
        for place, job in enumerate(jobs):
            yield _run(place, job)

    def device(self, name: str) -> str:
        """Return the name: whoever trains checks it."""
        return name


LOCAL = Local()


def side_by_side(calls: Sequence[Callable[[], Result]], workers: int) -> Iterator[Result]:
    """Call functions, `workers` at a time, and yield their results in order; with several, each has one thread.

    If one fails, or the caller stops iterating, the others stop at their next `check_stop`.
    """
    held: dict[int, Result] = {}
    following = 0
    with closing(LOCAL.results([Job(_call, (call,)) for call in calls], at_once=workers)) as results:
        for place, found in results:
            held[place] = found
            while following in held:
                yield held.pop(following)
                following += 1


def check_stop() -> None:
    """Stop the current job if its result is no longer needed; jobs call this often."""
    stop = getattr(_current, "stop", None)
    if stop is not None and stop.is_set():
        raise _Stopped


def _call(call: Callable[[], Result], tell: Tell) -> Result:
    return call()


def _run(place: int, job: Job[Result]) -> Finished[Result]:
    try:
        return Finished(place, job.function(*job.arguments, tell=job.tell))
    except Exception as error:  # noqa: BLE001 - whoever takes the result raises it
        # What its frames hold, such as the memory of a GPU, would otherwise live as long as the error.
        traceback.clear_frames(error.__traceback__)
        return Finished(place, error=error)


def _in_threads(jobs: Iterable[Job[Result]], workers: int) -> Generator[Finished[Result], None, None]:
    # Imported here: it takes seconds, and other commands come without it.
    import torch

    stop = threading.Event()

    def work(place: int, job: Job[Result]) -> Finished[Result]:
        _current.stop = stop
        torch.set_num_threads(1)
        return _run(place, job)

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    pool = ThreadPoolExecutor(workers, thread_name_prefix="graphmix")
    running: set[Future[Finished[Result]]] = set()
    try:
        for place, job in enumerate(jobs):
            running.add(pool.submit(work, place, job))
            if len(running) == workers:
                ended, running = wait(running, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in ended)
        while running:
            ended, running = wait(running, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in ended)
    finally:
        stop.set()
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(threads)
