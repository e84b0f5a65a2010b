"""Batches of trials side by side on a CPU's cores.

One batch's operations are too small to share out: torch spends more time meeting at the end of each than computing.
Whole batches share nothing but the data, torch lets go of Python's lock inside every operation, and a trial's result
does not depend on what runs beside it; so each core takes a batch, with one torch thread.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

Result = TypeVar("Result")

_current = threading.local()


class _Stopped(Exception):  # noqa: N818 - not an error: the main thread no longer wants the result
    """Raised in a worker when the work was given up."""


def side_by_side(jobs: Sequence[Callable[[], Result]], workers: int) -> Iterator[Result]:
    """Run jobs, `workers` at a time, and yield their results in order.

    When one fails, or the caller stops asking, the others stop at their next `check_stop`.
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
        # A job that was told to stop came first in line; what stopped it says more.
        raise failures[0] from None
    finally:
        stop.set()
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(threads)


def check_stop() -> None:
    """Leave the job at hand if nobody waits for it any more; jobs call this often."""
    stop = getattr(_current, "stop", None)
    if stop is not None and stop.is_set():
        raise _Stopped
