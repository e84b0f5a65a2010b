"""The hyperparameters that only training rules of other papers and their networks have."""

from dataclasses import dataclass

from graphmix.errors import ConfigError
from graphmix.training.methods import METHODS
from graphmix.training.settings import NETWORK, RULE, setting


@dataclass(frozen=True, kw_only=True)
class RuleSettings:
    """The part of a `Config` that only methods with a rule read."""

    node_dropout: float = setting(
        0.5, at_least=0, below=1, added=True, group=NETWORK, help="Share of the nodes that a grand leaves out of a pass"
    )
    batch_norm: bool = setting(
        False, added=True, group=NETWORK, help="Whether a grand normalises its inputs and hidden states over the nodes"
    )
    edge_dropout: float = setting(
        0.5,
        at_least=0,
        below=1,
        added=True,
        group=RULE,
        help="Share of the entries of the adjacency matrix that dropedge leaves out of a step",
    )

    def check_rule(self, method: str, backbone: str, perturbations: int) -> None:
        """Raise ConfigError if a rule cannot train as asked."""
        if self.batch_norm and backbone == "grand" and METHODS[method].rule is None:
            raise ConfigError(f"`batch_norm` needs a method that trains with random propagation, not {method}")
        if method == "grand" and perturbations == 0:
            raise ConfigError("`perturbations` must be at least 1 for grand, which averages them")
