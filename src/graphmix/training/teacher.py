"""A teacher whose weights are an exponential moving average of the trained ones (Tarvainen and Valpola, 2017)."""

from dataclasses import replace

import torch
from torch import Tensor

from graphmix.models import Backbone
from graphmix.training.config import Config


class Teacher:
    """Networks with averaged weights, one per trial; the tensors stay in place, so that epochs can be captured.

    Attributes:
        model: the networks.
    """

    def __init__(self, model: Backbone, config: Config):
        averages = {name: weight.detach().clone() for name, weight in model.weights.items()}
        self.model = replace(model, weights=averages)
        self._decay = config.teacher_decay

    @torch.no_grad()
    def follow(self, model: Backbone, epoch: Tensor) -> None:
        """Take the weights after a step into the average: θ' = d θ' + (1 - d) θ, with d = min(decay, t / (t + 1)).

        So the first averages are plain means, and do not remember the initial weights. t counts steps from 0; the
        epoch is int64 `[1]`.
        """
        decay = (epoch / (epoch + 1)).clamp_max(self._decay)
        # Product and sum by themselves: a fused operation may round differently at the end of a tensor.
        for name, average in self.model.weights.items():
            average.mul_(decay).add_(model.weights[name] * (1 - decay))
