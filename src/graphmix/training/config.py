"""Every choice a run makes: frozen, validated once, written to its folder."""

import math
import numbers
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from graphmix.errors import ConfigError
from graphmix.method import LOSSES
from graphmix.models import BACKBONES

_LARGEST = 2**31 - 1
_HUGE = 1e30
METHODS = ("graphmix", "supervised")

# Where the paper and the authors' released code differ (docs/design/0003-two-readings.md).
READINGS: dict[str, dict[str, Any]] = {
    "paper": {
        "fcn_loss": "cross-entropy",
        "unlabeled": "all",
        "lambda_per": "pair",
        "rampup_before": 0.0,
        "binarise": False,
        "ties": "first",
    },
    "released": {
        "fcn_loss": "binary-cross-entropy",
        "unlabeled": "labeled",
        "lambda_per": "batch",
        "rampup_before": math.exp(-5.0),
        "binarise": True,
        "ties": "last",
    },
}
# γ by reading and dataset: the paper's appendix and the released code's scripts give opposite values.
GAMMAS: dict[str, dict[str, float]] = {
    "paper": {"cora": 1.0, "citeseer": 1.0, "pubmed": 10.0},
    "released": {"cora": 10.0, "citeseer": 10.0, "pubmed": 1.0},
}


@dataclass(frozen=True, kw_only=True)
class Config:
    """The hyperparameters of a run, with the paper's defaults; the paper's symbol in brackets.

    Attributes:
        method: "graphmix", or "supervised" for the GNN alone.
        backbone: the network, by name.
        reading: which reading of the method the defaults came from; recorded, changes nothing by itself.
        trials: how many times to train, side by side.
        seed: trial i uses seed + i.
        epochs: parameter updates [N].
        learning_rate: Adam's step size.
        weight_decay: L2 penalty on every weight.
        hidden: units in the hidden layer.
        input_dropout: share of the input dropped.
        hidden_dropout: share of the hidden layer dropped.
        bias: whether the layers have biases.
        alpha: of Beta(α, α), from which the mixing weight is drawn [α]; 0 mixes nothing.
        gamma: peak weight of the unsupervised loss [γ].
        temperature: of sharpening [T].
        perturbations: dropout passes averaged into a target [K].
        rampup_start: epoch at which the unsupervised weight begins to rise.
        rampup_end: epoch at which it reaches gamma.
        rampup_before: share of gamma before the ramp begins.
        unlabeled: unlabeled nodes in a step: "all", or a fresh random subset, drawn with replacement, of a given
            size, "labeled" for as many as there are labeled nodes.
        fcn_loss: the FCN's loss, by name.
        lambda_per: one mixing weight per "pair" of nodes or per "batch".
        binarise: whether features become 0 or 1 before rows are normalised.
        ties: which of the epochs with the best validation accuracy counts, the "first" or the "last".
    """

    method: str = "graphmix"
    backbone: str = "gcn"
    reading: str = "paper"
    trials: int = 10
    seed: int = 0
    epochs: int = 2000
    learning_rate: float = 0.01
    weight_decay: float = 5e-4
    hidden: int = 16
    input_dropout: float = 0.5
    hidden_dropout: float = 0.0
    bias: bool = False
    alpha: float = 1.0
    gamma: float = 1.0
    temperature: float = 0.1
    perturbations: int = 10
    rampup_start: int = 500
    rampup_end: int = 1000
    rampup_before: float = 0.0
    unlabeled: str | int = "all"
    fcn_loss: str = "cross-entropy"
    lambda_per: str = "pair"
    binarise: bool = False
    ties: str = "first"

    def __post_init__(self) -> None:
        self._check_types()
        self._check_choices()
        self._check_numbers()
        self._check_reading()

    @classmethod
    def for_dataset(cls, dataset: str = "", *, reading: str = "paper", **given: Any) -> Self:
        """Fill in what a reading says and what the paper used on a dataset; `given` values win.

        The ramp-up defaults to the second quarter of the epochs, which for the paper's 2,000 is its 500 to 1,000.

        Example:
            >>> Config.for_dataset("pubmed", reading="released").gamma
            1.0
        """
        _require(reading in tuple(READINGS), f"reading must be one of {_names(READINGS)}, not {reading!r}")
        unknown = set(given) - {field.name for field in fields(cls)}
        _require(not unknown, f"there is no hyperparameter {min(unknown, default='')!r}")
        given = {name: value for name, value in given.items() if value is not None}
        epochs = _whole("epochs", given.get("epochs", cls.epochs))
        start = _whole("rampup_start", given.get("rampup_start", epochs // 4))
        derived = {
            "reading": reading,
            "gamma": GAMMAS[reading].get(dataset.lower(), cls.gamma),
            "rampup_start": start,
            "rampup_end": max(start, epochs // 2),
        }
        return cls(**(READINGS[reading] | derived | given))

    def to_dict(self) -> dict[str, Any]:
        """Every hyperparameter by name, as plain values."""
        return asdict(self)

    def options(self) -> dict[str, Any]:
        """The backbone's own choices: those of its fields that are hyperparameters."""
        own = {field.name for field in fields(BACKBONES[self.backbone])}
        return {name: value for name, value in vars(self).items() if name in own}

    def _check_choices(self) -> None:
        choices: dict[str, Any] = {
            "method": METHODS,
            "backbone": BACKBONES,
            "reading": READINGS,
            "fcn_loss": LOSSES,
            "lambda_per": ("pair", "batch"),
            "ties": ("first", "last"),
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

    def _check_types(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.type is int or (field.name == "unlabeled" and not isinstance(value, str)):
                value = _whole(field.name, value)
            elif field.type is float:
                value = _number(field.name, value)
            elif field.type is bool:
                _require(isinstance(value, bool), f"{field.name} must be True or False, not {value!r}")
            # Plain numbers, whatever numpy or others gave: a config is written as JSON.
            object.__setattr__(self, field.name, value)

    def _check_numbers(self) -> None:
        for name in ("trials", "epochs", "hidden", "perturbations"):
            _at_least(self, name, 1)
        for name in ("alpha", "gamma", "weight_decay", "rampup_start", "rampup_before"):
            _at_least(self, name, 0)
        for name in ("learning_rate", "temperature"):
            _require(getattr(self, name) > 0, f"{name} must be above 0, not {getattr(self, name)}")
        for name in ("input_dropout", "hidden_dropout"):
            value = getattr(self, name)
            _require(0 <= value < 1, f"{name} must be at least 0 and below 1, not {value}")
        for name in ("trials", "epochs", "hidden", "perturbations", "rampup_start", "rampup_end"):
            _require(getattr(self, name) <= _LARGEST, f"{name} must be at most {_LARGEST}, not {getattr(self, name)}")
        _require(0 <= self.seed < 2**63 - _LARGEST, f"seed must be from 0 to 2^63 - 2^31, not {self.seed}")
        _require(
            self.rampup_end >= self.rampup_start,
            f"rampup_end ({self.rampup_end}) must not come before rampup_start ({self.rampup_start})",
        )


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
