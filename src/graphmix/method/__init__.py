"""The paper, one short function per equation: torch in, torch out, no data and no models."""

from graphmix.method.balance import balance_targets, class_weights
from graphmix.method.losses import LOSSES, Loss, cross_entropy, label_loss
from graphmix.method.metrics import accuracy, confusion, f1, reliability
from graphmix.method.mixing import draw_lambda, draw_partners, draw_positions, mix
from graphmix.method.schedule import ramp_up
from graphmix.method.softmax import log_softmax, softmax
from graphmix.method.targets import align, sharpen

__all__ = [
    "LOSSES",
    "Loss",
    "accuracy",
    "align",
    "balance_targets",
    "class_weights",
    "confusion",
    "cross_entropy",
    "draw_lambda",
    "draw_partners",
    "draw_positions",
    "f1",
    "label_loss",
    "log_softmax",
    "mix",
    "ramp_up",
    "reliability",
    "sharpen",
    "softmax",
]
