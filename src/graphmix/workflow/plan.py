"""The plan of a fit: which candidates it tries, in which order, and with which hyperparameters."""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from graphmix.data import Graph
from graphmix.data.folds import FOLDS
from graphmix.errors import ConfigError
from graphmix.results.names import method_title
from graphmix.sparse import SparseMatrix
from graphmix.training.config import AUTO, HYPERPARAMETERS, Config
from graphmix.training.devices import choose_device, fitting, fitting_note
from graphmix.training.expectations import few_epochs
from graphmix.training.method import FCN
from graphmix.training.methods import METHODS, STEADY
from graphmix.training.paper import SETTINGS
from graphmix.training.parts import lists_edges
from graphmix.training.task import check_edge_weights

# The networks among which held-out labels choose, by the weights that they give them. Plain training has one: in the
# study a second network gained more with steady GraphMix.
AUTO_BACKBONES = ("gpr", "sage")
_NETWORKS = {"supervised": ("gpr",), STEADY: (*AUTO_BACKBONES, "gcn")}
# With more features that are not zero a training takes long on a CPU. In the benchmark the GCN had hardly any weight on
# such graphs, so it is left out there.
_MANY_ENTRIES = 1_000_000

# Above this many nodes training takes long on a CPU, and there are fewer epochs.
_MANY_NODES = 20_000
_VERY_MANY_NODES = 100_000
_EPOCHS, _FEWEST_EPOCHS = 400, 100
# With more entries of the propagation matrix, a step on the whole graph takes seconds on a CPU, and there are
# mini-batches: of a graph with a million nodes and ten million edges, a step has about 25,000 nodes.
MANY_PROPAGATED = 2**23
_PARTS = {"batch_nodes": 1024, "batch_fanout": 5}
# Up to this many classes a few hidden units are enough.
_FEW_CLASSES = 8
# With more features, dropping them makes no difference that the study saw, and takes most of the time of a step. With
# fewer, networks learn the labels by heart within a few epochs unless they are slowed down.
_FEW_FEATURES = 200
_WIDE = {"input_dropout": 0.0}
_NARROW = {"input_dropout": 0.2, "learning_rate": 0.005, "weight_decay": 5e-3}
# The paper's GraphMix learns for 2,000 epochs before its targets are as good as they get.
PUBLISHED = "graphmix"
SELF_TRAINING = "self-training"
# What all candidates of a fit have in common.
_OF_ALL = ("trials", "seed")
_GENTLE = ("temperature", "perturbations", "target_confidence", "target_alignment", "target_every")
_PUBLISHED = {"epochs": 2000, "hidden": 16, "hidden_dropout": 0.0}
# Its targets are means over passes that only the dropout of the input makes differ.
_PUBLISHED_WIDE = {"input_dropout": 0.5}


@dataclass(frozen=True)
class Candidate:
    """A method to try.

    Attributes:
        method: its name, one of `graphmix.workflow.options.CANDIDATES`.
        config: the hyperparameters of its networks; methods without a network use its seed and its class weights.
    """

    method: str
    config: Config

    @property
    def name(self) -> str:
        """The name in files and results: the method, and its network if it trains one on the graph."""
        return f"{self.method}-{self.config.backbone}" if METHODS[self.method].trains_gnn else self.method

    @property
    def title(self) -> str:
        """What people call it: "GraphMix(GCN)"."""
        return method_title(self.method, self.config.backbone)

    def to_json(self) -> dict[str, Any]:
        """Return what its result depends on, as JSON values."""
        return {"method": self.method, "config": self.config.to_dict()}


def make_plan(
    graph: Graph,
    methods: Sequence[str],
    settings: Mapping[str, Any],
    tuned: Mapping[str, Any] | None = None,
    device: str = "auto",
) -> tuple[Candidate, ...]:
    """Return the candidates of a fit, in the order in which they are tried.

    Methods that train a network on the graph are tried with `gpr` and with `sage`, unless `settings` name a network.
    Plain training is tried with `gpr` only; steady GraphMix also with `gcn`, unless there are many features. A method
    that is asked for alone is trained alone, with `gpr`.

    Args:
        graph: the graph.
        methods: the methods, in order.
        settings: hyperparameters that the user gave; None for those to be chosen.
        tuned: hyperparameters of the method that they name, by default steady GraphMix, which is tried with them alone;
            `settings` win.
        device: where to train, here or on other machines. On a CPU, networks train on parts of a very large graph.

    Raises:
        ConfigError: a hyperparameter is invalid, or the network does not use the graph's edge weights.
    """
    given = _given(settings)
    entries = graph.x.nonzeros if isinstance(graph.x, SparseMatrix) else int(graph.x.count_nonzero())
    left_out = {"gcn"} if entries > _MANY_ENTRIES else set()
    asked = given.pop("backbone", AUTO)
    first = AUTO_BACKBONES[0] if asked == AUTO else asked
    planned = []
    found = _tuned_candidate(graph, settings, tuned, device) if tuned else None
    for method in dict.fromkeys((*methods, *(() if found is None else (found.method,)))):
        if found is not None and method == found.method:
            planned.append(found)
            continue
        several = asked == AUTO and len(methods) > 1 and METHODS[method].trains_gnn
        tried = [each for each in _NETWORKS.get(method, AUTO_BACKBONES) if each not in left_out]
        for backbone in tried if several else (first,):
            planned.append(Candidate(method, config_on(device, graph, method, backbone=backbone, **given)))
    for candidate in planned:
        if not METHODS[candidate.method].baseline:
            check_edge_weights(graph, candidate.config)
    return tuple(planned)


def _given(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if value is not None}


def _tuned_candidate(graph: Graph, settings: Mapping[str, Any], tuned: Mapping[str, Any], device: str) -> Candidate:
    """Return the method that was tuned. The folds and the seeds are those of all candidates."""
    chosen = {name: value for name, value in tuned.items() if name not in ("method", *_OF_ALL)}
    given = {name: value for name, value in _given(settings).items() if (name, value) != ("backbone", AUTO)}
    method = tuned.get("method", STEADY)
    return Candidate(method, config_on(device, graph, method, **chosen | given))


def config_on(device: str, graph: Graph, method: str, **given: Any) -> Config:
    """Return `usual_config` for a device, by its name: in mini-batches where a step on the whole graph would take long.

    What needs the whole graph, by its method, its network or a given value, has full batches.
    """
    many = graph.num_propagated > MANY_PROPAGATED and lists_edges(graph)
    if many and _is_cpu(device) and given.get("batch_nodes") != 0:
        with contextlib.suppress(ConfigError):  # the whole graph is needed, or a value is invalid in any case
            parts = usual_config(graph, method, **_PARTS | _given(given))
            if not METHODS[method].baseline:
                return parts
    return usual_config(graph, method, **given)


def _is_cpu(device: str) -> bool:
    # A device of other machines may not exist here.
    return (choose_device().type if device == AUTO else device.partition(":")[0]) == "cpu"


def usual_config(graph: Graph, method: str, **given: Any) -> Config:
    """Return a method's usual hyperparameters for a graph of its size; `given` values win, unless they are None.

    docs/design/0018-mixtures.md says where they come from.
    """
    backbone = given.get("backbone") or AUTO_BACKBONES[0]
    if method == FCN and backbone in AUTO_BACKBONES:
        # Without the edges all networks are the same, but for weights that have no use there.
        given["backbone"] = "gcn"
    network = METHODS.get(method)
    if network is None:
        raise ConfigError(f"there is no method {method!r}; there are {', '.join(METHODS)}")
    chosen: dict[str, Any] = {
        "trials": FOLDS if graph.num_nodes <= _VERY_MANY_NODES else 3,
        "epochs": _EPOCHS,
        "hidden": 32 if graph.num_classes <= _FEW_CLASSES else 64,
        **(_NARROW if graph.num_features <= _FEW_FEATURES else _PUBLISHED_WIDE if method == PUBLISHED else _WIDE),
        "hidden_dropout": 0.5,
        **(_PUBLISHED if method == PUBLISHED else {}),
        **SETTINGS.get((None, backbone), {}),
        "backbone": backbone,
    }
    if not given.get("batch_nodes"):
        chosen["epochs"] = max(_FEWEST_EPOCHS, min(chosen["epochs"], chosen["epochs"] * _MANY_NODES // graph.num_nodes))
    if not network.baseline:
        chosen |= {"method": method, **method_defaults(method, graph, given)}
    return Config(**(chosen | {name: value for name, value in given.items() if value is not None}))


def method_defaults(method: str, graph: Graph, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a method sets by itself; a target needs more confidence where there are fewer classes.

    `given` are other hyperparameters.
    """
    drawn = given.get("unlabeled") or "all", given.get("batch_nodes")
    defaults = METHODS[method].defaults_with(*drawn)
    if method == SELF_TRAINING:
        # In a fit its targets are as gentle as those of steady GraphMix; by itself it is the paper's.
        gentle = METHODS[STEADY].defaults_with(*drawn)
        defaults |= {name: value for name, value in gentle.items() if name in _GENTLE}
    if "target_confidence" in defaults:
        defaults["target_confidence"] = max(defaults["target_confidence"], min(0.9, 2 / graph.num_classes))
    return defaults


def epoch_notes(candidates: Sequence[Candidate]) -> list[str]:
    """Return a warning if the paper's GraphMix, whose targets are sharp, trains for few epochs."""
    notes = [few_epochs(each.config) for each in candidates if each.method == PUBLISHED]
    return [note for note in notes if note is not None]


def in_memory(
    candidates: Sequence[Candidate], graph: Graph, device: torch.device
) -> tuple[tuple[Candidate, ...], list[str]]:
    """Return candidates that train in mini-batches where the whole graph does not fit into memory.

    The second result is a note on mini-batches, if there are any.
    """
    fits = tuple(replace(each, config=fitting(graph, each.config, device)) for each in candidates)
    pairs = zip(candidates, fits, strict=True)
    large = [old for old, new in pairs if old.config is not new.config and not METHODS[old.method].baseline]
    if large:
        return fits, [fitting_note(graph, large[0].config, device)]
    networks = [each.config for each in fits if not METHODS[each.method].baseline]
    parts = [config for config in networks if config.batch_nodes]
    if not parts and any(config.batch_fanout != HYPERPARAMETERS["batch_fanout"].default for config in networks):
        return fits, ["`batch_fanout` has no effect with full batches; give `batch_nodes`"]
    return fits, [part_note(config) for config in parts[:1]]


def part_note(config: Config) -> str:
    """Say that networks train in mini-batches, and of which size."""
    drawn = f"{config.batch_nodes:,} nodes and {config.batch_fanout:,} neighbours of each, in two hops"
    return f"networks train in mini-batches: a step draws {drawn} (`batch_nodes`, `batch_fanout`)"
