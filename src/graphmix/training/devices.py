"""Where to train, and how many trials at once."""

import os

import torch

from graphmix.data import Graph
from graphmix.errors import ConfigError
from graphmix.sparse import SparseMatrix
from graphmix.training.config import Config
from graphmix.training.settings import CUSTOM

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
    if chunk is not None and (not isinstance(chunk, int) or chunk < 1):
        raise ConfigError(f"chunk must be a whole number from 1 up, not {chunk}")


def check_memory(graph: Graph, config: Config, device: torch.device) -> None:
    """Refuse a run of which not even one trial fits into memory."""
    needed, free = bytes_per_trial(graph, config), free_memory(device)
    if needed > free:
        raise ConfigError(
            f"one trial needs about {needed / 2**30:,.0f} GiB and {free / 2**30:,.0f} are free on {device}; "
            "lower --hidden or --epochs, or use fewer features"
        )


def trials_at_once(graph: Graph, config: Config, device: torch.device) -> int:
    """Choose how many trials to train side by side, from the device and the memory free on it."""
    room = free_memory(device) * _MEMORY_SHARE
    if device.type == "cuda":
        room -= _CUDA_PASSES
    fitting = max(1, int(room / bytes_per_trial(graph, config)))
    if device.type == "cuda":
        return min(fitting, config.trials)
    workers = torch.get_num_threads()
    return cpu_batch(config.trials, _entries(graph, config), workers, max(1, fitting // workers))


def cpu_batch(trials: int, entries: int, workers: int, most: int) -> int:
    """Cut trials of so many entries each into batches for the cores, and return the size of one.

    A batch holds at most `_CPU_ENTRIES`, and `most` trials. Cores share the work only if each gets half of that: below,
    Python's own time, which cores cannot share, outweighs torch's. No core is left with nothing while another has two.
    """
    total = trials * entries
    batches = max(-(-total // _CPU_ENTRIES), -(-trials // most), min(workers, 2 * total // _CPU_ENTRIES), 1)
    if batches > 1:
        batches = -(-batches // workers) * workers
    return -(-trials // batches)


def passes_at_once(graph: Graph, config: Config, trials: int, device: torch.device) -> int:
    """Choose how many of the K target passes of `trials` trials to do in one call."""
    if device.type == "cpu":
        return max(1, _CPU_ENTRIES // max(1, trials * _entries(graph, config)))
    # Dense features, and all that a network of one's own takes, are dropped out entry by entry; of sparse ones only
    # bits are drawn.
    sparse = isinstance(graph.x, SparseMatrix) and config.backbone != CUSTOM
    written_out = 0 if sparse else graph.num_features
    return max(1, _CUDA_HIDDEN // (trials * graph.num_nodes * max(written_out, _width(config))))


def bytes_per_trial(graph: Graph, config: Config) -> int:
    """Estimate, from above, the memory one trial adds while it trains."""
    width, classes = _width(config), graph.num_classes * _output_heads(config)
    # Of a Graph U-Net each level has a square matrix on the way down and one on the way up.
    square = 2 * len(config.pool_ratios) * config.hidden**2 if config.backbone == "unet" else 0
    # Weights, gradient, Adam's two moments, best weights, and copies for the two sides of the coin.
    kept = 8 * (width * (graph.num_features + classes) + square)
    # Hidden states and logits of the forward and backward passes, and mixed copies of both; target passes come to
    # less, or to what `passes_at_once` allows.
    states = 12 + (4 * len(config.pool_ratios) if config.backbone == "unet" else 0)
    activations = graph.num_nodes * (states * width + 16 * classes)
    # Dropout bits and random words, dropped-out values where a backend writes them out, and tilings of both matrices.
    features = 12 * _entries(graph, config)
    curves = 5 * config.epochs
    return 4 * (kept + activations + features + curves)


def _width(config: Config) -> int:
    """How wide the hidden state is."""
    return config.hidden * (config.heads if config.backbone == "gat" else 1)


def _output_heads(config: Config) -> int:
    return config.output_heads if config.backbone == "gat" else 1


def free_memory(device: torch.device) -> int:
    """Bytes free on a device."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    if "SC_AVPHYS_PAGES" in getattr(os, "sysconf_names", ()):
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return 2**32  # macOS and Windows do not say; a modest guess


def _entries(graph: Graph, config: Config) -> int:
    """How many entries the largest of the matrices has that are walked for every trial."""
    features = graph.num_nodes * graph.num_features
    if isinstance(graph.x, SparseMatrix) and config.backbone != CUSTOM:
        features = graph.x.nonzeros
    # Attention and pooling list the edges, as a dual graph otherwise does not; attention has a weight for every head.
    listed = 2 * graph.num_edges + graph.num_nodes
    walked = {"gat": listed * config.heads, "unet": listed}.get(config.backbone, graph.num_propagated)
    return max(features, walked)
