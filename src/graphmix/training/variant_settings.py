"""The hyperparameters of variants of GraphMix that the paper argues against (docs/design/0023-claims.md)."""

from dataclasses import dataclass

from graphmix.errors import ConfigError
from graphmix.training.method import BOTH, FCN, GNN
from graphmix.training.methods import METHODS
from graphmix.training.settings import VARIANT, setting

AVERAGE = "-average"


@dataclass(frozen=True, kw_only=True)
class VariantSettings:
    """The part of a `Config` whose defaults are the paper's choices, and which no table of the paper changes."""

    mixup_layer: str = setting(
        "hidden",
        choices=("hidden", "input", "random"),
        added=True,
        group=VARIANT,
        help="Where the FCN's mixup mixes nodes: at the hidden layer as in the paper, at the input, or at one of the "
        "two, drawn by each trial in each step",
    )
    teacher: str = setting(
        GNN,
        choices=(GNN, FCN, GNN + AVERAGE, FCN + AVERAGE),
        added=True,
        group=VARIANT,
        help="Network that predicts targets: the GNN as in the paper, the FCN, or one of the two with an exponential "
        "moving average of the weights",
    )
    teacher_decay: float = setting(
        0.999,
        at_least=0,
        below=1,
        added=True,
        group=VARIANT,
        help="Share of the teacher's averaged weights that a step keeps; less in the first steps",
    )
    gnn_targets: str = setting(
        "none",
        choices=("none", GNN, FCN),
        added=True,
        group=VARIANT,
        help="Network that predicts targets of unlabeled nodes for the GNN's own steps in graphmix; none, as in the "
        "paper, trains these on labels alone",
    )

    def unread_variants(self, method: str, alpha: float, gamma: float) -> list[str]:
        """Return those of these hyperparameters that have no effect with a method, α and γ."""
        targets = METHODS[method].predicts_targets and gamma > 0
        effects = {
            "mixup_layer": (METHODS[method].mixes or "alpha" in METHODS[method].uses) and alpha > 0,
            "teacher": targets,
            "teacher_decay": targets and self.teacher.endswith(AVERAGE),
            "gnn_targets": targets and METHODS[method].trains == BOTH and METHODS[method].mixes_targets,
        }
        return [name for name, effective in effects.items() if not effective]

    def check_variant(self, method: str, perturbations: int) -> None:
        """Raise ConfigError if targets come from the step's own pass, but another network is to predict them."""
        if perturbations == 0 and METHODS[method].predicts_targets and self.teacher != GNN:
            raise ConfigError(
                f"`perturbations` must be at least 1 if the `teacher` is {self.teacher!r}; with 0 the step's own pass "
                "predicts the targets"
            )
