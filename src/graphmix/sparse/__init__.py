"""Products of sparse matrices with a trial axis, with dropout on the non-zeros."""

from graphmix.sparse.matrix import SparseMatrix
from graphmix.sparse.ops import distinct_rows, dropout, dropout_matmul, matmul, per_trial, rows

__all__ = ["SparseMatrix", "distinct_rows", "dropout", "dropout_matmul", "matmul", "per_trial", "rows"]
