"""Training: Algorithm 1, its hyperparameters, and the loop around it."""

from typing import TYPE_CHECKING

from graphmix.lazy import attach

if TYPE_CHECKING:
    from graphmix.training.batch import build_model, build_optimizer, evaluate
    from graphmix.training.config import Config
    from graphmix.training.loop import Fit, Progress, fit
    from graphmix.training.step import Moment, fcn_loss, gnn_loss, predict_targets, step_loss
    from graphmix.training.task import Task

__all__ = [
    "Config",
    "Fit",
    "Moment",
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

__getattr__, __dir__ = attach(
    __name__,
    {
        "graphmix.training.batch": "build_model build_optimizer evaluate",
        "graphmix.training.config": "Config",
        "graphmix.training.loop": "Fit Progress fit",
        "graphmix.training.step": "Moment fcn_loss gnn_loss predict_targets step_loss",
        "graphmix.training.task": "Task",
    },
)
