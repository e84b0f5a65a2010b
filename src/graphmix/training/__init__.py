"""Algorithm 1 and what drives it."""

from graphmix.training.config import Config
from graphmix.training.loop import Fit, Progress, build_model, build_optimizer, evaluate, fit
from graphmix.training.step import fcn_loss, gnn_loss, predict_targets, step_loss
from graphmix.training.task import Task

__all__ = [
    "Config",
    "Fit",
    "Progress",
    "Task",
    "build_model",
    "build_optimizer",
    "evaluate",
    "fcn_loss",
    "fit",
    "gnn_loss",
    "predict_targets",
    "step_loss",
]
