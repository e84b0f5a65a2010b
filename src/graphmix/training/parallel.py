"""Batches of trials side by side on a CPU's cores.

The operations of one batch are too small to divide among cores: torch would spend more time synchronising than
computing. So each core takes a whole batch, with one torch thread. Batches share only the data, torch releases Python's
lock inside every operation, and a trial's result does not depend on what runs beside it.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

Result = TypeVar("Result")

_current = threading.local()


class _Stopped(Exception):  # noqa: N818 - not an error: the main thread no longer wants the result
    """Raised in a worker whose result is no longer needed."""


def side_by_side(jobs: Sequence[Callable[[], Result]], workers: int) -> Iterator[Result]:
    """Run jobs, `workers` at a time, and yield their results in order.

    If one fails, or the caller stops iterating, the others stop at their next `check_stop`.
    """
    if workers <= 1:
        for job in jobs:
            yield job()
        return
    stop = threading.Event()
    failures: list[BaseException] = []

    def work(job: Callable[[], Result]) -> Result:
        _current.stop = stop
        torch.set_num_threads(1)
        try:
            return job()
        except BaseException as error:
            if not isinstance(error, _Stopped):
                failures.append(error)
            stop.set()
            raise

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    pool = ThreadPoolExecutor(workers, thread_name_prefix="graphmix")
    try:
        yield from pool.map(work, jobs)
    except _Stopped:
        # A stopped job came first in order; the error that stopped it is more useful.
        raise failures[0] from None
    finally:
        stop.set()
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(threads)


def check_stop() -> None:
    """Stop the current job if its result is no longer needed; jobs call this often."""
    stop = getattr(_current, "stop", None)
    if stop is not None and stop.is_set():
        raise _Stopped
