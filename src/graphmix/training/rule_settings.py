"""The hyperparameters that only training rules of other papers have."""

from dataclasses import dataclass

from graphmix.errors import ConfigError
from graphmix.models.registry import SGAN
from graphmix.training.methods import METHODS, RECIPE
from graphmix.training.settings import RULE, setting


@dataclass(frozen=True, kw_only=True)
class RuleSettings:
    """The part of a `Config` that only methods with a rule read."""

    edge_dropout: float = setting(
        0.5,
        at_least=0,
        below=1,
        added=True,
        group=RULE,
        help="Share of the entries of the adjacency matrix that dropedge leaves out of a step",
    )
    perturbation_size: float = setting(
        0.03,
        symbol="ε",
        above=0,
        added=True,
        group=RULE,
        help="Length of the perturbation of a node's features in vat, graphvat and the sampled form of bvat",
    )
    perturbation_probe: float = setting(
        1e-3,
        symbol="ξ",
        above=0,
        added=True,
        group=RULE,
        help="Length of the random step by which these look for the worst direction",
    )
    power_iterations: int = setting(
        1, at_least=1, at_most=1000, added=True, group=RULE, help="How often they look for it, from what they found"
    )
    adversarial_weight: float = setting(
        1.0,
        at_least=0,
        added=True,
        group=RULE,
        help="Weight of the loss on perturbed features in vat, bvat and graphvat",
    )
    entropy_weight: float = setting(
        0.0,
        at_least=0,
        added=True,
        group=RULE,
        help="Weight of the entropy of the predictions in vat, bvat and graphvat",
    )
    bvat_form: str = setting(
        "optimised",
        choices=("optimised", "sampled"),
        added=True,
        group=RULE,
        help="Whether bvat optimises perturbations of all nodes together, or samples nodes far from each other",
    )
    perturbed_nodes: int = setting(
        100, at_least=1, added=True, group=RULE, help="Nodes that the sampled form of bvat draws in a step, at most"
    )
    graph_perturbation_size: float = setting(
        0.01,
        above=0,
        added=True,
        group=RULE,
        help="Length of the perturbation of a node's features in graphat and graphvat, away from its neighbours",
    )
    graph_weight: float = setting(
        1.0, at_least=0, added=True, group=RULE, help="Weight of the loss on features perturbed in this way"
    )
    neighbour_draws: int = setting(
        2, at_least=1, at_most=1000, added=True, group=RULE, help="Neighbours of a node that these draw in a step"
    )
    pretraining: int = setting(
        100, at_least=0, added=True, group=RULE, help="Epochs that gmnn trains its first network on the labels alone"
    )
    phase_epochs: int = setting(
        100, at_least=1, added=True, group=RULE, help="Epochs after which gmnn goes on with the other network"
    )
    optimiser: str = setting(
        "adam", choices=("adam", "rmsprop"), added=True, group=RULE, help="What trains the two networks of gmnn"
    )

    consistency: str = setting(
        "squared",
        choices=("squared", "cross-entropy"),
        added=True,
        group=RULE,
        help="How graphmix-grand measures how far a prediction is from its target",
    )
    fcn_targets: bool = setting(
        False,
        added=True,
        group=RULE,
        help="Whether the FCN of graphmix-grand mixes predicted targets too, not only labels",
    )

    def check_rule(self, method: str, backbone: str, perturbations: int, batch_norm: bool) -> None:
        """Raise ConfigError if a rule cannot train as asked."""
        if batch_norm and backbone == "grand" and METHODS[method].rule is None:
            raise ConfigError(f"`batch_norm` needs a method that trains with random propagation, not {method}")
        if method == "graphsgan" and backbone == "gcn":
            # The default of a `Config`, whatever its method.
            object.__setattr__(self, "backbone", SGAN)
        elif (backbone == SGAN) != (method == "graphsgan"):
            raise ConfigError(
                f"graphsgan trains a network of its own, the `backbone` {SGAN}, which no other method does; leave "
                "`backbone` out"
            )
        if method in ("grand", RECIPE) and perturbations == 0:
            raise ConfigError(f"`perturbations` must be at least 1 for {method}, which averages them")
        if batch_norm and backbone == "grand" and method == RECIPE:
            raise ConfigError(f"`batch_norm` is not for {RECIPE}: the FCN has other means than the GNN")
