"""Products of sparse matrices with a trial axis, with dropout on the non-zeros."""

from graphmix.sparse.attention import Neighbours, attend
from graphmix.sparse.edges import at_edges, attend_by, compare, weigh
from graphmix.sparse.fused import mean_predictions
from graphmix.sparse.matrix import Chain, SparseMatrix
from graphmix.sparse.one_pass import PASSES, fuses, two_layers
from graphmix.sparse.ops import dropout, dropout_matmul, matmul, per_trial, product
from graphmix.sparse.picked import PickedRows, picked_dropout_matmul
from graphmix.sparse.powers import sum_of_powers
from graphmix.sparse.rows import distinct_rows, mixed_rows, rows
from graphmix.sparse.thinned import Thinned, propagate

__all__ = [
    "PASSES",
    "Chain",
    "Neighbours",
    "PickedRows",
    "SparseMatrix",
    "Thinned",
    "at_edges",
    "attend",
    "attend_by",
    "compare",
    "distinct_rows",
    "dropout",
    "dropout_matmul",
    "fuses",
    "matmul",
    "mean_predictions",
    "mixed_rows",
    "per_trial",
    "picked_dropout_matmul",
    "product",
    "propagate",
    "rows",
    "sum_of_powers",
    "two_layers",
    "weigh",
]
