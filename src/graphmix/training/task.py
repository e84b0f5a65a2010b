"""A graph and a split, prepared for training a batch of trials."""

import itertools
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import torch
import torch.nn.functional as F
from torch import Tensor

from graphmix.data import Graph, Split, binarise, row_normalise
from graphmix.errors import ConfigError, DataError
from graphmix.method import class_weights
from graphmix.models.registry import BACKBONES, CUSTOM, NETWORKS, backbone_class
from graphmix.sparse import PickedRows, SparseMatrix, distinct_rows, rows
from graphmix.training.config import LAST, Config
from graphmix.training.devices import check_memory
from graphmix.training.methods import METHODS
from graphmix.training.parts import Parts
from graphmix.training.reach import Reach


def prepare(graph: Graph, config: Config) -> Graph:
    """Return the graph with its features in the form that the run trains on."""
    return replace(graph, x=row_normalise(binarise(graph.x))) if config.binarise else graph


def check_given(graph: object, split: object) -> None:
    """Raise DataError unless these are a graph and a split."""
    if not isinstance(graph, Graph):
        built = "graphmix.Graph.build(data.x, data.edge_index, data.y)"
        raise DataError(f"training needs a graphmix.Graph, not {type(graph).__name__}; for PyG's Data: {built}")
    if not isinstance(split, Split):
        built = "graphmix.Split.build(train, val, test)"
        raise DataError(f"training needs a graphmix.Split, not {type(split).__name__}; for masks: {built}")


def check_edge_weights(graph: Graph, config: Config) -> None:
    """Raise ConfigError if the graph has edge weights and the network, trained on the graph, does not use them.

    A custom model is checked when it is built.
    """
    if graph.edge_weights is not None and not METHODS[config.method].uses_edge_weights:
        raise ConfigError(f"{config.method} does not use edge weights; leave them out, or choose another `method`")
    if graph.edge_weights is None or not config.trains_gnn or config.backbone == CUSTOM:
        return
    if NETWORKS[config.backbone].uses_edge_weights:
        return
    able = [name for name in BACKBONES if NETWORKS[name].uses_edge_weights]
    raise ConfigError(
        f"edge weights are used by {', '.join(able[:-1])} and {able[-1]} only, not by {config.backbone}; choose one of "
        "them as `backbone`, or leave the edge weights out"
    )


@dataclass(frozen=True, eq=False)
class Picks:
    """Some nodes of each trial, as a rectangle: trials with fewer nodes are padded with nodes of weight 0.

    Attributes:
        index: int64 `[trials or 1, picks]`; 1 if all trials share one split.
        count: int64 `[trials or 1]`, how many are real.
        weight: float32 `[trials or 1, picks]`, 1 / count for real nodes, 0 for padding.
        labels: int64 `[trials or 1, picks]`, -1 for padding.
        distinct: whether a trial's nodes are all different.
    """

    index: Tensor
    count: Tensor
    weight: Tensor
    labels: Tensor
    distinct: bool = True

    @classmethod
    def build(cls, mask: Tensor, y: Tensor, trials: Tensor | None = None) -> Self:
        """List the True entries of a mask `[trials or 1, nodes]`, all or of some trials.

        The lists are as long as the longest of all trials, so that sums over them do not depend on which are listed.
        """
        count = mask.sum(dim=1)
        picks = max(1, int(count.max()))
        if trials is not None:
            mask, count = mask[trials], count[trials]
        # A stable sort of "not picked" lists the picked nodes first, in order.
        index = (~mask).to(torch.uint8).argsort(dim=1, stable=True)[:, :picks]
        real = torch.arange(picks, device=mask.device) < count[:, None]
        return cls(index, count, real / count.clamp_min(1)[:, None], torch.where(real, y[index], -1))

    def select(self, trials: Tensor) -> "Picks":
        """Keep only the given trials."""
        if self.index.shape[0] == 1:
            return self
        return Picks(self.index[trials], self.count[trials], self.weight[trials], self.labels[trials], self.distinct)

    def of(self, values: Tensor, copies: int = 1) -> Tensor:
        """Pick these nodes from values `[trials * copies, nodes, width]`: `[trials * copies, picks, width]`."""
        index = self.index if self.index.shape[0] == 1 else self.index.repeat_interleave(copies, dim=0)
        pick = distinct_rows if self.distinct else rows
        return pick(values, index.expand(values.shape[0], -1))


@dataclass(frozen=True, eq=False)
class JudgedNodes:
    """Several lists of nodes, one after the other; the first three are as in `Picks`.

    Attributes:
        index: int64 `[trials or 1, picks]`.
        labels: int64 `[trials or 1, picks]`.
        weight: float32 `[trials or 1, picks]`.
        bounds: int64 `[lists + 1]`, where each list begins, and the last one ends.
        counts: int64 `[lists, trials or 1]`, how many nodes of each are real.
    """

    index: Tensor
    labels: Tensor
    weight: Tensor
    bounds: Tensor
    counts: Tensor


@dataclass(frozen=True, eq=False)
class Task:
    """What a step of training needs, on the device it runs on.

    Attributes:
        x: features `[nodes, features]`, shared by all trials.
        graph: the graph.
        null: the graph without its edges.
        judged: the graph on which the method predicts and is evaluated: `null` for an FCN, else `graph`.
        labeled: nodes whose labels are trained on.
        unlabeled: all other nodes.
        val: validation nodes.
        test: test nodes.
        targets: one-hot labels of the labeled nodes, times the class's weight if classes are weighted:
            `[trials or 1, labeled, classes]`.
        label_shares: the share of each class in the loss on all labels: `[trials or 1, classes]`, rows sum to 1.
        class_weights: `[trials or 1, classes]`; None if labels count alike.
        labeled_rows: the features of all nodes that are labeled in some trial, and where `labeled` is among them.
        reach: what the labeled nodes' logits depend on; None if that is most of the graph, or if the network or the
            trial decides what it is.
        parts: what steps train on instead of the whole graph, with mini-batches; None for full batches.
    """

    x: SparseMatrix | Tensor
    graph: Graph
    null: Graph
    judged: Graph
    labeled: Picks
    unlabeled: Picks
    val: Picks
    test: Picks
    targets: Tensor
    label_shares: Tensor
    class_weights: Tensor | None
    labeled_rows: tuple[SparseMatrix | Tensor, Picks]
    reach: Reach | None = None
    parts: Parts | None = None

    @classmethod
    def build(cls, graph: Graph, split: Split, config: Config, device: torch.device | str = "cpu") -> Self:
        """Check that the split fits the graph, prepare the features, and move everything to the device."""
        check_given(graph, split)
        split.check(graph)
        splits = split.train.shape[0]
        if splits not in (1, config.trials):
            raise ConfigError(
                f"the split has masks for {splits} trials, but `trials` is {config.trials}; make them equal"
            )
        if config.select_by != LAST and not split.has_validation:
            raise ConfigError(
                f"the split has no validation nodes to choose the epoch by; give it some, or set `select_by='{LAST}'` "
                "to keep the last epoch"
            )
        check_edge_weights(graph, config)
        check_memory(graph, config, torch.device(device), shared_split=splits == 1)
        return cls.of_masks(graph, config, device, train=split.train, val=split.val, test=split.test)

    @classmethod
    def of_masks(
        cls, graph: Graph, config: Config, device: torch.device | str, *, train: Tensor, val: Tensor, test: Tensor
    ) -> Self:
        """Prepare a graph for training on the nodes of masks, bool `[trials or 1, nodes]`.

        All but `train` may be empty. They are not checked: `build` checks those of a split.
        """
        graph = prepare(graph, config).to(device)
        train, val, test = (mask.to(device) for mask in (train, val, test))
        task = cls._of_prepared(graph, config, train, ~train, val, test)
        if config.batch_nodes > 0:
            return replace(task, parts=Parts.of(graph, train, config))
        return replace(task, reach=_reach(graph, task.labeled, config))

    def at(self, epoch: int | Tensor, config: Config) -> "Task":
        """What the step of an epoch trains on: this task, or with mini-batches a part of it, without other nodes."""
        if self.parts is None:
            return self
        part = self.parts.at(int(epoch))
        none = torch.zeros_like(part.train[:1])
        task = self._of_prepared(part.graph, config, part.train, part.unlabeled, none, none, self.parts.trials)
        # Of the whole split: a class without a label in this part is still a class.
        targets = _label_targets(task.labeled.labels, part.graph.num_classes, self.class_weights)
        return replace(task, targets=targets, label_shares=self.label_shares, class_weights=self.class_weights)

    @classmethod
    def _of_prepared(
        cls,
        graph: Graph,
        config: Config,
        train: Tensor,
        unlabeled: Tensor,
        val: Tensor,
        test: Tensor,
        trials: Tensor | None = None,
    ) -> Self:
        labeled = Picks.build(train, graph.y, trials)
        rows = train.any(dim=0).nonzero()[:, 0]
        # A part may have no label of these trials. Then any row will do, since its weight is 0.
        rows = rows if len(rows) > 0 else rows.new_zeros(1)
        weights = class_weights(labeled.labels, graph.num_classes) if config.class_weight != "none" else None
        targets = _label_targets(labeled.labels, graph.num_classes, weights)
        place = torch.zeros(graph.num_nodes, dtype=torch.int64, device=rows.device)
        place[rows] = torch.arange(len(rows), device=rows.device)
        return cls(
            x=graph.x,
            graph=graph,
            null=graph.null(),
            judged=graph if config.predicts_with_gnn else graph.null(),
            labeled=labeled,
            # Training must not see their labels.
            unlabeled=Picks.build(unlabeled, torch.full_like(graph.y, -1), trials),
            val=Picks.build(val, graph.y),
            test=Picks.build(test, graph.y),
            targets=targets,
            label_shares=_label_shares(targets, labeled),
            class_weights=weights,
            # Padding repeats a node.
            labeled_rows=(_rows(graph.x, rows), replace(labeled, index=place[labeled.index], distinct=False)),
        )

    @property
    def device(self) -> torch.device:
        """The device that training runs on."""
        return self.graph.y.device

    @cached_property
    def judged_nodes(self) -> "JudgedNodes":
        """Labeled, validation and test nodes as one list."""
        parts = (self.labeled, self.val, self.test)
        splits = max(nodes.index.shape[0] for nodes in parts)
        index, labels, weight = (
            torch.cat([getattr(nodes, name).expand(splits, -1) for nodes in parts], dim=1).contiguous()
            for name in ("index", "labels", "weight")
        )
        bounds = list(itertools.accumulate((nodes.index.shape[1] for nodes in parts), initial=0))
        counts = torch.stack([nodes.count.expand(splits) for nodes in parts])
        return JudgedNodes(index, labels, weight, torch.tensor(bounds, device=self.device), counts)

    def select(self, trials: Tensor) -> "Task":
        """Keep only the given trials; nothing is copied if all trials share one split."""
        if self.labeled.index.shape[0] == 1:
            return self
        picks = {name: getattr(self, name).select(trials) for name in ("labeled", "unlabeled", "val", "test")}
        x, nodes = self.labeled_rows
        parts = None if self.parts is None else self.parts.select(trials)
        return replace(
            self,
            targets=self.targets[trials],
            label_shares=self.label_shares[trials],
            class_weights=None if self.class_weights is None else self.class_weights[trials],
            labeled_rows=(x, nodes.select(trials)),
            parts=parts,
            **picks,
        )


def _rows(x: SparseMatrix | Tensor, rows: Tensor) -> SparseMatrix | Tensor:
    """Return some rows of features, int64 `[rows]`."""
    return x[rows] if isinstance(x, Tensor) else PickedRows.of(x, rows)


def _reach(graph: Graph, labeled: Picks, config: Config) -> Reach | None:
    if METHODS[config.method].rule is not None:
        return None
    if labeled.index.shape[0] > 1 or config.backbone == CUSTOM or not config.trains_gnn:
        return None
    if not backbone_class(config.backbone).reads_hops or config.hidden_dropout > 0:
        return None
    return Reach.find(graph, labeled.index[0], dropout=config.input_dropout > 0)


def _label_targets(labels: Tensor, classes: int, weights: Tensor | None) -> Tensor:
    # Padding may have the label -1. Its weight is 0, so any class will do.
    one_hot = F.one_hot(labels.clamp_min(0), classes).float()
    # Applied to the targets, not to the nodes' weights, so that mixing two nodes mixes the weights of their classes.
    return one_hot if weights is None else one_hot * weights[:, None]


def _label_shares(targets: Tensor, labeled: Picks) -> Tensor:
    counted = (targets * labeled.weight[..., None]).sum(dim=1)
    return counted / counted.sum(dim=1, keepdim=True)
