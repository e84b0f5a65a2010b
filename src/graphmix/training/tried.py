"""Epochs of a custom model as CUDA graphs, where its forward pass allows it."""

import contextlib
from collections.abc import Callable, Hashable

import torch

from graphmix.training.capture import Captured

_TOPIC = "epochs"


class _Plain:
    """Takes the place of a graph that could not be captured."""

    def __init__(self, function: Callable[..., None], arguments: tuple[Hashable, ...]):
        self._function, self._arguments = function, arguments

    def replay(self) -> None:
        """Run the function."""
        self._function(*self._arguments)


class Tried(Captured):
    """Captures a function like `Captured`; if the first capture fails, runs it as it is from then on, and says why.

    A custom model may do anything in its forward pass, and no look at it tells whether that waits for the device. A
    capture does nothing on the device, so after one that failed the epoch can be run.
    """

    def __init__(self, function: Callable[..., None], notes: dict[str, str]):
        super().__init__(function)
        self._notes, self._failed = notes, False

    def __call__(self, *arguments: Hashable) -> None:
        """Run the function, or replay its graph."""
        if self._failed:
            self._function(*arguments)
        else:
            super().__call__(*arguments)

    def _capture(self, arguments: tuple[Hashable, ...]) -> torch.cuda.CUDAGraph:
        try:
            graph = super()._capture(arguments)
        except RuntimeError as error:
            self._failed = True
            self._notes[_TOPIC] = f"not captured as CUDA graphs ({_reason(error)})"
            _leave_capture(self._pool)
            return _Plain(self._function, arguments)  # type: ignore[return-value]
        self._notes[_TOPIC] = "captured as CUDA graphs"
        return graph


def _reason(error: BaseException) -> str:
    # The end of a capture that failed raises another error; the first one says why.
    first = error.__context__ or error
    return str(first).strip().partition("\n")[0].rstrip(".") or type(first).__name__


def _leave_capture(pool: tuple[int, int]) -> None:
    # The end of the capture may have failed before the allocator heard of it. If it did hear, this raises.
    with contextlib.suppress(RuntimeError, AttributeError):
        torch._C._cuda_endAllocateToPool(torch.cuda.current_device(), pool)
    # Nor did torch's generator hear of it: it would refuse to draw from now on. A copy of its state is not capturing.
    for generator in torch.cuda.default_generators:
        generator.graphsafe_set_state(generator.clone_state())
    torch.cuda.synchronize()
