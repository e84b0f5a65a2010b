"""The peak memory of a run, where it can be measured."""

import torch


class Peak:
    """Measures the most memory that tensors took at once on a CUDA device, beyond what was there before.

    Replays of a CUDA graph allocate nothing: the memory of an epoch is counted when it is captured.
    """

    def __init__(self, device: torch.device):
        self._device = device
        self._before = 0
        if device.type == "cuda":
            # The counters exist only then.
            torch.cuda.init()
            torch.cuda.reset_peak_memory_stats(device)
            self._before = torch.cuda.memory_allocated(device)

    def bytes(self) -> int | None:
        """Return the bytes; None on a CPU, where nobody counts them."""
        if self._device.type != "cuda":
            return None
        return max(0, torch.cuda.max_memory_allocated(self._device) - self._before)
