"""Where to train, and how many trials at once."""

import os

import torch

from graphmix.data import Graph
from graphmix.errors import ConfigError
from graphmix.sparse import SparseMatrix
from graphmix.training.config import Config

# On the CPU a batch pays while its dropped-out features stay in the cache: about this many entries.
_CPU_ENTRIES = 2**20
# On CUDA the target passes are done together up to this many hidden values, a quarter of a gigabyte.
_CUDA_HIDDEN = 2**26
# What that comes to in bytes: the hidden states before and after propagation and ReLU, and the logits likewise.
_CUDA_PASSES = 4 * 4 * _CUDA_HIDDEN
# Share of the free memory that a batch may plan to fill.
_MEMORY_SHARE = 0.5


def choose_device(name: str = "auto") -> torch.device:
    """Turn a name into a device that is there: "auto" is CUDA where available, else the CPU."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise ConfigError(f"there is no device {name!r}; use auto, cpu or cuda") from error
    if device.type not in ("cpu", "cuda"):
        raise ConfigError(f"device {name!r} is not served; use auto, cpu or cuda")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise ConfigError(f"device {name!r} was asked for and torch sees {torch.cuda.device_count()} CUDA devices")
    return device


def check_chunk(chunk: int | None) -> None:
    """Refuse a number of trials at once that is none."""
    if chunk is not None and chunk < 1:
        raise ConfigError(f"chunk must be at least 1, not {chunk}")


def trials_at_once(graph: Graph, config: Config, device: torch.device) -> int:
    """Choose how many trials to train side by side, from the device and the memory free on it."""
    room = free_memory(device) * _MEMORY_SHARE
    if device.type == "cuda":
        room -= _CUDA_PASSES
    fitting = int(room / bytes_per_trial(graph, config))
    if device.type == "cpu":
        # Batches run side by side on the cores; all cores should have one, unless they are so small that Python's
        # own time, which the cores cannot share, outweighs torch's.
        workers = torch.get_num_threads()
        share = max(-(-config.trials // workers), _CPU_ENTRIES // (2 * max(1, _entries(graph))))
        fitting = min(fitting // workers, _CPU_ENTRIES // max(1, _entries(graph)), share)
    return max(1, min(fitting, config.trials))


def passes_at_once(graph: Graph, config: Config, trials: int, device: torch.device) -> int:
    """Choose how many of the K target passes of `trials` trials to do in one call."""
    if device.type == "cpu":
        return max(1, _CPU_ENTRIES // max(1, trials * _entries(graph)))
    return max(1, _CUDA_HIDDEN // (trials * graph.num_nodes * config.hidden))


def bytes_per_trial(graph: Graph, config: Config) -> int:
    """Estimate, from above, the memory one trial adds while it trains."""
    weights = config.hidden * (graph.num_features + graph.num_classes)
    # Weights, gradient, Adam's two moments, best weights, and copies for the two sides of the coin.
    kept = 8 * weights
    # Hidden states and logits of the forward and backward passes, and mixed copies of both; target passes come to
    # less, or to what `passes_at_once` allows.
    activations = graph.num_nodes * (12 * config.hidden + 16 * graph.num_classes)
    # Dropout bits and random words, and the dropped-out values on backends that write them out.
    features = 6 * _entries(graph)
    curves = 3 * config.epochs
    return 4 * (kept + activations + features + curves)


def free_memory(device: torch.device) -> int:
    """Bytes free on a device."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 2**32


def _entries(graph: Graph) -> int:
    return graph.x.nonzeros if isinstance(graph.x, SparseMatrix) else graph.x.numel()
