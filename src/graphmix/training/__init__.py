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
        "Config": "graphmix.training.config",
        "Fit": "graphmix.training.loop",
        "Moment": "graphmix.training.step",
        "Progress": "graphmix.training.loop",
        "Task": "graphmix.training.task",
        "build_model": "graphmix.training.batch",
        "build_optimizer": "graphmix.training.batch",
        "evaluate": "graphmix.training.batch",
        "fcn_loss": "graphmix.training.step",
        "fit": "graphmix.training.loop",
        "gnn_loss": "graphmix.training.step",
        "predict_targets": "graphmix.training.step",
        "step_loss": "graphmix.training.step",
    },
)
