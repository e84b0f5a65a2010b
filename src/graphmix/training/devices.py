"""Which device to train on, and how many trials at once."""

import gc
from dataclasses import replace

import torch

from graphmix.data import Graph
from graphmix.errors import ConfigError
from graphmix.limits import as_size
from graphmix.machine import available_memory
from graphmix.models.backbone import Backbone, Footprint
from graphmix.models.registry import CUSTOM, NETWORKS, backbone_class
from graphmix.sparse import PASSES, SparseMatrix, fuses
from graphmix.training.config import Config
from graphmix.training.estimates import FASTEST, Least, check_possible, least_of
from graphmix.training.methods import METHODS
from graphmix.training.parts import lists_edges
from graphmix.training.sizes import Sizes
from graphmix.training.whole import MOST_READ

# On the CPU a batch pays off while its dropped-out features fit into the cache: about this many entries.
_CPU_ENTRIES = 2**20
# On CUDA the target passes run together up to this many hidden values, a quarter of a gigabyte.
_CUDA_HIDDEN = 2**26
# The bytes of those passes: hidden states and logits, each before and after propagation and ReLU.
_CUDA_PASSES = 4 * 4 * _CUDA_HIDDEN
_MANY_CLASSES = 3000
# Share of the free memory that a batch may use.
_MEMORY_SHARE = 0.5
# Nodes of mini-batches that are tried, one after the other, where the whole graph does not fit.
_BATCHES = (4096, 1024, 256)


def choose_device(name: str = "auto") -> torch.device:
    """Return a device by name: "auto" is CUDA if available, else the CPU.

    Raises:
        ConfigError: there is no such device.
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise ConfigError(f"`device` must be auto, cpu, cuda or cuda:N, not {name!r}") from error
    if device.type not in ("cpu", "cuda"):
        raise ConfigError(f"`device` must be auto, cpu, cuda or cuda:N, not {name!r}")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise ConfigError(f"`device` is {name!r}, but torch finds {torch.cuda.device_count()} CUDA devices")
    return device


def check_chunk(chunk: int | None) -> None:
    """Raise ConfigError unless chunk is None or a positive integer."""
    if chunk is not None and (not isinstance(chunk, int) or chunk < 1):
        raise ConfigError(f"`chunk` must be a whole number from 1 up, not {chunk}")


def check_memory(graph: Graph, config: Config, device: torch.device, *, shared_split: bool = True) -> None:
    """Raise ConfigError if not even one trial fits into memory, or all of them cannot be trained within a year.

    Args:
        graph: the graph.
        config: the hyperparameters.
        device: where to train.
        shared_split: whether all trials have the same split.
    """
    needed, free = bytes_per_trial(graph, config), free_memory(device)
    if needed > free:
        drawn = isinstance(config.unlabeled, int) and config.unlabeled > graph.num_nodes
        smaller = "`batch_nodes`, " if config.batch_nodes > _BATCHES[-1] else ""
        advice = "lower `unlabeled`" if drawn else f"lower {smaller}`hidden` or `epochs`, or use fewer features"
        if fitting(graph, config, device) is not config:
            advice = f"set `batch_nodes`, for example to {fitting(graph, config, device).batch_nodes}"
        raise ConfigError(
            f"one trial needs about {as_size(needed)} of memory, and {device} has {as_size(free)} free; {advice}"
        )
    least = _least(graph, config, device, 0 if shared_split else graph.num_nodes)
    # Counts of classes by classes are kept for each trial.
    many = graph.num_classes > _MANY_CLASSES
    advice = "merge rare classes or lower `trials`" if many else "lower `trials`, `epochs` or `hidden`"
    check_possible(least, config, free=free_memory(torch.device("cpu")), advice=advice)


def fitting(graph: Graph, config: Config, device: torch.device) -> Config:
    """Return the config, or where one trial does not fit into memory, one with mini-batches that does, if there is one.

    How many nodes a batch has does not depend on the exact number of free bytes, so that a killed run can go on.
    """
    if config.batch_nodes > 0 or not lists_edges(graph) or bytes_per_trial(graph, config) <= free_memory(device):
        return config
    for nodes in _BATCHES:
        try:
            smaller = replace(config, batch_nodes=nodes, target_every=1)
        except ConfigError:  # the method or the network needs the whole graph
            return config
        if bytes_per_trial(graph, smaller) <= free_memory(device) * _MEMORY_SHARE:
            return smaller
    return config


def fitting_note(graph: Graph, config: Config, device: torch.device) -> str:
    """Say why `fitting` chose mini-batches, given the config before."""
    return (
        f"one trial on the whole graph needs about {as_size(bytes_per_trial(graph, config))} of memory, and {device} "
        f"has {as_size(free_memory(device))} free; it is trained in mini-batches of "
        f"{fitting(graph, config, device).batch_nodes:,} nodes (`batch_nodes`)"
    )


def trials_at_once(graph: Graph, config: Config, device: torch.device, model: Backbone | None = None) -> int:
    """Choose how many trials to train at once, from the device, its free memory and the custom model, if any."""
    room = free_memory(device) * _MEMORY_SHARE
    if device.type == "cuda":
        room -= _CUDA_PASSES
    fitting = max(1, int(room / bytes_per_trial(graph, config, model)))
    if device.type == "cuda":
        return min(fitting, config.trials)
    workers = torch.get_num_threads()
    own = _own_entries(graph, config, model)
    return cpu_batch(config.trials, _entries(graph, config, model), workers, max(1, fitting // workers), own)


def cpu_batch(trials: int, entries: int, workers: int, most: int, own: int | None = None) -> int:
    """Return the size of a batch when trials that read so many entries each are divided among the cores.

    A batch has at most `_CPU_ENTRIES` entries of its trials' own, by default all that they read, and `most` trials.
    Cores share the work only if each gets half as many entries: with fewer, the time in Python, which cores cannot
    share, exceeds the time in torch. No core is idle while another has two batches.
    """
    copied = trials * (entries if own is None else own)
    shared = min(workers, 2 * trials * entries // _CPU_ENTRIES)
    batches = max(-(-copied // _CPU_ENTRIES), -(-trials // most), shared, 1)
    if batches > 1:
        batches = -(-batches // workers) * workers
    return -(-trials // batches)


def passes_at_once(
    graph: Graph, config: Config, trials: int, device: torch.device, model: Backbone | None = None
) -> int:
    """Choose how many of the K target passes of `trials` trials to run in one call."""
    if device.type == "cpu":
        fitting = max(1, _CPU_ENTRIES // max(1, trials * _entries(graph, config, model)))
        return max(fitting, PASSES) if _in_native_code(graph, config) else fitting
    # Dropout writes out a copy of dense features. For sparse ones it only draws bits.
    written_out = 0 if _stays_sparse(graph, config, model) else graph.num_features
    width = max(written_out, _footprint(graph, config).hidden_width)
    # At least two: a pass alone is another kernel, which rounds differently.
    return max(2, _CUDA_HIDDEN // (trials * graph.num_nodes * width))


def pass_groups(
    graph: Graph, config: Config, trials: int, device: torch.device, model: Backbone | None = None
) -> list[tuple[int, int]]:
    """Group the K passes into as few calls as the device handles well, from first to last; none is alone on CUDA."""
    passes = config.perturbations
    starts = list(range(0, passes, min(passes, passes_at_once(graph, config, trials, device, model))))
    if device.type == "cuda" and len(starts) > 1 and passes - starts[-1] == 1:
        starts.pop()
    return list(zip(starts, [*starts[1:], passes], strict=True))


def bytes_per_trial(graph: Graph, config: Config, model: Backbone | None = None) -> int:
    """Estimate an upper bound of the memory that one trial adds in training, and with mini-batches in prediction."""
    sizes = Sizes.of(graph, config)
    network = _footprint(graph, config)
    width, logits = network.hidden_width, network.logits_width
    # Weights, gradient, Adam's two moments, best weights, copies for the two sides of the coin, a teacher.
    weights = (8 + config.averages_teacher) * (width * (graph.num_features + logits) + network.inner_weights)
    # Hidden states and logits of the forward and backward passes, and mixed copies of both. Target passes take less, or
    # what `passes_at_once` allows.
    drawn = config.unlabeled if isinstance(config.unlabeled, int) else 0
    activations = max(sizes.num_nodes, drawn) * (network.hidden_states * width + 16 * logits)
    # Dropout bits and random words, dropped-out values if a backend writes them out, and tilings of both matrices.
    features = 12 * _entries(graph, config, model)
    curves = 5 * config.epochs
    method = METHODS[config.method]
    writes = method.writes_if is None or getattr(config, method.writes_if[0]) == method.writes_if[1]
    written = method.written_out * graph.num_nodes * graph.num_features if writes else 0
    step = _passes(config) * (activations + features) + written
    whole = 0 if config.batch_nodes == 0 else _predicted(graph, config)
    return 4 * (weights + step + whole + curves)


def _predicted(graph: Graph, config: Config) -> int:
    """Estimate the numbers that `whole_logits` keeps of all nodes, and those of a chunk, which are more."""
    network = _footprint(graph, replace(config, batch_nodes=0, evaluate_every=0))
    kept = graph.num_nodes * (2 * network.hidden_width + 2 * network.logits_width)
    share = min(1.0, MOST_READ / (graph.num_nodes + 2 * graph.num_edges))
    return kept + int(3 * network.hidden_width * min(graph.num_nodes, MOST_READ) + share * network.entries)


def free_memory(device: torch.device) -> int:
    """Return the free bytes of a device; on CUDA with those that torch holds and does not use.

    A process may be limited to a share of the GPU (`torch.cuda.set_per_process_memory_fraction`).
    """
    if device.type == "cuda":
        free, total = torch.cuda.mem_get_info(device)
        used = torch.cuda.memory_allocated(device)
        # It wants a number, and older versions of torch do not have it.
        number = torch.cuda.current_device() if device.index is None else device.index
        share = getattr(torch.cuda, "get_per_process_memory_fraction", lambda number: 1.0)(number)
        return max(0, min(free + torch.cuda.memory_reserved(device) - used, int(total * share) - used))
    return available_memory()


def give_back_memory() -> None:
    """Return the memory of finished work to the GPU, also of work that failed."""
    if torch.cuda.is_initialized():
        # The frames of an error, and what they hold, may refer to each other in circles.
        gc.collect()
        torch.cuda.empty_cache()


def _least(graph: Graph, config: Config, device: torch.device, split_nodes: int) -> Least:
    """Return the least that a run takes: its weights, and of its time one pass through the first layer."""
    if config.backbone == CUSTOM:
        return least_of(config, classes=graph.num_classes, split_nodes=split_nodes)
    network = _footprint(graph, config)
    entries = graph.x.nonzeros if isinstance(graph.x, SparseMatrix) else graph.x.numel()
    return least_of(
        config,
        weights=network.hidden_width * (graph.num_features + network.logits_width),
        classes=graph.num_classes,
        split_nodes=split_nodes,
        seconds_a_trial=network.hidden_width * entries / FASTEST[device.type],
    )


def _footprint(graph: Graph, config: Config) -> Footprint:
    network = backbone_class(config.backbone)
    return network.footprint(Sizes.of(graph, config), config.hidden, graph.num_classes, **config.options())


def _stays_sparse(graph: Graph, config: Config, model: Backbone | None) -> bool:
    """Whether the network computes with sparse features as they are."""
    if config.backbone == CUSTOM and model is not None:
        return isinstance(graph.x, SparseMatrix) and model.stays_sparse
    return isinstance(graph.x, SparseMatrix) and NETWORKS[config.backbone].takes_sparse_features


def _entries(graph: Graph, config: Config, model: Backbone | None) -> int:
    """Return the entries of the largest matrix that every trial reads: the features, or the edges."""
    sizes = Sizes.of(graph, config)
    features = sizes.num_nodes * sizes.num_features
    if sizes.stored is not None and _stays_sparse(graph, config, model):
        features = sizes.stored
    return max(features, _footprint(graph, config).entries)


def _in_native_code(graph: Graph, config: Config) -> bool:
    """Whether the CPU's native code computes target passes together, without writing dropped-out features."""
    if config.backbone != "gcn" or config.hidden_dropout > 0 or not isinstance(graph.x, SparseMatrix):
        return False
    return fuses(graph.x, graph.propagation, config.hidden)


def _own_entries(graph: Graph, config: Config, model: Backbone | None) -> int:
    """Return the entries that every trial has for itself: all it reads, but features without dropout are shared.

    Native code does not write dropped-out features, so they are shared too. A method that makes several passes in a
    step has that much for each, and at least their hidden states.
    """
    network, passes = _footprint(graph, config), _passes(config)
    shared = config.input_dropout == 0 or _in_native_code(graph, config)
    own = network.entries if shared else _entries(graph, config, model)
    return own if passes == 1 else passes * max(own, graph.num_nodes * network.hidden_width)


def _passes(config: Config) -> int:
    """Return how many passes there are whose gradients a step keeps."""
    passes = METHODS[config.method].passes
    return int(getattr(config, passes)) if isinstance(passes, str) else passes
