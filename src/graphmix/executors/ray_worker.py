"""What runs in a Ray worker: one job, with its shared values and its progress. Imports nothing that takes long."""

import time
from dataclasses import dataclass
from typing import Any

from graphmix.executors.packing import pack, unpack

# Packages whose versions results depend on.
COMPARED = ("graphmix", "torch", "numpy", "scipy", "scikit-learn", "numba")
# So often a job tells how far it is.
TELL_SECONDS = 0.5
# Shared values that a worker keeps: the current, and one before.
_MOST_KEPT = 2

_kept: dict[str, Any] = {}


def versions_here(names):  # type: ignore[no-untyped-def]
    """Return the versions of packages in this process, None for one that is missing; sent whole, it imports itself."""
    from importlib import import_module
    from importlib.metadata import PackageNotFoundError, version

    found = {}
    for name in names:
        try:
            found[name] = import_module("graphmix.distribution").__version__ if name == "graphmix" else version(name)
        except (ImportError, PackageNotFoundError):
            found[name] = None
    return found


@dataclass(frozen=True)
class Shared:
    """Stands for a shared value among the arguments of a job.

    Attributes:
        token: its name, of which there is one.
        reference: Ray's reference to how it is made; None on a worker, where Ray brings it beside the job.
    """

    token: str
    reference: Any = None

    def __reduce__(self) -> tuple[Any, ...]:
        # Ray counts references only where it packs them itself, and would keep others until the end.
        return Shared, (self.token,)


def value_of(token: str, reference: Any) -> Any:
    """Return a shared value, made once in this process."""
    if token not in _kept:
        import ray

        while len(_kept) >= _MOST_KEPT:
            _kept.pop(next(iter(_kept)))
        make, arguments = unpack(ray.get(reference))
        _kept[token] = make(*arguments)
    return _kept[token]


class Mailbox:
    """An actor that holds the last thing that each job told, until somebody takes it."""

    def __init__(self) -> None:
        self._held: dict[int, bytes] = {}

    def put(self, number: int, step: bytes) -> None:
        """Keep what a job told, packed: this process need not import what it is made of."""
        self._held[number] = step

    def take(self) -> dict[int, bytes]:
        """Return what was told since the last time, by the numbers of the jobs."""
        held, self._held = self._held, {}
        return held


def run_job(job: bytes, shared: dict[str, Any], number: int, threads: int, mailbox: Any) -> bytes:
    """Run a packed job with so many torch threads, and tell a mailbox how far it is; return the packed result.

    Args:
        job: the function and its arguments.
        shared: Ray's references to what is shared, by token.
        number: the number of the job, for the mailbox.
        threads: how many.
        mailbox: the actor.
    """
    import torch

    torch.set_num_threads(threads)
    function, arguments = unpack(job)
    told = float("-inf")

    def tell(step: Any) -> None:
        nonlocal told
        if time.monotonic() - told >= TELL_SECONDS:
            told = time.monotonic()
            mailbox.put.remote(number, pack(step))

    values = [value_of(each.token, shared[each.token]) if isinstance(each, Shared) else each for each in arguments]
    return pack(function(*values, tell=tell))
