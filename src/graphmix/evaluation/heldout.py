"""Held-out predictions: labeled nodes, predicted by networks that did not train on their labels."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Predictions of labeled nodes from other labels. Methods are compared and calibrated by them.

    Attributes:
        nodes: int64 `[held]`, the nodes in increasing order.
        labels: int64 `[held]`, their classes.
        probabilities: float64 `[held, classes]`, rows sum to 1.
        right: float64 `[held]`, 1 where that mean is largest for the label, else 0.
    """

    nodes: NDArray[np.int64]
    labels: NDArray[np.int64]
    probabilities: NDArray[np.float64]
    right: NDArray[np.float64]

    @property
    def predicted(self) -> NDArray[np.int64]:
        """The most probable class: int64 `[held]`."""
        predicted: NDArray[np.int64] = self.probabilities.argmax(axis=1)
        return predicted


def held_out(nodes: NDArray[np.int64], probabilities: NDArray[np.float64], y: Tensor) -> HeldOut:
    """Put together held-out predictions.

    Args:
        nodes: int64 `[held]`, in increasing order.
        probabilities: float64 `[held, classes]`, rows sum to 1.
        y: int64 `[nodes]`, the labels of all nodes.
    """
    labels = y.cpu().numpy()[nodes]
    return HeldOut(nodes, labels, probabilities, (probabilities.argmax(axis=1) == labels).astype(np.float64))


def ensemble(probabilities: Tensor) -> NDArray[np.float64]:
    """Average trials `[trials, nodes, classes]`: float64 `[nodes, classes]`, rows sum to 1."""
    total = torch.zeros(probabilities.shape[1:], dtype=torch.float64)
    for trial in probabilities:  # one by one: all trials at once in float64 take much memory
        total += trial
    mean: NDArray[np.float64] = (total / total.sum(dim=1, keepdim=True)).numpy()
    return mean


def pack_held(held: dict[str, HeldOut]) -> dict[str, Tensor]:
    """Return held-out predictions by name as tensors; all must be of the same nodes."""
    some = next(iter(held.values()))
    packed = {"nodes": torch.from_numpy(some.nodes), "labels": torch.from_numpy(some.labels)}
    for name, predictions in held.items():
        # Copies: two names may stand for the same predictions, and files hold no tensor twice.
        packed[f"{name}.probabilities"] = torch.tensor(predictions.probabilities)
        packed[f"{name}.right"] = torch.tensor(predictions.right)
    return packed


def unpack_held(packed: dict[str, Tensor], classes: int) -> dict[str, HeldOut]:
    """Read back what `pack_held` returned.

    Raises:
        KeyError: a tensor is missing.
        ValueError: a tensor has another size, or does not hold probabilities.
    """
    nodes, labels = (packed[name].numpy().astype(np.int64) for name in ("nodes", "labels"))
    held = {}
    for key, tensor in packed.items():
        name, _, what = key.rpartition(".")
        if what != "probabilities":
            continue
        probabilities, right = tensor.double().numpy(), packed[f"{name}.right"].double().numpy()
        if probabilities.shape != (len(nodes), classes) or right.shape != nodes.shape or labels.shape != nodes.shape:
            raise ValueError("the sizes of the held-out predictions do not match")
        if not (np.isfinite(probabilities).all() and (labels >= 0).all() and (labels < classes).all()):
            raise ValueError("the held-out predictions are not probabilities of known classes")
        held[name] = HeldOut(nodes, labels, probabilities, right)
    return held
