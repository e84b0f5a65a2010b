"""Epochs as CUDA graphs.

An epoch of a hundred trials is some four hundred kernels of a few microseconds each, and starting them from Python
takes four times as long as running them. A CUDA graph is started as one. The shapes of an epoch depend on how many
coins show heads and on whether the ramp-up has begun, so there is a graph for each such pair that comes up twice.
"""

import contextlib
import functools
import gc
from collections.abc import Callable, Hashable, Iterator

import torch

from graphmix.sparse.ops import has_kernels


class Captured:
    """A function of a few small arguments, run as a CUDA graph from the second time with the same arguments on.

    The function must read and write device tensors that stay in place, wait for nothing, and return nothing.
    """

    def __init__(self, function: Callable[..., None]):
        self._function = function
        self._graphs: dict[tuple[Hashable, ...], torch.cuda.CUDAGraph | None] = {}
        self._pool = torch.cuda.graph_pool_handle()

    def __call__(self, *arguments: Hashable) -> None:
        """Run the function, or replay it."""
        if arguments not in self._graphs:
            # As usual the first time: that compiles kernels and fills caches, which a capture may not.
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
        # torch.cuda.graph() would also collect garbage and empty the cache, at every one of dozens of captures.
        collecting = gc.isenabled()
        gc.disable()
        try:
            graph.capture_begin(pool=self._pool)
            try:
                self._function(*arguments)
            finally:
                graph.capture_end()
        finally:
            if collecting:
                gc.enable()
        return graph


def capturable(device: torch.device) -> bool:
    """Whether epochs can be captured there: on CUDA, with Triton's kernels; torch's own ask the host for the epoch."""
    return device.type == "cuda" and has_kernels()


@functools.lru_cache
def _side_stream(device: torch.device) -> torch.cuda.Stream:
    # One for good: cuBLAS keeps 64 MB of workspace for every stream it has seen.
    return torch.cuda.Stream(device)


@contextlib.contextmanager
def on_side_stream(device: torch.device) -> Iterator[None]:
    """Work on a stream of one's own, which capturing needs; elsewhere than on CUDA this does nothing."""
    if device.type != "cuda":
        yield
        return
    stream = _side_stream(device)
    stream.wait_stream(torch.cuda.current_stream(device))
    with torch.cuda.stream(stream):
        yield
    torch.cuda.current_stream(device).wait_stream(stream)
