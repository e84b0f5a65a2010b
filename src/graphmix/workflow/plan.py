"""The plan of a fit: which candidates it tries, in which order, and with which hyperparameters."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from graphmix.data import Graph
from graphmix.data.folds import FOLDS
from graphmix.errors import ConfigError
from graphmix.results.names import method_title
from graphmix.training.config import AUTO, Config
from graphmix.training.expectations import few_epochs
from graphmix.training.methods import FCN, METHODS, STEADY
from graphmix.training.paper import SETTINGS
from graphmix.training.task import check_edge_weights

# The networks among which the folds decide, the first of them where nothing else does.
AUTO_BACKBONES = ("gpr", "sage")
# Plain training of each network tells which one the other methods use.
PROBE = "supervised"

# Above this many nodes training takes long on a CPU, and there are fewer epochs.
_MANY_NODES = 20_000
_VERY_MANY_NODES = 100_000
_EPOCHS, _FEWEST_EPOCHS = 400, 100
# Up to this many classes a few hidden units are enough.
_FEW_CLASSES = 8
# Bags of words have more features than this, and half of them can be dropped.
_FEW_FEATURES = 200
# The paper's GraphMix learns for 2,000 epochs before its targets are as good as they get.
PUBLISHED = "graphmix"
SELF_TRAINING = "self-training"
_GENTLE = ("temperature", "perturbations", "target_confidence", "target_alignment")
_PUBLISHED = {"epochs": 2000, "hidden": 16, "hidden_dropout": 0.0}


@dataclass(frozen=True)
class Candidate:
    """A method to try.

    Attributes:
        method: its name, one of `graphmix.workflow.options.CANDIDATES`.
        config: the hyperparameters of its networks; methods without a network use its seed and its class weights.
        auto: whether the folds choose its network; `config.backbone` is then the one to use if they cannot.
    """

    method: str
    config: Config
    auto: bool = False

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
        return {"method": self.method, "auto": self.auto, "config": self.config.to_dict()}

    def over(self, backbone: str) -> "Candidate":
        """Return the candidate with another network, if the folds choose it."""
        return replace(self, config=replace(self.config, backbone=backbone)) if self.auto else self


def make_plan(graph: Graph, methods: Sequence[str], settings: Mapping[str, Any]) -> tuple[Candidate, ...]:
    """Return the candidates of a fit, in the order in which they are tried.

    A network that trains on the graph is `gpr` or `sage` unless `settings` name one: plain training tries both, and the
    methods after it use the better one. A single method has no other to compare with, so it uses `gpr`.

    Args:
        graph: the graph.
        methods: the methods, in order.
        settings: hyperparameters that the user gave; None for those to be chosen.

    Raises:
        ConfigError: a hyperparameter is invalid, or the network does not use the graph's edge weights.
    """
    given = {name: value for name, value in settings.items() if value is not None}
    asked = given.pop("backbone", AUTO)
    auto = asked == AUTO and len(methods) > 1
    first = AUTO_BACKBONES[0] if asked == AUTO else asked
    planned = []
    for method in methods:
        backbones = AUTO_BACKBONES if auto and method == PROBE else (first,)
        for backbone in backbones:
            config = usual_config(graph, method, backbone=backbone, **given)
            planned.append(Candidate(method, config, auto and method != PROBE and METHODS[method].trains_gnn))
    for candidate in planned:
        if not METHODS[candidate.method].baseline:
            check_edge_weights(graph, candidate.config)
    return tuple(planned)


def usual_config(graph: Graph, method: str = PROBE, **given: Any) -> Config:
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
        "input_dropout": 0.5 if graph.num_features > _FEW_FEATURES else 0.2,
        "hidden_dropout": 0.5,
        **(_PUBLISHED if method == PUBLISHED else {}),
        **SETTINGS.get((None, backbone), {}),
        "backbone": backbone,
    }
    chosen["epochs"] = max(_FEWEST_EPOCHS, min(chosen["epochs"], chosen["epochs"] * _MANY_NODES // graph.num_nodes))
    if not network.baseline:
        chosen |= {"method": method, **method_defaults(method, graph)}
    return Config(**(chosen | {name: value for name, value in given.items() if value is not None}))


def method_defaults(method: str, graph: Graph) -> dict[str, Any]:
    """Return what a method sets by itself; a target needs more confidence where there are fewer classes."""
    defaults = dict(METHODS[method].defaults)
    if method == SELF_TRAINING:
        # In a fit its targets are as gentle as those of steady GraphMix; by itself it is the paper's.
        defaults |= {name: METHODS[STEADY].defaults[name] for name in _GENTLE}
    if "target_confidence" in defaults:
        defaults["target_confidence"] = max(defaults["target_confidence"], min(0.9, 2 / graph.num_classes))
    return defaults


def epoch_notes(candidates: Sequence[Candidate]) -> list[str]:
    """Return a warning if the paper's GraphMix, whose targets are sharp, trains for few epochs."""
    notes = [few_epochs(each.config) for each in candidates if each.method == PUBLISHED]
    return [note for note in notes if note is not None]
