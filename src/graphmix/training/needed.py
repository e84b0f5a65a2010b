"""Losses on labels read only the rows they depend on. Random numbers belong to places in the whole, so none changes."""

from typing import cast

from torch import Tensor

from graphmix.models import Backbone
from graphmix.models.backbone import GraphLike
from graphmix.sparse import PickedRows, SparseMatrix
from graphmix.streams import Noise
from graphmix.training.task import Picks, Task


def label_logits(model: Backbone, task: Task, noise: Noise) -> Tensor:
    """The GNN's logits of the labeled nodes: `[trials, labeled, classes]`."""
    reach = task.reach
    # Dropout of hidden states belongs to places among all nodes.
    if reach is None or not model.reads_hops or model.hidden_dropout > 0:
        return task.labeled.of(model(task.x, task.graph, noise))
    outer, inner = (cast(GraphLike, hop) for hop in (reach.outer, reach.inner))
    return model.decode(model.encode(reach.x, outer, noise), inner, noise)


def reads_labeled_rows(model: Backbone, task: Task) -> bool:
    """Whether the FCN, which is node-wise, can read the rows of labeled nodes alone.

    Dropout of dense features belongs to places among all rows.
    """
    return model.reads_rows and (model.input_dropout == 0 or isinstance(task.labeled_rows[0], PickedRows))


def labeled_rows(model: Backbone, task: Task) -> tuple[SparseMatrix | Tensor, Picks]:
    """Return the features that the FCN reads for a loss on labels alone, and where the labeled nodes are among them."""
    return task.labeled_rows if reads_labeled_rows(model, task) else (task.x, task.labeled)
