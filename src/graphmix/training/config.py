"""Every choice a run makes: frozen, validated once, written to its folder."""

import numbers
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from fractions import Fraction
from typing import Any, Self

from graphmix.errors import ConfigError
from graphmix.method import LOSSES
from graphmix.models.ratios import check_ratios
from graphmix.models.registry import BACKBONES, CUSTOM, NETWORKS
from graphmix.training.settings import (
    ADDED,
    GAMMAS,
    METHODS,
    OPTIMISATIONS,
    PREDICTORS,
    RAMPS,
    READINGS,
    SELECTIONS,
    SETTINGS,
    USUAL_RAMP,
    WEIGHTS,
)

_LARGEST = 2**31 - 1
_HUGE = 1e30


@dataclass(frozen=True, kw_only=True)
class Config:
    """The hyperparameters of a run, with the paper's defaults; the paper's symbol in brackets.

    Attributes:
        method: what is trained, and how: a key of `METHODS`.
        backbone: the network, a key of `BACKBONES`; "custom" for one given to `fit` as an object.
        optimisation: whether GraphMix's steps "alternate" between the FCN's loss and the GNN's as a coin falls, or are
            "joint", on the weighted sum of both.
        joint_weight: weight of the FCN's loss in that sum [λ].
        predictor: which network predicts and is judged, "gnn" or "fcn"; "auto" is the GNN for every method but "fcn".
        reading: which reading of the method the defaults came from; recorded, changes nothing by itself.
        trials: how many times to train, side by side.
        seed: trial i uses seed + i.
        epochs: parameter updates [N].
        learning_rate: Adam's step size.
        weight_decay: L2 penalty on every weight.
        hidden: units in the hidden layer, of each head for a GAT.
        input_dropout: share of the input dropped.
        hidden_dropout: share of the hidden layer dropped.
        attention_dropout: share of a GAT's attention dropped.
        heads: attention heads of a GAT's hidden layer.
        output_heads: attention heads of its output layer, averaged.
        pool_ratios: share of the nodes that each pooling of a Graph U-Net keeps.
        bias: whether the layers have biases.
        alpha: of Beta(α, α), from which the mixing weight is drawn [α]; 0 switches mixup off.
        gamma: peak weight of the loss on predicted targets [γ]; 0 switches them off.
        temperature: of sharpening [T].
        perturbations: dropout passes averaged into a target [K].
        rampup_start: epoch at which the unsupervised weight begins to rise; when not given a quarter of the epochs,
            which for the paper's 2,000 is its 500.
        rampup_end: epoch at which it reaches gamma; when not given half of the epochs.
        rampup_before: share of gamma before the ramp begins.
        unlabeled: unlabeled nodes in a step: "all", or a fresh random subset, drawn with replacement, of a given
            size, "labeled" for as many as there are labeled nodes.
        fcn_loss: the loss of GraphMix's FCN, by name; every other loss is cross-entropy.
        lambda_per: one mixing weight per "pair" of nodes or per "batch".
        binarise: whether features become 0 or 1 before rows are normalised.
        select_by: the score on the validation nodes by which a trial's epoch is chosen, "accuracy" or "macro-f1".
        ties: which of the epochs with the best score counts, the "first" or the "last".
        class_weight: "balanced" for a loss on the labels in which every class counts alike, by the trial's own training
            nodes; "none" for one in which every node does.
        target_weight: "balanced" for predicted targets in which every class counts alike, anew in every step.
    """

    method: str = "graphmix"
    backbone: str = "gcn"
    optimisation: str = "alternate"
    joint_weight: float = 1.0
    predictor: str = "auto"
    reading: str = "paper"
    trials: int = 10
    seed: int = 0
    epochs: int = 2000
    learning_rate: float = 0.01
    weight_decay: float = 5e-4
    hidden: int = 16
    input_dropout: float = 0.5
    hidden_dropout: float = 0.0
    attention_dropout: float = 0.5
    heads: int = 8
    output_heads: int = 1
    pool_ratios: tuple[float, ...] = (0.5, 0.5)
    bias: bool = False
    alpha: float = 1.0
    gamma: float = 1.0
    temperature: float = 0.1
    perturbations: int = 10
    rampup_start: int = None  # type: ignore[assignment]  # chosen from the epochs, then never None
    rampup_end: int = None  # type: ignore[assignment]
    rampup_before: float = 0.0
    unlabeled: str | int = "all"
    fcn_loss: str = "cross-entropy"
    lambda_per: str = "pair"
    binarise: bool = False
    select_by: str = "accuracy"
    ties: str = "first"
    class_weight: str = "none"
    target_weight: str = "none"

    def __post_init__(self) -> None:
        start, end = _ramp(_whole("epochs", self.epochs), USUAL_RAMP)
        if vars(self)["rampup_start"] is None:
            object.__setattr__(self, "rampup_start", start)
        if vars(self)["rampup_end"] is None:
            object.__setattr__(self, "rampup_end", max(_whole("rampup_start", self.rampup_start), end))
        self._check_types()
        self._check_choices()
        self._check_numbers()
        self._check_reading()
        self._check_weights()

    @classmethod
    def for_dataset(cls, dataset: str = "", *, reading: str = "paper", **given: Any) -> Self:
        """Fill in what a reading says and what the paper used on a dataset; `given` values win.

        Example:
            >>> Config.for_dataset("pubmed", reading="released").gamma
            1.0
            >>> Config.for_dataset("coauthor-cs").hidden, Config.for_dataset("cora", backbone="gat").learning_rate
            (64, 0.005)
        """
        _require(reading in tuple(READINGS), f"reading must be one of {_names(READINGS)}, not {reading!r}")
        unknown = set(given) - {field.name for field in fields(cls)}
        _require(not unknown, f"there is no hyperparameter {min(unknown, default='')!r}")
        given = {name: value for name, value in given.items() if value is not None}
        dataset, backbone = dataset.lower().replace("_", "-"), str(given.get("backbone", cls.backbone))
        chosen = READINGS[reading] | {"reading": reading, "gamma": GAMMAS[reading].get(dataset, cls.gamma)}
        for owner in ((dataset, None), (None, backbone), (dataset, backbone)):
            chosen |= SETTINGS.get(owner, {})
        chosen |= given
        if dataset in RAMPS:
            epochs = _whole("epochs", chosen.get("epochs", cls.epochs))
            chosen = dict(zip(("rampup_start", "rampup_end"), _ramp(epochs, RAMPS[dataset]), strict=True)) | chosen
        return cls(**chosen)

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """Read back what `to_dict` gave, among other values or not; what older records lack takes its default.

        Raises:
            ConfigError: a hyperparameter is missing or out of its range.
        """
        names = [field.name for field in fields(cls)]
        missing = next((name for name in names if name not in stored and name not in ADDED), None)
        _require(missing is None, f"the hyperparameter {missing} is missing")
        return cls(**{name: stored[name] for name in names if name in stored})

    @property
    def trains_gnn(self) -> bool:
        """Whether the network is ever trained on the graph, not only as an FCN."""
        return self.method not in ("fcn", "fcn-self-training", "fcn-mixup")

    @property
    def predicts_with_gnn(self) -> bool:
        """Whether predictions come from the network on the graph, not from its FCN."""
        return self.predictor == "gnn" or (self.predictor == "auto" and self.method != "fcn")

    @property
    def predicts_targets(self) -> bool:
        """Whether unlabeled nodes are trained on, with targets that the network predicts."""
        return self.method not in ("supervised", "fcn") and self.gamma > 0

    def to_dict(self) -> dict[str, Any]:
        """Every hyperparameter by name, as values that JSON knows."""
        return asdict(self) | {"pool_ratios": list(self.pool_ratios)}

    def options(self) -> dict[str, Any]:
        """The hyperparameters that are options of the backbone, by name."""
        return {name: getattr(self, name) for name in NETWORKS[self.backbone].options}

    def _check_choices(self) -> None:
        choices: dict[str, Any] = {
            "method": METHODS,
            "backbone": BACKBONES if self.backbone != CUSTOM else (CUSTOM,),
            "optimisation": OPTIMISATIONS,
            "predictor": PREDICTORS,
            "reading": READINGS,
            "fcn_loss": LOSSES,
            "lambda_per": ("pair", "batch"),
            "select_by": SELECTIONS,
            "ties": ("first", "last"),
            "class_weight": WEIGHTS,
            "target_weight": WEIGHTS,
        }
        for name, allowed in choices.items():
            value = getattr(self, name)
            _require(value in tuple(allowed), f"{name} must be one of {_names(allowed)}, not {value!r}")
        whole = isinstance(self.unlabeled, int) and 1 <= self.unlabeled <= _LARGEST
        _require(
            whole or self.unlabeled in ("all", "labeled"),
            f"unlabeled must be 'all', 'labeled' or a number of nodes from 1 up, not {self.unlabeled!r}",
        )

    def _check_reading(self) -> None:
        released = self.reading == "released"
        paper = all(getattr(self, name) == value for name, value in READINGS["paper"].items())
        _require(
            not (released and paper),
            "every choice is the paper's, so the reading is not \"released\"; Config.for_dataset fills in a reading's",
        )

    def _check_weights(self) -> None:
        weighted = "balanced" in (self.class_weight, self.target_weight)
        used = self.method in ("graphmix", "fcn-mixup")
        _require(
            not (weighted and used and self.fcn_loss != "cross-entropy"),
            f"class weights need the cross-entropy loss, and fcn_loss is {self.fcn_loss!r}",
        )

    def _check_types(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.type is int or (field.name == "unlabeled" and not isinstance(value, str)):
                value = _whole(field.name, value)
            elif field.type is float:
                value = _number(field.name, value)
            elif field.name == "pool_ratios":
                value = check_ratios(value)
            elif field.type is bool:
                _require(isinstance(value, bool), f"{field.name} must be True or False, not {value!r}")
            # Plain numbers, whatever numpy or others gave: a config is written as JSON.
            object.__setattr__(self, field.name, value)

    def _check_numbers(self) -> None:
        for name in ("trials", "epochs", "hidden", "heads", "output_heads", "perturbations"):
            _at_least(self, name, 1)
        for name in ("alpha", "gamma", "joint_weight", "weight_decay", "rampup_start", "rampup_before"):
            _at_least(self, name, 0)
        for name in ("learning_rate", "temperature"):
            _require(getattr(self, name) > 0, f"{name} must be above 0, not {getattr(self, name)}")
        for name in ("input_dropout", "hidden_dropout", "attention_dropout"):
            value = getattr(self, name)
            _require(0 <= value < 1, f"{name} must be at least 0 and below 1, not {value}")
        counts = ("trials", "epochs", "hidden", "heads", "output_heads", "perturbations", "rampup_start", "rampup_end")
        for name in counts:
            _require(getattr(self, name) <= _LARGEST, f"{name} must be at most {_LARGEST}, not {getattr(self, name)}")
        _require(0 <= self.seed < 2**63 - _LARGEST, f"seed must be from 0 to 2^63 - 2^31, not {self.seed}")
        _require(
            self.rampup_end >= self.rampup_start,
            f"rampup_end ({self.rampup_end}) must not come before rampup_start ({self.rampup_start})",
        )


def _ramp(epochs: int, shares: tuple[Fraction, Fraction]) -> tuple[int, int]:
    return int(epochs * shares[0]), int(epochs * shares[1])


def _whole(name: str, value: Any) -> int:
    fits = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    _require(fits, f"{name} must be a whole number, not {value!r}")
    return int(value)


def _number(name: str, value: Any) -> float:
    fits = isinstance(value, numbers.Real) and not isinstance(value, bool)
    _require(fits and -_HUGE < value < _HUGE, f"{name} must be a finite number, not {value!r}")
    return float(value)


def _at_least(config: Config, name: str, bound: int) -> None:
    value = getattr(config, name)
    _require(value >= bound, f"{name} must be at least {bound}, not {value}")


def _names(allowed: Any) -> str:
    return ", ".join(allowed)


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise ConfigError(message)
