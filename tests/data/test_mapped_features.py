"""Features that stay in a file: a graph reads the rows that it needs."""

import errno
import os
import tempfile

import numpy as np
import pytest
import torch

from graphmix import Config, DataError, Graph, fit, synthetic
from graphmix.data import checks
from graphmix.tables import spilling
from graphmix.tables.spilling import new_floats


@pytest.fixture
def graphs(tmp_path):
    """The same graph with features in memory, and mapped from a file that cannot be written."""
    graph, split = synthetic(nodes=150, features=12, seed=2)
    x = graph.x.to_dense().numpy()
    np.save(tmp_path / "x.npy", x)
    held = np.load(tmp_path / "x.npy", mmap_mode="r")
    made = [Graph.build(each, graph.edge_index, graph.y, normalise=False) for each in (x, held)]
    return (*made, held, split)


def test_they_are_not_copied(graphs, recwarn):
    memory, mapped, held, _ = graphs
    assert mapped.x.data_ptr() == held.ctypes.data
    assert memory.x.data_ptr() != held.ctypes.data
    assert torch.equal(memory.x, mapped.x)
    assert not [warning for warning in recwarn if "writable" in str(warning.message)]


def test_mini_batches_of_them_train_the_same_networks(graphs):
    memory, mapped, _, split = graphs
    config = Config.for_dataset("", trials=2, hidden=8, epochs=4, batch_nodes=40, batch_fanout=3)
    one, other = (fit(graph, split, config, device="cpu") for graph in (memory, mapped))
    assert all(torch.equal(one.weights[name], other.weights[name]) for name in one.weights)


def test_other_types_are_converted_and_checked(tmp_path, monkeypatch):
    monkeypatch.setattr(checks, "_CHECKED", 4)
    for dtype in (np.float64, np.float32):
        np.save(tmp_path / "x.npy", np.array([[1, 2], [3, 4], [5, np.nan]], dtype=dtype))
        with pytest.raises(DataError, match="feature 1 of node 2 is nan"):
            Graph.build(np.load(tmp_path / "x.npy", mmap_mode="r"), [[0], [1]], [0, 1, 0], normalise=False)


def test_an_array_that_is_much_of_the_memory_goes_into_a_file(monkeypatch):
    assert not isinstance(new_floats((10, 3)), np.memmap)
    monkeypatch.setattr(spilling, "available_memory", lambda: 4 * 119)
    mapped = new_floats((10, 3))
    assert isinstance(mapped, np.memmap)
    assert (mapped.shape, mapped.dtype, mapped.flags.writeable) == ((10, 3), np.float32, True)
    mapped[:] = 2
    assert mapped.sum() == 60
    monkeypatch.setattr(spilling, "available_memory", lambda: 4 * 120)
    assert not isinstance(new_floats((10, 3)), np.memmap)


def test_the_room_of_such_a_file_is_reserved(monkeypatch):
    make, handles = tempfile.TemporaryFile, []

    def remembered(**options):
        file = make(**options)
        handles.append(os.dup(file.fileno()))
        return file

    monkeypatch.setattr(spilling, "available_memory", lambda: 0)
    monkeypatch.setattr(tempfile, "TemporaryFile", remembered)
    new_floats((2**18, 1))
    assert os.fstat(handles[0]).st_blocks * 512 >= 2**20
    os.close(handles[0])


def test_a_full_disk_is_said_before_the_file_is_used(monkeypatch, tmp_path):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(spilling, "available_memory", lambda: 0)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(DataError, match=f"{tmp_path} cannot hold a file of .* No space left.* TMPDIR"):
        new_floats((2**18, 1))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    with pytest.raises(DataError, match="missing cannot hold"):
        new_floats((2**18, 1))


def test_a_file_system_that_cannot_reserve_is_used_as_it_is(monkeypatch):
    def unsupported(*_):
        raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))

    monkeypatch.setattr(spilling, "available_memory", lambda: 0)
    monkeypatch.setattr(os, "posix_fallocate", unsupported)
    assert isinstance(new_floats((10, 3)), np.memmap)
