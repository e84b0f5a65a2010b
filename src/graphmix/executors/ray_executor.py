"""The executor that runs jobs on Ray."""

import itertools
import time
import uuid
from collections.abc import Callable, Generator, Iterable, Mapping
from typing import Any, TypeVar

import ray
from ray.exceptions import RayActorError, RayError, RayTaskError

from graphmix.errors import ConfigError, RunError, WorkerLostError
from graphmix.executors.executor import Executor, Finished, Job
from graphmix.executors.packing import pack, unpack
from graphmix.executors.ray_worker import TELL_SECONDS, Mailbox, Shared, run_job
from graphmix.text import counted

Result = TypeVar("Result")

# How often a job is tried again after its worker died. What a job raises by itself is not tried again.
RETRIES = 3


class RayExecutor(Executor):
    """Runs jobs on the Ray cluster that this process is connected to, as many as there are cores or GPUs for."""

    here = False

    def __init__(self) -> None:
        self._run = ray.remote(run_job)
        self._post = _Post()
        self._numbers = itertools.count()

    def share(self, make: Callable[..., Any], *arguments: Any) -> Any:
        """Put a function and its arguments into Ray's store; each worker that needs the value makes it once."""
        return Shared(uuid.uuid4().hex, ray.put(pack((make, arguments))))

    def device(self, name: str) -> str:
        """Return "cuda" or "cpu": "auto" is CUDA if the cluster has a GPU."""
        gpus = ray.cluster_resources().get("GPU", 0)
        if name == "auto":
            return "cuda" if gpus else "cpu"
        if name not in ("cpu", "cuda"):
            raise ConfigError(f"`device` must be auto, cpu or cuda with Ray, which assigns GPUs itself; not {name!r}")
        if name == "cuda" and not gpus:
            raise ConfigError("`device` is 'cuda', but the Ray cluster has no GPU")
        return name

    def finished(self, jobs: Iterable[Job[Result]], *, at_once: int = 1) -> Generator[Finished[Result], None, None]:
        """Run jobs on workers; a job whose worker died is tried again."""
        threads, room = _threads(at_once), 1
        # By Ray's reference: its number among all jobs, its place among these, and the job.
        running: dict[Any, tuple[int, int, Job[Result]]] = {}
        source = enumerate(jobs)
        try:
            while True:
                while len(running) < room and (drawn := next(source, None)) is not None:
                    number, (place, job) = next(self._numbers), drawn
                    room = _room(job.device, threads)
                    running[self._begin(number, job, threads)] = number, place, job
                if not running:
                    return
                ready, _ = ray.wait(list(running), timeout=TELL_SECONDS)
                self._post.deliver({number: job for number, _, job in running.values()})
                for reference in ready:
                    _, place, job = running.pop(reference)
                    yield _finished(reference, place, job)
        finally:
            for reference in running:
                ray.cancel(reference)

    def _begin(self, number: int, job: Job[Result], threads: int) -> Any:
        needs = {"num_cpus": 1, "num_gpus": 1} if job.device == "cuda" else {"num_cpus": threads, "num_gpus": 0}
        begun = self._run.options(name=job.name, max_retries=RETRIES, **needs)
        shared = {each.token: each.reference for each in job.arguments if isinstance(each, Shared)}
        return begun.remote(pack((job.function, job.arguments)), shared, number, threads, self._post.mailbox)


class _Post:
    """Brings what jobs tell to this process, twice a second."""

    def __init__(self) -> None:
        # If its process dies, what was told last is lost, and no job.
        actor: Any = ray.remote(num_cpus=0, max_restarts=-1)(Mailbox)
        self.mailbox = actor.remote()
        self._asked, self._since = self.mailbox.take.remote(), time.monotonic()

    def deliver(self, jobs: Mapping[int, Job[Any]]) -> None:
        """Tell each job, by its number, what its function told last."""
        if not ray.wait([self._asked], timeout=0)[0] or time.monotonic() - self._since < TELL_SECONDS:
            return
        try:
            told = ray.get(self._asked)
        except RayActorError:
            told = {}
        self._asked, self._since = self.mailbox.take.remote(), time.monotonic()
        for number, step in told.items():
            # Others have ended since.
            if number in jobs:
                jobs[number].tell(unpack(step))


def _threads(at_once: int) -> int:
    """Return the torch threads of a job: as in this process, or what the largest machine has if that is less."""
    import torch

    return min(1 if at_once > 1 else torch.get_num_threads(), max(1, *_cores()))


def _cores() -> list[int]:
    return [int(node["Resources"].get("CPU", 0)) for node in ray.nodes() if node["Alive"]]


def _room(device: str, threads: int) -> int:
    """Return how many jobs the cluster runs at once."""
    if device == "cuda":
        return max(1, int(ray.cluster_resources().get("GPU", 0)))
    return max(1, sum(cores // threads for cores in _cores()))


def _finished(reference: Any, place: int, job: Job[Result]) -> Finished[Result]:
    try:
        return Finished(place, unpack(ray.get(reference)))
    except RayTaskError as error:
        # The job's own error, which was pickled in the worker.
        cause = error.cause if isinstance(error.cause, Exception) else RunError(f"{job.name} failed: {error}")
        cause.__cause__ = error
        return Finished(place, error=cause)
    except RayError as error:
        reason = type(error).__name__
        failed = WorkerLostError(f"{job.name}: the Ray worker died {counted(RETRIES + 1, 'time')} ({reason})")
        failed.__cause__ = error
        return Finished(place, error=failed)
