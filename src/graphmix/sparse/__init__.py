"""Products of sparse matrices with a trial axis, with dropout on the non-zeros."""

from graphmix.sparse.matrix import SparseMatrix
from graphmix.sparse.ops import dropout, dropout_matmul, matmul, per_trial, rows

__all__ = ["SparseMatrix", "dropout", "dropout_matmul", "matmul", "per_trial", "rows"]
