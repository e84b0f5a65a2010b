"""Several processes that train together, as torchrun starts them (docs/design/0029-processes.md).

The first process is the leader: it reads, decides, prints and writes. The others follow its orders. They get all that
they need from it, so they read no files.
"""

import datetime
import enum
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

from graphmix.errors import ConfigError, GraphMixError, RunError
from graphmix.machine import is_out_of_memory
from graphmix.training.packing import forms_of, pack, unpack

Job = TypeVar("Job", bound=Sequence[Any])
Result = TypeVar("Result")

# The leader may read tables or measure for hours before it needs the others. That one has died is noticed at once.
_LONGEST_WAIT = datetime.timedelta(days=30)
# Bytes that are sent at a time.
_MOST_SENT = 2**28
_BACKEND, _FAILURES = "backend", "failures"


class ProcessLostError(RunError):
    """Another process of the job has ended."""


class Order(enum.IntEnum):
    """What the leader tells the others to do."""

    END = 0
    STEP = 1
    TASK = 2
    BATCH = 3
    WORK = 4


class Team:
    """The processes of a job.

    Attributes:
        rank: the number of this process; the leader has 0.
        size: how many there are.
        device: where this process computes.
    """

    def __init__(self, store: Any, rank: int, size: int):
        self._store, self.rank, self.size = store, rank, size
        self.device = torch.device("cpu")
        # Whether the others are in the middle of something that they cannot end without this process.
        self._awaited = False

    @classmethod
    def join(cls) -> "Team":
        """Join the processes that torchrun started; all of them must.

        Raises:
            ProcessLostError: another process has ended already.
        """
        if not dist.is_available():
            raise RunError("this build of torch has no torch.distributed, which torchrun needs; install another one")
        from torch.distributed.distributed_c10d import PrefixStore
        from torch.distributed.rendezvous import rendezvous

        try:
            shared, rank, size = next(iter(rendezvous("env://")))
            # torchrun starts the processes again with the same store, where keys of those before are left.
            store = PrefixStore(f"graphmix/{os.environ.get('TORCHELASTIC_RESTART_COUNT', 0)}/{size}", shared)
            if rank == 0:
                store.set(_BACKEND, _backend())
            dist.init_process_group(
                store.get(_BACKEND).decode(), store=store, rank=rank, world_size=size, timeout=_LONGEST_WAIT
            )
        except RuntimeError as error:
            raise _lost() from error
        return cls(store, rank, size)

    @property
    def leads(self) -> bool:
        """Whether this process gives the orders."""
        return self.rank == 0

    def share(self, count: int) -> range:
        """Return which of so many things are this process's own."""
        return range(self.rank, count, self.size)

    def add_up(self, tensors: Sequence[Tensor]) -> None:
        """Replace tensors of one type by their sums over all processes."""
        flat = torch.cat([each.flatten() for each in tensors])
        with _others_alive():
            dist.all_reduce(flat)
        self._awaited = False
        for each, total in zip(tensors, flat.split([each.numel() for each in tensors]), strict=True):
            each.copy_(total.view_as(each))

    def order(self, what: Order, content: Any = None) -> None:
        """Give an order to the others, with anything that `packing` takes."""
        packed, tensors = (b"", []) if content is None else pack(content)
        self._awaited = True
        with _others_alive():
            dist.broadcast(torch.tensor([what, len(packed), self.device.type == "cuda"]), 0)
            for each in [_as_bytes(packed), *tensors] if packed else []:
                for piece in _pieces(each.cpu()):
                    dist.broadcast(piece, 0)
        self._awaited = what in (Order.STEP, Order.WORK)

    def dismiss(self) -> None:
        """Let the others end.

        If this process has failed where they wait for something else than an order, an order would never reach them,
        and both sides would wait for ever. Then it leaves, which they notice.
        """
        if self._awaited:
            dist.destroy_process_group()
        else:
            self.order(Order.END)

    def receive(self) -> tuple[Order, Any]:
        """Wait for an order; its tensors are on the device of this process."""
        head = torch.zeros(3, dtype=torch.int64)
        with _others_alive():
            dist.broadcast(head, 0)
            what, length, on_cuda = head.tolist()
            # A leader may train on a GPU first and on the CPU later: sums need the same kind of device everywhere.
            if bool(on_cuda) != (self.device.type == "cuda"):
                self.device = local_gpu() if on_cuda else torch.device("cpu")
            if length == 0:
                return Order(what), None
            return Order(what), _received(length, lambda piece: dist.broadcast(piece, 0), self.device)

    def work(self, function: Callable[..., Result], jobs: Sequence[Job], own: Callable[[Job], Result]) -> list[Result]:
        """Divide jobs among all processes, and return their results in order.

        Args:
            function: what the others do, given their task, their config and a job's arguments; a function of a module.
            jobs: the arguments of each job, which `packing` takes.
            own: what this process does with a job.

        Raises:
            GraphMixError: the first error in any process.
        """
        self.order(Order.WORK, (function, list(jobs)))
        try:
            answers: list[Any] = [[own(jobs[place]) for place in self.share(len(jobs))]]
        except GraphMixError as error:
            # The others still answer, and then wait for the next order.
            answers = [error]
        answers += [self._from(rank) for rank in range(1, self.size)]
        self._awaited = False
        for each in answers:
            if isinstance(each, GraphMixError):
                raise each
        return [answers[place % self.size][place // self.size] for place in range(len(jobs))]

    def answer(self, content: Any) -> None:
        """Send the leader what came of the work that it ordered: results, or an error."""
        packed, tensors = pack(content)
        with _others_alive():
            dist.send(torch.tensor([len(packed)]), 0)
            for each in (_as_bytes(packed), *tensors):
                for piece in _pieces(each.cpu()):
                    dist.send(piece, 0)

    def is_first_to_fail(self) -> bool:
        """Whether no other process has failed before this one: what follows from a failure needs no message."""
        try:
            return int(self._store.add(_FAILURES, 1)) == 1
        except RuntimeError:  # the store has ended with the job
            return True

    def _from(self, rank: int) -> Any:
        head = torch.zeros(1, dtype=torch.int64)
        with _others_alive():
            dist.recv(head, rank)
            # Results are on the host, wherever they were computed.
            return _received(int(head), lambda piece: dist.recv(piece, rank), torch.device("cpu"))


# torch.distributed belongs to the process, and so does its team.
_current: list[Team] = []


def current() -> Team | None:
    """Return the team that this process leads; None if it works alone."""
    return _current[-1] if _current else None


@contextmanager
def leading(team: Team) -> Iterator[None]:
    """Let what this process trains be trained by its team; the others end after it."""
    _current.append(team)
    try:
        yield
    finally:
        _current.pop()


def local_gpu() -> torch.device:
    """Return the GPU of this process; processes share them if there are fewer.

    Raises:
        ConfigError: this machine has none.
    """
    if not torch.cuda.is_available():
        raise ConfigError("`device` is cuda, but a machine of this job has none; choose cpu")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count())
    torch.cuda.set_device(device)
    return device


def _backend() -> str:
    """NCCL cannot be used by processes that share a GPU."""
    own = torch.cuda.is_available() and int(os.environ["LOCAL_WORLD_SIZE"]) <= torch.cuda.device_count()
    return "cpu:gloo,cuda:nccl" if own else "gloo"


@contextmanager
def _others_alive() -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        if is_out_of_memory(error):
            raise
        raise _lost() from error


def _lost() -> ProcessLostError:
    return ProcessLostError("another process of this job has ended; the same command goes on in the same folder")


def _received(length: int, take: Callable[[Tensor], Any], device: torch.device) -> Any:
    """Take a value of so many bytes piece by piece, and move its tensors to a device."""
    packed = torch.empty(length, dtype=torch.uint8)
    for piece in _pieces(packed):
        take(piece)
    content, tensors = packed.numpy().tobytes(), []
    for form in forms_of(content):
        tensor = torch.empty(form.shape, dtype=form.dtype)
        for piece in _pieces(tensor):
            take(piece)
        tensors.append(tensor.to(device))
    return unpack(content, tensors)


def _as_bytes(content: bytes) -> Tensor:
    return torch.frombuffer(bytearray(content), dtype=torch.uint8)


def _pieces(tensor: Tensor) -> Iterator[Tensor]:
    """Yield a contiguous tensor as flat pieces that share its memory; gloo takes no bool."""
    flat = tensor.view(-1)
    flat = flat.view(torch.uint8) if flat.dtype == torch.bool else flat
    yield from flat.split(_MOST_SENT // flat.element_size()) if flat.numel() else ()
