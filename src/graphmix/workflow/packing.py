"""A problem and held-out predictions as tensors by name, and back."""

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from graphmix.data import Split
from graphmix.data.dual_graph import SharedEnds
from graphmix.errors import DataError
from graphmix.evaluation.heldout import HeldOut
from graphmix.storage.graphs import pack_csr, pack_graph, unpack_csr, unpack_graph
from graphmix.tables import Encoders, Structural
from graphmix.tables.stored import is_text, real, text
from graphmix.workflow.problem import LINKS, NODES, Columns, Problem

_ROLES = ("train", "val", "test")


def pack_problem(problem: Problem) -> dict[str, Tensor]:
    """The graph and its split as tensors."""
    packed = pack_graph(problem.graph)
    if problem.user_x is not None:
        packed |= pack_csr("users", problem.user_x)
    if problem.split is not None:
        packed |= {role: getattr(problem.split, role) for role in _ROLES}
    return packed


def unpack_problem(described: dict[str, Any], packed: dict[str, Tensor], made_by: Any, ids: Any) -> Problem:
    """Put a problem together from what a folder holds, checking it as if it were new.

    Raises:
        KeyError: something is missing.
        ValueError: something is of the wrong kind or size.
        TypeError: likewise.
        GraphMixError: the graph is none.
    """
    classes, task = described["classes"], described["task"]
    names = ids["ids"]
    if task not in (NODES, LINKS) or not _are_names(classes) or not _are_names(names):
        raise ValueError("the task, the classes or the ids are none")
    graph = unpack_graph(packed, tuple(classes), text(described, "name"))
    if isinstance(graph.structure, SharedEnds) != (task == LINKS):
        raise ValueError("the graph is not of its task")
    if isinstance(graph.structure, SharedEnds):
        if int(graph.structure.ends.max()) >= len(names):
            raise ValueError("the ends of the links are none")
    elif len(names) != graph.num_nodes:
        raise ValueError(f"there are {len(names)} ids for {graph.num_nodes} nodes")
    split = None
    if described["split"] is not None:
        split = Split.build(packed["train"], packed["val"], packed["test"], text(described, "split"))
        split.check(graph)
    encoders, link_encoders = (
        None if made_by[name] is None else Encoders.from_json(made_by[name]) for name in ("encoders", "link_encoders")
    )
    structural = None if made_by["structural"] is None else Structural.from_json(made_by["structural"])
    scale = None if described["weight_scale"] is None else share(described, "weight_scale", math.inf)
    return Problem(
        task,
        graph,
        split,
        names,
        encoders,
        structural,
        scale,
        (),
        link_encoders,
        unpack_csr("users", packed) if "users.shape" in packed else None,
        Columns.from_json(described["columns"]),
    )


def share(described: dict[str, Any], name: str, most: float = 1.0) -> float:
    """Return a number of a description that is above 0 and below another.

    Raises:
        GraphMixError: it is none.
    """
    value = real(described, name)
    if not 0 < value < most:
        raise DataError(f"{name} is {value}")
    return value


def _are_names(value: Any) -> bool:
    """Whether a value is a list of different texts."""
    return isinstance(value, list) and all(map(is_text, value)) and len(set(value)) == len(value)


def pack_held(held: dict[str, HeldOut]) -> dict[str, Tensor]:
    """Held-out predictions by method as tensors; all methods have the same nodes."""
    some = next(iter(held.values()))
    packed = {"nodes": torch.from_numpy(some.nodes), "labels": torch.from_numpy(some.labels)}
    for method, predictions in held.items():
        packed[f"{method}.probabilities"] = torch.from_numpy(predictions.probabilities)
        packed[f"{method}.right"] = torch.from_numpy(predictions.right)
    return packed


def unpack_held(packed: dict[str, Tensor], classes: int) -> dict[str, HeldOut]:
    """Held-out predictions by method.

    Raises:
        KeyError: something is missing.
        ValueError: something is of the wrong size, or no probability.
    """
    nodes, labels = (packed[name].numpy().astype(np.int64) for name in ("nodes", "labels"))
    held = {}
    for name, tensor in packed.items():
        method, _, what = name.rpartition(".")
        if what != "probabilities":
            continue
        probabilities, right = tensor.double().numpy(), packed[f"{method}.right"].double().numpy()
        if probabilities.shape != (len(nodes), classes) or right.shape != nodes.shape or labels.shape != nodes.shape:
            raise ValueError("the held-out predictions do not fit together")
        if not (np.isfinite(probabilities).all() and (labels >= 0).all() and (labels < classes).all()):
            raise ValueError("the held-out predictions are no probabilities")
        held[method] = HeldOut(nodes, labels, probabilities, right)
    return held
