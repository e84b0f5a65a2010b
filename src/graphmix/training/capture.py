"""Epochs as CUDA graphs.

An epoch of a hundred trials is about four hundred kernels of a few microseconds each. Starting them from Python takes
four times as long as running them; a CUDA graph starts them all at once. The shapes of an epoch depend on how many
coins show heads and on whether the ramp-up has begun, so each pair of these that occurs twice has its own graph.
"""

import contextlib
import functools
import gc
from collections.abc import Callable, Hashable, Iterator

import torch

from graphmix.sparse.ops import has_kernels


class Captured:
    """A function that runs as a CUDA graph, from its second call with the same arguments on.

    The function must read and write device tensors that stay in place. It must not wait for the device, and it returns
    nothing.
    """

    def __init__(self, function: Callable[..., None]):
        self._function = function
        self._graphs: dict[tuple[Hashable, ...], torch.cuda.CUDAGraph | None] = {}
        self._pool = torch.cuda.graph_pool_handle()

    def __call__(self, *arguments: Hashable) -> None:
        """Run the function, or replay its graph."""
        if arguments not in self._graphs:
            # The first call runs without a graph: it compiles kernels and fills caches, which a capture cannot.
            self._graphs[arguments] = None
            self._function(*arguments)
            return
        graph = self._graphs[arguments]
        if graph is None:
            graph = self._graphs[arguments] = self._capture(arguments)
        graph.replay()

    def _capture(self, arguments: tuple[Hashable, ...]) -> torch.cuda.CUDAGraph:
        graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        # torch.cuda.graph() would also collect garbage and empty the cache, in each of dozens of captures.
        collecting = gc.isenabled()
        gc.disable()
        try:
            # By default ("global") a cudaMalloc in any thread of the process fails and invalidates the capture, as when
            # a notebook or a server computes beside the training. "thread_local" forbids such calls in this thread
            # only. Allocations on the captured stream are not affected: torch permits those itself, in the thread of
            # the backward pass too.
            graph.capture_begin(pool=self._pool, capture_error_mode="thread_local")
            try:
                self._function(*arguments)
            finally:
                graph.capture_end()
        finally:
            if collecting:
                gc.enable()
        return graph


def capturable(device: torch.device) -> bool:
    """Whether epochs can be captured: on CUDA with Triton's kernels. Without them the host must know the epoch."""
    return device.type == "cuda" and has_kernels()


@functools.lru_cache
def _side_stream(device: torch.device) -> torch.cuda.Stream:
    # One stream per device for the whole process: cuBLAS keeps 64 MB of workspace for every stream it has seen.
    return torch.cuda.Stream(device)


@contextlib.contextmanager
def on_side_stream(device: torch.device) -> Iterator[None]:
    """Work on a side stream, which a capture requires; on a CPU this does nothing."""
    if device.type != "cuda":
        yield
        return
    stream = _side_stream(device)
    stream.wait_stream(torch.cuda.current_stream(device))
    with torch.cuda.stream(stream):
        yield
    torch.cuda.current_stream(device).wait_stream(stream)
