"""The Planetoid files: a toy dataset read by hand, the pickles that are refused, and the real ones."""

import io
import os
import pickle
import shutil
import warnings
from collections import defaultdict

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from graphmix.data import load
from graphmix.data.datasets import file_sets, planetoid, sources
from graphmix.errors import DataError

REAL = {"cora": file_sets.CORA, "citeseer": file_sets.CITESEER, "pubmed": file_sets.PUBMED}


def toy_files():
    """Six nodes: two training nodes, one more, and a test range 3 to 5 without node 4, out of order."""
    allx, tx = np.array([[1.0, 0], [0, 2], [3, 0]]), np.array([[0, 5.0], [4, 0]])
    ally, ty = np.array([[1, 0], [0, 1], [0, 1]]), np.array([[0, 1], [1, 0]])
    parts = {
        "allx": sp.csr_matrix(allx),
        "tx": sp.csr_matrix(tx),
        "x": sp.csr_matrix(allx[:2]),
        "ally": ally,
        "ty": ty,
        "y": ally[:2],
        "graph": defaultdict(list, {0: [1, 1], 1: [0], 2: [2], 3: [5], 5: [3]}),
    }
    files = {f"ind.toy.{name}": pickle.dumps(part, protocol=2) for name, part in parts.items()}
    return files | {"ind.toy.test.index": b"5\n3\n"}


def test_rows_of_the_test_range_go_where_the_index_says():
    raw = planetoid.parse(toy_files())
    assert raw.x.toarray().tolist() == [[1, 0], [0, 2], [3, 0], [4, 0], [0, 0], [0, 5]]
    assert raw.y.tolist() == [0, 1, 1, 0, -1, 1]
    assert raw.edges.tolist() == [[0, 0, 1, 2, 3, 5], [1, 1, 0, 2, 5, 3]]
    assert np.flatnonzero(raw.train).tolist() == [0, 1]
    assert np.flatnonzero(raw.test).tolist() == [3, 5]


class Attack:
    def __init__(self, call, *arguments):
        self.call, self.arguments = call, arguments

    def __reduce__(self):
        return self.call, self.arguments


@pytest.mark.parametrize("part", ["y", "ally", "ty", "allx", "tx", "graph"])
def test_a_pickle_that_calls_something_is_refused_and_nothing_runs(tmp_path, part):
    trace = tmp_path / "trace"
    evil = pickle.dumps(Attack(os.mkdir, str(trace)), protocol=2)
    with pytest.raises(DataError, match=r"cannot be read: (posix|nt)\.mkdir is not allowed"):
        planetoid.parse(toy_files() | {f"ind.toy.{part}": evil})
    assert not trace.exists()


@pytest.mark.parametrize(
    "attack",
    [
        Attack(eval, "1"),
        Attack(getattr, [], "append"),
        Attack(io.open, "x"),
        Attack(np.load, "x"),
        Attack(__import__, "os"),
    ],
)
def test_nothing_outside_the_list_can_be_named(attack):
    with pytest.raises(DataError, match="is not allowed"):
        planetoid._unpickle(pickle.dumps(attack))


@pytest.mark.parametrize(
    "content",
    [b"", b"\x80\x02", b"not a pickle", b"c_codecs\nencode\n(X\x01\x00\x00\x00aX\x03\x00\x00\x00hextR."],
)
def test_garbage_is_a_data_error(content):
    with pytest.raises(DataError, match="a Planetoid file cannot be read"):
        planetoid._unpickle(content)


@pytest.fixture
def own_copy(data_root, tmp_path):
    """A data root of one's own, with Cora in it."""
    shutil.copytree(data_root / "Cora", tmp_path / "Cora")
    return tmp_path


@pytest.mark.data
@pytest.mark.parametrize("part", ["allx", "graph", "test.index"])
def test_a_flipped_bit_is_refused_and_never_unpickled(own_copy, monkeypatch, part):
    path = own_copy / "Cora/raw" / f"ind.cora.{part}"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.chmod(0o644)
    path.write_bytes(content)

    def never(*_):
        raise AssertionError("an unchecked file was parsed")

    monkeypatch.setattr(planetoid, "parse", never)
    with pytest.raises(DataError, match=f"ind.cora.{part} is not the official file"):
        load("cora", data_root=own_copy)
    assert path.read_bytes() == content


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "sizes", "masks"),
    [
        ("cora", (2708, 5278, 1433, 7), (140, 500, 1000)),
        ("citeseer", (3327, 4552, 3703, 6), (120, 500, 1000)),
        ("pubmed", (19717, 44324, 500, 3), (60, 500, 1000)),
    ],
)
def test_the_real_datasets_have_the_published_sizes(data_root, name, sizes, masks):
    graph, split = load(name, data_root=data_root)
    assert (graph.num_nodes, graph.num_edges, graph.num_features, graph.num_classes) == sizes
    assert tuple(int(mask.sum()) for mask in (split.train, split.val, split.test)) == masks
    assert (graph.name, split.name, split.num_splits) == (name, "public", 1)
    sums = torch.from_numpy(graph.x.to_scipy().sum(axis=1))
    assert torch.all((sums == 0) | ((sums - 1).abs() < 1e-5))
    # 20 training nodes of each class.
    assert graph.y[split.train[0]].bincount().tolist() == [20] * graph.num_classes
    assert int((graph.y == -1).sum()) == (15 if name == "citeseer" else 0)


@pytest.mark.data
@pytest.mark.parametrize("name", REAL)
def test_the_real_datasets_are_those_of_pytorch_geometric(data_root, tmp_path, name):
    pyg = pytest.importorskip("torch_geometric.datasets")
    title = REAL[name].folder.split("/")[0]
    shutil.copytree(data_root / title / "raw", tmp_path / title / "raw")
    with warnings.catch_warnings():
        # PyG unpickles with numpy's own functions, which newer numpy warns about.
        warnings.simplefilter("ignore")
        theirs = pyg.Planetoid(str(tmp_path), title)[0]
    graph, split = load(name, data_root=data_root)
    order = (theirs.edge_index[0] * graph.num_nodes + theirs.edge_index[1]).argsort()
    assert torch.equal(graph.edge_index, theirs.edge_index[:, order])
    known = graph.y >= 0
    assert torch.equal(graph.y[known], theirs.y[known])
    assert not (theirs.train_mask | theirs.val_mask | theirs.test_mask)[~known].any()
    for ours, mask in zip((split.train, split.val, split.test), ("train", "val", "test"), strict=True):
        assert torch.equal(ours[0], theirs[f"{mask}_mask"])
    raw = planetoid.parse(sources.read(REAL[name], data_root))
    assert np.array_equal(raw.x.toarray().astype(np.float32), theirs.x.numpy())
