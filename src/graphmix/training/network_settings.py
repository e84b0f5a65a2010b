"""The hyperparameters of a network: which one, its size, its dropout, and what only some networks have."""

from dataclasses import dataclass

from graphmix.models.ratios import check_ratios
from graphmix.models.registry import BACKBONES, CUSTOM, SGAN
from graphmix.training.settings import NETWORK, setting


@dataclass(frozen=True, kw_only=True)
class NetworkSettings:
    """The part of a `Config` that describes the network."""

    backbone: str = setting("gcn", choices=tuple(BACKBONES), unlisted=(CUSTOM, SGAN), group=NETWORK, help="The network")
    hidden: int = setting(
        16,
        at_least=1,
        group=NETWORK,
        help="Units in the hidden layer, of each head in a gat or gatv2, of each channel in a disengcn",
    )
    input_dropout: float = setting(0.5, at_least=0, below=1, group=NETWORK, help="Dropout rate of the input")
    hidden_dropout: float = setting(0.0, at_least=0, below=1, group=NETWORK, help="Dropout rate of the hidden layer")
    attention_dropout: float = setting(
        0.5, at_least=0, below=1, group=NETWORK, help="Dropout rate of the attention in a gat or gatv2"
    )
    heads: int = setting(8, at_least=1, group=NETWORK, help="Attention heads in the hidden layer of a gat or gatv2")
    output_heads: int = setting(
        1, at_least=1, group=NETWORK, help="Attention heads in the output layer of a gat or gatv2, which are averaged"
    )
    pool_ratios: tuple[float, ...] = setting(
        (0.5, 0.5),
        check=check_ratios,
        values_text="one or two numbers above 0 and at most 1",
        group=NETWORK,
        help="Share of the nodes that each pooling of a unet keeps",
    )
    hops: int = setting(
        10,
        at_least=1,
        at_most=1000,
        added=True,
        group=NETWORK,
        help="Hops that a gpr weighs or a grand averages, besides a node itself, or steps of the walk of an appnp",
    )
    teleport: float = setting(
        0.1,
        at_least=0,
        at_most=1,
        added=True,
        group=NETWORK,
        help="Share of the first state in every step of an appnp or convolution of a gcn2, and of the node itself in "
        "the hop weights that a gpr starts from: a teleport probability",
    )
    propagation_dropout: float = setting(
        0.5,
        at_least=0,
        below=1,
        added=True,
        group=NETWORK,
        help="Dropout rate of the propagation matrix in each step of the walk of an appnp",
    )
    order: int = setting(
        2, at_least=1, at_most=100, added=True, group=NETWORK, help="Order of the largest polynomial of a chebyshev"
    )
    layers: int = setting(
        5,
        at_least=1,
        at_most=1000,
        added=True,
        group=NETWORK,
        help="Convolutions of a gcn2, or layers of routing of a disengcn",
    )
    layer_strength: float = setting(
        0.5,
        above=0,
        added=True,
        group=NETWORK,
        help="How far the convolutions of a gcn2 are from the identity: the share of the weights in the first is "
        "log(1 + this), and falls with every one",
    )
    layer_decay: float = setting(
        0.01, at_least=0, added=True, group=NETWORK, help="L2 penalty on the convolutions of a gcn2"
    )
    kernels: int = setting(
        3, at_least=1, at_most=1000, added=True, group=NETWORK, help="Gaussian kernels of a layer of a monet"
    )
    coordinates: int = setting(
        2,
        at_least=1,
        at_most=1000,
        added=True,
        group=NETWORK,
        help="Coordinates of an edge, of which the kernels of a monet are functions",
    )
    channels: int = setting(7, at_least=1, at_most=1000, added=True, group=NETWORK, help="Channels of a disengcn")
    routing_steps: int = setting(
        6,
        at_least=1,
        at_most=1000,
        added=True,
        group=NETWORK,
        help="How often a layer of a disengcn divides the neighbours between the channels anew",
    )
    node_dropout: float = setting(
        0.5, at_least=0, below=1, added=True, group=NETWORK, help="Share of the nodes that a grand leaves out of a pass"
    )
    batch_norm: bool = setting(
        False, added=True, group=NETWORK, help="Whether a grand normalises its inputs and hidden states over the nodes"
    )
    input_dropout_at: str = setting(
        "propagated",
        choices=("propagated", "features"),
        added=True,
        group=NETWORK,
        help="Whether dropout of the input of a grand drops its propagated features, or the features themselves, which "
        "is cheaper",
    )
    hop_weights: str = setting(
        "equal",
        choices=("equal", "learned"),
        added=True,
        group=NETWORK,
        help="Whether a grand averages its hops with equal weights or learns the weights",
    )
    bias: bool = setting(False, group=NETWORK, help="Whether the layers have biases")
    binarise: bool = setting(False, group=NETWORK, help="Whether features become 0 or 1 before rows are normalised")
