"""The hyperparameters of a run: frozen, checked once, written to its folder. Importing this does not import torch."""

import inspect
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, Self

from graphmix.errors import ConfigError
from graphmix.models.registry import NETWORKS
from graphmix.training.batch_settings import BatchSettings
from graphmix.training.method import FCN, GNN
from graphmix.training.methods import METHODS, trained_methods
from graphmix.training.network_settings import NetworkSettings
from graphmix.training.paper import GAMMAS, RAMPS, READINGS, SETTINGS, USUAL_RAMP
from graphmix.training.rule_papers import rule_settings
from graphmix.training.rule_settings import RuleSettings
from graphmix.training.settings import LARGEST_COUNT, RUN, check_value, parameters, setting, settings_of
from graphmix.training.variant_settings import VariantSettings

# The passes of one step, between which nobody hears of it; the paper has 10.
MOST_PASSES = 100_000
AUTO = "auto"
# Keep the last epoch, whatever its validation score.
LAST = "last"
_PLAIN_LOSS = "cross-entropy"
_WEIGHTS = ("none", "balanced")


@dataclass(frozen=True, kw_only=True)
class Config(BatchSettings, RuleSettings, VariantSettings, NetworkSettings):
    """The hyperparameters of a run, with the paper's defaults; the paper's symbols in brackets."""

    method: str = setting("graphmix", choices=trained_methods(), help="What is trained, and how")
    optimisation: str = setting(
        "alternate",
        choices=("alternate", "joint"),
        help="Which loss GraphMix's steps minimise: the FCN's or the GNN's at random, or jointly their weighted sum",
    )
    joint_weight: float = setting(1.0, symbol="λ", at_least=0, help="Weight of the FCN's loss in a sum with the GNN's")
    predictor: str = setting(
        AUTO,
        choices=(AUTO, GNN, FCN),
        help="Which network predicts and is evaluated; auto is the GNN for all methods except fcn",
    )
    reading: str = setting(
        "paper",
        choices=tuple(READINGS),
        help="Whose defaults to fill in: those of the paper, or of the authors' released code where it differs",
    )
    trials: int = setting(10, at_least=1, group=RUN, help="How many networks are trained, side by side")
    seed: int = setting(0, at_least=0, at_most=2**63 - LARGEST_COUNT - 1, group=RUN, help="Trial i uses seed + i")
    epochs: int = setting(2000, symbol="N", at_least=1, group=RUN, help="Parameter updates")
    learning_rate: float = setting(0.01, above=0, group=RUN, help="Step size of Adam")
    weight_decay: float = setting(
        5e-4, at_least=0, group=RUN, help="L2 penalty on the weights, or on some, as the network decides"
    )
    alpha: float = setting(
        1.0,
        symbol="α",
        at_least=0,
        help="Parameter of Beta(α, α), from which mixing weights are drawn; 0 switches mixup off",
    )
    gamma: float = setting(
        1.0, symbol="γ", at_least=0, help="Peak weight of the loss on predicted targets; 0 switches them off"
    )
    temperature: float = setting(0.1, symbol="T", above=0, help="Temperature by which predicted targets are sharpened")
    perturbations: int = setting(
        10,
        symbol="K",
        at_least=0,
        at_most=MOST_PASSES,
        help="Dropout passes averaged into a predicted target; 0, for self-training and graphmix-steady, takes the "
        "predictions of the step's own pass",
    )
    rampup_start: int = setting(
        None,
        kind=int,
        at_least=0,
        default_text="a quarter of the epochs",
        help="Epoch at which the weight of the loss on predicted targets begins to rise",
    )
    rampup_end: int = setting(
        None, kind=int, at_least=0, default_text="half of the epochs", help="Epoch at which that weight reaches gamma"
    )
    rampup_before: float = setting(0.0, at_least=0, help="Share of gamma that applies before the rise")
    unlabeled: str | int = setting(
        "all",
        choices=("all", "labeled"),
        or_count=True,
        help="Unlabeled nodes in a step: all, or some drawn in each step, with replacement; labeled means as many "
        "as are labeled",
    )
    fcn_loss: str = setting(
        _PLAIN_LOSS,
        choices=(_PLAIN_LOSS, "binary-cross-entropy"),
        help="Loss of GraphMix's FCN; all other losses are cross-entropy",
    )
    lambda_per: str = setting(
        "pair", choices=("pair", "batch"), help="Whether each pair of nodes or each batch has its own mixing weight"
    )
    select_by: str = setting(
        "accuracy",
        choices=("accuracy", "macro-f1", "loss", LAST),
        help="Validation score by which the epoch of a trial is chosen; loss is the cross-entropy, the lowest wins; "
        "last is no score, but keeps the last epoch, as a split without validation nodes needs",
    )
    ties: str = setting("first", choices=("first", "last"), help="Which of several epochs with the best score is taken")
    class_weight: str = setting(
        "none",
        choices=_WEIGHTS,
        added=True,
        help="Whether the loss on labels gives all classes the same weight, counted over each trial's training nodes",
    )
    target_weight: str = setting(
        "none",
        choices=_WEIGHTS,
        added=True,
        help="Whether the loss on predicted targets gives all classes the same weight, in each step",
    )
    target_confidence: float = setting(
        0.0,
        at_least=0,
        below=1,
        added=True,
        help="Predicted probability below which a node gets no target; 0 gives every node one",
    )
    target_alignment: float = setting(
        0.0,
        at_least=0,
        at_most=1,
        added=True,
        help="How far the class shares of predicted targets are moved towards those of the labels; 0 leaves them",
    )

    target_every: int = setting(
        1,
        at_least=1,
        added=True,
        help="Steps between two predictions of the targets, which are kept in between; more than 1 only for "
        "self-training and graphmix-steady",
    )

    def __post_init__(self) -> None:
        for name, rules in HYPERPARAMETERS.items():
            value = getattr(self, name)
            if value is not None or rules.default is not None:
                object.__setattr__(self, name, check_value(name, value, rules))
        self._fill_in_ramp()
        self._check_reading()
        self._check_target_weights()
        self._check_passes()
        self.check_batch(self.method, self.backbone, kept=self.target_every > 1 and self.predicts_targets)
        self.check_variant(self.method, self.perturbations)
        self.check_rule(self.method, self.backbone, self.perturbations, self.batch_norm)

    @classmethod
    def for_dataset(cls, dataset: str = "", *, reading: str | None = None, **given: Any) -> Self:
        """Fill in what a reading says, what the paper used on a dataset, and a method's own defaults.

        The `given` values win; None is not given.

        Example:
            >>> Config.for_dataset("pubmed", reading="released").gamma
            1.0
            >>> Config.for_dataset("coauthor-cs").hidden, Config.for_dataset("cora", backbone="gat").learning_rate
            (64, 0.005)
        """
        named: object = dataset
        if not isinstance(named, str):
            raise ConfigError(f"`dataset` must be a name, such as 'cora' or graph.name, not {type(named).__name__}")
        reading = str(check_value("reading", reading or cls.reading, HYPERPARAMETERS["reading"]))
        unknown = set(given) - set(HYPERPARAMETERS)
        if unknown:
            raise ConfigError(f"there is no hyperparameter {min(unknown)!r}")
        given = {name: value for name, value in given.items() if value is not None}
        dataset, name = dataset.lower().replace("_", "-"), str(given.get("method", cls.method))
        method = METHODS.get(name)
        backbone = str(given.get("backbone", cls.backbone if method is None else method.backbone))
        chosen: dict[str, Any] = {"backbone": backbone}
        chosen |= READINGS[reading] | {"reading": reading, "gamma": GAMMAS[reading].get(dataset, cls.gamma)}
        for owner in ((dataset, None), (None, backbone), (dataset, backbone)):
            chosen |= SETTINGS.get(owner, {})
        unlabeled = given.get("unlabeled", chosen.get("unlabeled", cls.unlabeled))
        chosen |= {} if method is None else method.defaults_with(unlabeled, given.get("batch_nodes"))
        chosen |= rule_settings(dataset, name) | given
        if dataset in RAMPS:
            epochs = check_value("epochs", chosen.get("epochs", cls.epochs), HYPERPARAMETERS["epochs"])
            chosen = dict(zip(("rampup_start", "rampup_end"), _ramp(epochs, RAMPS[dataset]), strict=True)) | chosen
        return cls(**chosen)

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """Read back what `to_dict` gave, among other values or not; settings that older records lack get defaults.

        Raises:
            ConfigError: a hyperparameter is missing or invalid.
        """
        missing = next((name for name in HYPERPARAMETERS if name not in stored and name not in ADDED), None)
        if missing is not None:
            raise ConfigError(f"the hyperparameter `{missing}` is missing")
        return cls(**{name: stored[name] for name in HYPERPARAMETERS if name in stored})

    @property
    def trains_gnn(self) -> bool:
        """Whether the network is ever trained on the graph, not only as an FCN."""
        return METHODS[self.method].trains_gnn

    @property
    def predicts_with_gnn(self) -> bool:
        """Whether predictions come from the network on the graph, not from its FCN."""
        predictor = METHODS[self.method].predictor if self.predictor == AUTO else self.predictor
        return predictor == GNN

    @property
    def unread(self) -> list[str]:
        """The variants of GraphMix, by hyperparameter, that have no effect with the method, α and γ."""
        return self.unread_variants(self.method, self.alpha, self.gamma)

    @property
    def averages_teacher(self) -> bool:
        """Whether targets come from a teacher with averaged weights."""
        return "teacher_decay" not in self.unread

    @property
    def predicts_targets(self) -> bool:
        """Whether unlabeled nodes are trained on, with targets that the network predicts."""
        return METHODS[self.method].predicts_targets and self.gamma > 0

    def to_dict(self) -> dict[str, Any]:
        """Every hyperparameter by name, as JSON values."""
        return asdict(self) | {"pool_ratios": list(self.pool_ratios)}

    def options(self) -> dict[str, Any]:
        """The hyperparameters that are options of the backbone, by name."""
        return {name: getattr(self, name) for name in NETWORKS[self.backbone].options}

    def _fill_in_ramp(self) -> None:
        start, end = _ramp(self.epochs, USUAL_RAMP)
        if vars(self)["rampup_start"] is None:
            object.__setattr__(self, "rampup_start", start)
        if vars(self)["rampup_end"] is None:
            object.__setattr__(self, "rampup_end", max(self.rampup_start, end))
        if self.rampup_end < self.rampup_start:
            raise ConfigError(
                f"`rampup_end` ({self.rampup_end}) must not come before `rampup_start` ({self.rampup_start})"
            )

    def _check_reading(self) -> None:
        if self.reading != "paper" and all(getattr(self, name) == value for name, value in READINGS["paper"].items()):
            raise ConfigError(
                f"`reading` is {self.reading!r}, but every other choice is the paper's; Config.for_dataset fills in "
                "those of a reading"
            )

    def _check_target_weights(self) -> None:
        # The binary loss takes a target of less weight for a target of fewer classes.
        method = METHODS[self.method]
        if not method.mixes or self.fcn_loss == _PLAIN_LOSS:
            return
        for name in ("class_weight", *(("target_weight", "target_confidence") if method.mixes_targets else ())):
            if getattr(self, name) != HYPERPARAMETERS[name].default:
                raise ConfigError(f"`{name}` needs the loss {_PLAIN_LOSS}, but `fcn_loss` is {self.fcn_loss!r}")

    def _check_passes(self) -> None:
        method = METHODS[self.method]
        if self.perturbations == 0 and method.predicts_targets and not method.trains_gnn_on_targets:
            able = " and ".join(name for name, each in METHODS.items() if each.trains_gnn_on_targets)
            raise ConfigError(
                f"`perturbations` must be at least 1 for {self.method}; only {able} can do with 0 of their own"
            )
        kept = method.trains_gnn_on_targets and self.unlabeled == "all"
        if self.target_every > 1 and method.predicts_targets and not kept:
            raise ConfigError(
                f"`target_every` must be 1 for {self.method}: targets are kept by methods that train the GNN on those "
                "of all unlabeled nodes"
            )


HYPERPARAMETERS = settings_of(Config)
# Hyperparameters that records from before them lack; their defaults are what those runs did.
ADDED = tuple(name for name, rules in HYPERPARAMETERS.items() if rules.added)


def _ramp(epochs: int, shares: tuple[Fraction, Fraction]) -> tuple[int, int]:
    return int(epochs * shares[0]), int(epochs * shares[1])


def _attributes() -> str:
    lines = [f"    {name}: {help}" for name, _, help in parameters(Config)]
    choices = [f" One of {rules.values}." if rules.choices else "" for rules in HYPERPARAMETERS.values()]
    return "\n".join(["", "", "Attributes:", *map("".join, zip(lines, choices, strict=True))])


if Config.__doc__ is not None:  # python -OO has none
    Config.__doc__ = inspect.cleandoc(Config.__doc__) + _attributes()
