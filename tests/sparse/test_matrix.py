"""What int32 positions cannot address is refused with a sentence, never wrapped."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from graphmix.errors import ConfigError, DataError
from graphmix.sparse import Neighbours, SparseMatrix, attend, attention, matrix

SMALL = sp.csr_array(np.eye(4, dtype=np.float32))


def claims(nonzeros, shape=(2, 2)):
    """A matrix of so many non-zeros that takes no memory: all of them are one number."""
    return SparseMatrix(torch.zeros(shape[0] + 1, dtype=torch.int32), *_repeated(nonzeros), shape)


def _repeated(count):
    return torch.zeros(1, dtype=torch.int32).expand(count), torch.zeros(1).expand(count)


def test_a_column_beyond_32_bits_is_refused():
    far = sp.coo_array(([1.0], ([0], [2**31])), shape=(1, 2**31 + 1))
    with pytest.raises(DataError, match="2,147,483,649 columns"):
        SparseMatrix.from_scipy(far)


def test_too_many_nonzeros_are_refused():
    with pytest.raises(DataError, match="2,147,483,648 non-zeros"):
        claims(2**31)
    with pytest.raises(DataError, match="rows"):
        matrix.check_size((2**31, 2), 5)
    assert claims(matrix.MOST_NONZEROS).nonzeros < 2**31


def test_from_scipy_counts_what_is_left_of_repeats(monkeypatch):
    monkeypatch.setattr(matrix, "MOST_NONZEROS", 4)
    assert SparseMatrix.from_scipy(SMALL).nonzeros == 4
    repeated = sp.coo_array((np.ones(9), (np.zeros(9, int), np.zeros(9, int))), shape=(2, 2))
    assert SparseMatrix.from_scipy(repeated).nonzeros == 1
    with pytest.raises(DataError, match="5 non-zeros"):
        SparseMatrix.from_scipy(sp.csr_array(np.array([[1.0, 1, 1], [1, 1, 0]])))


def test_too_many_copies_are_refused():
    large = claims(2**30)
    with pytest.raises(ConfigError, match="`chunk`"):
        large.tiled(2)
    # 32 copies have just below 2^31 non-zeros, and 2^31 dropout bits.
    with pytest.raises(ConfigError, match="`chunk`"):
        claims(2**26 - 1).tiled(32)


def test_too_many_attention_weights_are_refused(monkeypatch):
    neighbours = Neighbours(SparseMatrix.from_scipy(SMALL))
    scores, values = torch.zeros(1, 4, 2), torch.zeros(1, 4, 2, 3)
    assert attend(neighbours, scores, scores, values, 0.2).shape == (1, 4, 2, 3)
    monkeypatch.setattr(attention, "MOST_NONZEROS", 7)
    with pytest.raises(ConfigError, match="`heads`"):
        attend(neighbours, scores, scores, values, 0.2)
