"""Kernels compiled by numba are used where numba is, and only there."""

import subprocess
import sys

import numpy as np
import pytest
import torch

from graphmix.native import Kernel, native
from graphmix.streams import Purpose, Streams

numba = pytest.importorskip("numba")

MODULE = "graphmix.sparse.numba_ops"


@pytest.fixture(autouse=True)
def _forget():
    native.cache_clear()
    yield
    native.cache_clear()


def test_numba_is_used_if_it_is_installed():
    assert native(MODULE).__name__ == MODULE


def test_without_numba_there_are_no_kernels(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)
    assert native(MODULE) is None


def test_without_its_compiler_there_are_no_kernels(monkeypatch):
    monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)
    assert native(MODULE) is None


def test_a_cache_that_cannot_be_written_costs_only_time(monkeypatch):
    def fill(out):
        out[:] = 3

    kernel = Kernel(fill)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(kernel, "_compiled", full)
    out = np.zeros(2)
    kernel(out)
    assert out.tolist() == [3, 3]


def test_small_graphs_do_not_wait_for_numba():
    code = (
        "import sys, torch, scipy.sparse as sp\n"
        "from graphmix.sparse import SparseMatrix, matmul\n"
        "from graphmix.streams import Purpose, Streams\n"
        "matmul(SparseMatrix.from_scipy(sp.eye(100)), torch.ones(1, 100, 4))\n"
        "Streams.from_seeds([0]).at(Purpose.COIN).words(100)\n"
        "assert 'numba' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("count", [511, 512, 5000])
def test_random_words_are_the_same_bits_without_numba(count, monkeypatch):
    streams = Streams.from_seeds([0, 1, 2**40])
    fast = streams.at(Purpose.TARGET_DROPOUT, 77).words(count)
    monkeypatch.setattr("graphmix.streams.native", lambda name: None)
    assert torch.equal(streams.at(Purpose.TARGET_DROPOUT, 77).words(count), fast)
