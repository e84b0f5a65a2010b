"""What an epoch computes, operation by operation: its phase, its name and the bytes that it must move.

`OpLog` is active while one epoch runs normally. It sees the operations of torch and the kernels of Triton, and marks
each in the profiler's trace by a number, so that a kernel in the trace can be traced back to its operation.
"""

import contextlib
import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from graphmix.training import batch as batch_module
from graphmix.training import step
from graphmix.training.adam import Adam

try:
    from triton.runtime.jit import JITFunction
except ImportError:  # no CUDA
    JITFunction = None

MARK = "graphmix-op-"
# These read only the rows that an index names; or write only those.
_PICKING = ("index_select", "gather", "index.Tensor", "embedding")
_PLACING = ("index_copy", "index_add", "scatter")
# What a step does, by the function that does it. The innermost one that runs is an operation's phase.
_PHASES = {"predict_targets": "targets", "fcn_loss": "fcn", "gnn_loss": "gnn"}


@dataclass(frozen=True)
class Op:
    """An operation of an epoch.

    Attributes:
        phase: the part of the epoch that it belongs to.
        name: torch's name, or the kernel's.
        moved: bytes of all operands and results, each counted once: what it must read and write.
        gathered: bytes that a sparse product reads through the caches, once per non-zero; 0 for all else.
    """

    phase: str
    name: str
    moved: int
    gathered: int = 0


class OpLog(TorchDispatchMode):
    """Lists the operations that run while it is active, in their order.

    Attributes:
        ops: the operations so far.
    """

    def __init__(self) -> None:
        super().__init__()
        self.ops: list[Op] = []
        self._phases = ["rest"]

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func.namespace == "profiler":
            return func(*args, **kwargs)
        with self._mark():
            out = func(*args, **kwargs)
        name = str(func).removeprefix("aten.").removesuffix(".default")
        self._add(name, torch_bytes(name, args, {key: kwargs[key] for key in kwargs if key != "out"}, out))
        return out

    @contextlib.contextmanager
    def _mark(self) -> Iterator[None]:
        with torch.profiler.record_function(f"{MARK}{len(self.ops)}"):
            yield

    def _add(self, name: str, moved: int, gathered: int = 0) -> None:
        self.ops.append(Op(self._phases[-1], name, moved, gathered))

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Log everything that runs meanwhile, with its phase."""
        with contextlib.ExitStack() as stack:
            for name, phase in _PHASES.items():
                if hasattr(step, name):
                    stack.enter_context(self._in_phase(step, name, phase))
            stack.enter_context(self._in_phase(batch_module.Batch, "_judge", "evaluation"))
            stack.enter_context(self._in_phase(Tensor, "backward", "backward"))
            stack.enter_context(self._in_phase(Adam, "step", "optimizer"))
            if JITFunction is not None:
                stack.enter_context(_replaced(JITFunction, "run", self._kernel(JITFunction.run)))
            stack.enter_context(self)
            yield

    def _in_phase(self, owner: Any, name: str, phase: str) -> contextlib.AbstractContextManager[None]:
        function = getattr(owner, name)

        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            self._phases.append(phase)
            try:
                return function(*args, **kwargs)
            finally:
                self._phases.pop()

        return _replaced(owner, name, run)

    def _kernel(self, run: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(run)
        def logged(kernel: Any, *args: Any, **kwargs: Any) -> Any:
            with self._mark():
                out = run(kernel, *args, **kwargs)
            named = dict(zip(kernel.arg_names, args, strict=False)) | kwargs
            self._add(kernel_name(kernel.__name__, named), kernel_bytes(named), kernel_gathers(named))
            return out

        return logged


@contextlib.contextmanager
def _replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


def tensor_bytes(tensor: Tensor) -> int:
    """Bytes of a tensor in memory; an expanded dimension is stored once."""
    if tensor.layout != torch.strided:
        return 0
    count = 1
    for size, stride in zip(tensor.shape, tensor.stride(), strict=True):
        count *= 1 if stride == 0 and size > 1 else size
    return count * tensor.element_size()


def torch_bytes(name: str, args: Any, kwargs: dict[str, Any], out: Any) -> int:
    """Estimate the bytes that an operation of torch must move: all its tensors once, in-place ones twice."""
    read = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
    written = sum(tensor_bytes(leaf) for leaf in tree_leaves(out) if isinstance(leaf, Tensor))
    if name.startswith("_fused_adam"):
        # Weights, gradients and two moments are read; all but the gradients are written.
        lists = [sum(tensor_bytes(leaf) for leaf in part) for part in args[:4]]
        return 2 * sum(lists) - lists[1]
    if name.startswith(_PICKING):
        index = sum(tensor_bytes(leaf) for leaf in read if not leaf.is_floating_point())
        return 2 * written + index
    if name.startswith(_PLACING):
        return sum(tensor_bytes(leaf) for leaf in read[1:]) + max(map(tensor_bytes, read[1:]))
    if name.startswith(("zero_", "fill_")):
        return written
    return sum(map(tensor_bytes, read)) + written


def kernel_bytes(named: dict[str, Any]) -> int:
    """Estimate the bytes that a kernel of Triton must move: every tensor once, also if it is given twice."""
    tensors = {value.data_ptr(): value for value in named.values() if isinstance(value, Tensor)}
    return sum(map(tensor_bytes, tensors.values()))


def kernel_name(name: str, named: dict[str, Any]) -> str:
    """A kernel's name with what tells its uses apart: dropout, the transposed order of its bits, non-zeros, width."""
    words = [name, *(flag.lower() for flag in ("MASKED", "MOVED") if named.get(flag))]
    if isinstance(named.get("col"), Tensor):
        words.append(f"nnz={named['col'].numel()}")
    for size in ("width", "heads"):
        if isinstance(named.get(size), int):
            words.append(f"{size}={named[size]}")
    return " ".join(words)


def kernel_gathers(named: dict[str, Any]) -> int:
    """Bytes that a sparse product gathers: a row of its operand for every non-zero, half of them with dropout."""
    if not isinstance(named.get("col"), Tensor):
        return 0
    blocks = named.get("blocks", named.get("pairs", 1))
    gathered: int = 4 * named["col"].numel() * int(blocks) * int(named.get("width", 1))
    return gathered // 2 if named.get("MASKED") else gathered
