"""The paper, one short function per equation: torch in, torch out, no data and no models."""

from graphmix.method.losses import LOSSES, cross_entropy
from graphmix.method.metrics import accuracy, f1
from graphmix.method.mixing import draw_lambda, draw_partners, draw_positions, mix
from graphmix.method.schedule import ramp_up
from graphmix.method.softmax import log_softmax, softmax
from graphmix.method.targets import sharpen

__all__ = [
    "LOSSES",
    "accuracy",
    "cross_entropy",
    "draw_lambda",
    "draw_partners",
    "draw_positions",
    "f1",
    "log_softmax",
    "mix",
    "ramp_up",
    "sharpen",
    "softmax",
]
