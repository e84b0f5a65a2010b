"""What pictures of a run need: details.json."""

from dataclasses import dataclass
from typing import Annotated, Literal, get_args

from graphmix.results.schema import Count, Length, Maybe, Range, Shares

Role = Literal["train", "val", "test", "none"]
ROLES: tuple[Role, ...] = get_args(Role)


@dataclass(frozen=True)
class Curve:
    """A quantity over the epochs: its mean over the trials, and the 10th and 90th percentiles; None if not finite."""

    mean: Annotated[Shares, Length("epochs")]
    low: Annotated[Shares, Length("epochs")]
    high: Annotated[Shares, Length("epochs")]


@dataclass(frozen=True)
class Curves:
    """Training curves at some of the epochs; accuracy in percent."""

    epochs: tuple[Count, ...]
    val_accuracy: Maybe[Curve] = None
    train_loss: Maybe[Curve] = None
    val_loss: Maybe[Curve] = None

    @property
    def quantities(self) -> dict[str, Curve]:
        """The curves there are, by name."""
        named = {"val_accuracy": self.val_accuracy, "train_loss": self.train_loss, "val_loss": self.val_loss}
        return {name: curve for name, curve in named.items() if curve is not None}


@dataclass(frozen=True)
class Reliability:
    """Bins of the confidence: how many nodes, how confident, how often right, in percent; None for an empty bin.

    Attributes:
        ece: the expected calibration error in percent; None without nodes.
    """

    count: tuple[Count, ...]
    confidence: Annotated[Shares, Length("count")]
    accuracy: Annotated[Shares, Length("count")]
    ece: float | None


@dataclass(frozen=True)
class Embedding:
    """A picture of hidden states: one entry per drawn node.

    Attributes:
        label: the true class; -1 is unknown.
        confidence: in percent.
        role: the node's part in the split.
        nodes: how many nodes the graph has.
    """

    x: tuple[float, ...]
    y: Annotated[tuple[float, ...], Length("x")]
    node: Annotated[tuple[Count, ...], Length("x")]
    label: Annotated[tuple[Annotated[int, Range(-1, "classes")], ...], Length("x")]
    predicted: Annotated[tuple[Annotated[int, Range(0, "classes")], ...], Length("x")]
    confidence: Annotated[tuple[float, ...], Length("x")]
    role: Annotated[tuple[Role, ...], Length("x")]
    nodes: Count


@dataclass(frozen=True)
class Details:
    """What the pictures of a run need; None for what was not measured.

    Attributes:
        classes: names, or numbers as text.
        confusion: test nodes, true class by predicted class, summed over the trials.
        reliability: of the test nodes, all trials.
        embedding: of the first trial.
        soft_rank: trials by classes.
        measured: one number per trial, by name: the separation of hidden states, the accuracy in percent of the nearest
            class mean, the training loss at the last epoch; or one number per four trials: the accuracy in percent of
            their mean.
        memory_estimate: the engine's estimate of the bytes of one trial in training.
    """

    classes: tuple[str, ...]
    curves: Maybe[Curves] = None
    confusion: Maybe[Annotated[tuple[Annotated[tuple[Count, ...], Length("classes")], ...], Length("classes")]] = None
    reliability: Maybe[Reliability] = None
    embedding: Maybe[Embedding] = None
    soft_rank: Maybe[tuple[Annotated[Shares, Length("classes")], ...]] = None
    measured: Maybe[dict[str, Shares]] = None
    memory_estimate: Maybe[Count] = None
