"""The benchmark's .npz files: toy ones read and cleaned by hand, what is refused, and the real ones."""

import dataclasses
import io
import itertools

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from graphmix.data import DATASETS, get, load
from graphmix.data.datasets import benchmark
from graphmix.errors import DataError


def npz(edges, x, y, **changes):
    """A file in the benchmark's format; the edges are written in one direction, as Cora-Full's are."""
    nodes = len(y)
    adjacency = sp.coo_array((np.ones(len(edges)), np.array(edges).reshape(-1, 2).T), shape=(nodes, nodes)).tocsr()
    arrays = {"labels": np.array(y)}
    for prefix, matrix in (("adj", adjacency), ("attr", sp.csr_array(x))):
        parts = (matrix.data, matrix.indices, matrix.indptr, np.array(matrix.shape))
        arrays |= dict(zip(benchmark.csr_names(prefix), parts, strict=True))
    content = io.BytesIO()
    np.savez(content, **{name: array for name, array in (arrays | changes).items() if array is not None})
    return {"toy.npz": content.getvalue()}


def toy(**changes):
    return npz([(0, 1), (1, 0), (2, 2), (1, 2)], np.array([[0, 3.0], [2, 0], [0, 0.5]]), [0, 2, 1], **changes)


def test_a_toy_file_by_hand():
    raw = benchmark.parse(toy())
    assert raw.x.toarray().tolist() == [[0, 1], [1, 0], [0, 1]]
    assert sorted(zip(*raw.edges.tolist(), strict=True)) == [(0, 1), (1, 0), (1, 2), (2, 2)]
    assert raw.y.tolist() == [0, 2, 1]


def test_names_in_pickles_are_left_alone():
    raw = benchmark.parse(toy(class_names=np.array([{}], dtype=object), idx_to_node=np.array({}, dtype=object)))
    assert raw.y.tolist() == [0, 2, 1]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"labels": None}, "toy.npz has no array 'labels'"),
        ({"attr_indptr": None}, "toy.npz has no array 'attr_indptr'"),
        ({"labels": np.array([0, 1])}, r"class number from 0 for each of 3 nodes, but its labels are int64 \[2\]"),
        ({"labels": np.array([0.0, 1, 1])}, r"its labels are float64 \[3\]"),
        ({"labels": np.array([{}, 1, 2])}, "toy.npz cannot be read as a graph: it is not an .npz file of plain"),
        ({"labels": np.array([0, -1, 2])}, "toy.npz must have a class number from 0"),
        ({"adj_shape": np.array([4, 4])}, "the edges in toy.npz are not a CSR matrix"),
        ({"attr_indices": np.array([0, 1, 7])}, "the words in toy.npz are not a CSR matrix"),
    ],
)
def test_a_wrong_file_is_named(changes, message):
    with pytest.raises(DataError, match=message) as caught:
        benchmark.parse(toy(**changes))
    assert "\n" not in str(caught.value)


def test_an_adjacency_matrix_of_another_size_is_named():
    other = npz([(0, 1)], np.ones((2, 1)), [0, 1], labels=np.array([0, 1, 1]))
    smaller = npz([(0, 1)], np.ones((2, 1)), [0, 1], adj_indptr=np.array([0, 1]), adj_shape=np.array([1, 2]))
    with pytest.raises(DataError, match="each of 2 nodes"):
        benchmark.parse(other)
    with pytest.raises(DataError, match=r"toy.npz has 2 nodes, but an adjacency matrix \[1, 2\]"):
        benchmark.parse(smaller)


def test_something_else_is_no_npz():
    for content in (b"", b"<html>log in</html>", toy()["toy.npz"][:300]):
        with pytest.raises(DataError, match=r"toy\.npz cannot be read as a graph"):
            benchmark.parse({"toy.npz": content})


def path(nodes):
    """Edges along a line of nodes."""
    return list(itertools.pairwise(nodes))


def cora_full_like():
    """A component of 163 nodes in classes 1, 4 and 6, and one of 60 nodes of class 2.

    Class 4 has exactly 50 nodes, one too few; without them, 10 nodes of class 6 are cut off from the rest.
    """
    first, small, second, cut = (np.arange(*ends) for ends in ((0, 52), (52, 102), (102, 153), (153, 163)))
    apart = np.arange(163, 223)
    edges = [*path(first), (51, 102), *path(second), (51, 52), *path(small), (101, 153), *path(cut), *path(apart)]
    y = np.concatenate([np.full(52, 1), np.full(50, 4), np.full(51, 6), np.full(10, 6), np.full(60, 2)])
    return edges, y


def test_small_classes_and_what_they_cut_off_are_removed_in_the_benchmarks_order():
    edges, y = cora_full_like()
    raw = benchmark.keep_large(benchmark.parse(npz(edges, np.arange(len(y))[:, None] + 1.0, y)))
    assert raw.y.tolist() == [0] * 52 + [1] * 51
    assert raw.x.shape == (103, 1)
    expected = path(np.arange(103))
    assert sorted(map(tuple, np.sort(raw.edges.T).tolist())) == [tuple(map(int, pair)) for pair in expected]


def test_features_and_labels_stay_with_their_nodes():
    edges, y = cora_full_like()
    order = np.random.default_rng(0).permutation(len(y))
    place = np.argsort(order)
    marks = sp.eye_array(len(y)).tocsr()[order]
    moved = [(place[a], place[b]) for a, b in edges]
    raw = benchmark.keep_large(benchmark.parse(npz(moved, marks, y[order])))
    nodes = raw.x.indices
    assert sorted(nodes) == [*range(52), *range(102, 153)]
    assert np.array_equal(np.array([0, 1])[raw.y], (nodes >= 102).astype(int))
    joined = {tuple(sorted(nodes[pair])) for pair in raw.edges.T}
    assert joined == {pair for pair in map(tuple, np.sort(edges).tolist()) if set(pair) <= set(nodes.tolist())}


def test_cora_full_of_other_sizes_is_not_the_official_one(tmp_path, monkeypatch):
    monkeypatch.delenv("GRAPHMIX_DATA", raising=False)
    edges, y = cora_full_like()
    folder = tmp_path / "CoraFull/raw"
    folder.mkdir(parents=True)
    (folder / "cora_full.npz").write_bytes(npz(edges, np.ones((len(y), 3)), y)["toy.npz"])
    with pytest.raises(DataError, match=r"Cora-Full here gives 103 nodes, but there are 18,703; put the official file"):
        load("cora-full", data_root=tmp_path)
    # With the sizes of this file in the paper's place, it is a dataset like any other.
    info = dataclasses.replace(DATASETS["cora-full"], nodes=103, edges=102, features=3, classes=2)
    monkeypatch.setitem(DATASETS, "cora-full", info)
    graph, split = load("Cora_Full", data_root=tmp_path)
    assert (graph.name, graph.num_nodes, graph.num_edges, graph.num_classes) == ("cora-full", 103, 102, 2)
    # 20 % and 30 % of 52 and 51, rounded down.
    assert graph.y[split.train[0]].bincount().tolist() == [10, 10]
    assert graph.y[split.val[0]].bincount().tolist() == [15, 15]


def plain(**changes):
    """The toy as plain arrays, each edge once."""
    words = sp.csr_array(np.array([[0, 3.0], [2, 0], [0, 0.5]]))
    parts = (words.data, words.indices, words.indptr, np.array(words.shape))
    arrays = dict(zip(benchmark.csr_names("x"), parts, strict=True))
    arrays |= {"edges": np.array([[0, 1], [1, 2]]), "y": np.array([0, 2, 1])} | changes
    content = io.BytesIO()
    np.savez(content, **arrays)
    return {"toy.npz": content.getvalue()}


def test_a_graph_of_plain_arrays_is_the_same():
    one, two = benchmark.parse_either(plain()), benchmark.parse_either(toy())
    assert one.x.toarray().tolist() == two.x.toarray().tolist()
    assert one.y.tolist() == two.y.tolist()
    assert sorted(zip(*one.edges.tolist(), strict=True)) == [(0, 1), (1, 2)]
    wrong = [
        ({"edges": np.array([[0.0, 1], [1, 2]])}, r"whole numbers \[2, edges\], not float64 \[2, 2\]"),
        ({"edges": np.array([0, 1])}, r"whole numbers \[2, edges\], not int64 \[2\]"),
        ({"y": np.array([0, 1])}, "class number from 0 for each of 3 nodes"),
        ({"x_indices": np.array([0, 1, 7])}, "the words in toy.npz are not a CSR matrix"),
    ]
    for changes, message in wrong:
        with pytest.raises(DataError, match=message):
            benchmark.parse_either(plain(**changes))


def test_a_file_is_read_from_its_official_place_first(tmp_path, monkeypatch):
    info = dataclasses.replace(DATASETS["amazon-photo"], nodes=3, edges=2, features=2, classes=3, split="1-percent")
    monkeypatch.setitem(DATASETS, "amazon-photo", info)
    monkeypatch.setenv("GRAPHMIX_CACHE", str(tmp_path / "none"))
    other, official = tmp_path / "Wild/amazon-photo.npz", tmp_path / "Photo/raw/amazon_electronics_photo.npz"
    other.parent.mkdir()
    other.write_bytes(plain()["toy.npz"])
    assert get("amazon-photo", tmp_path) == [other]
    official.parent.mkdir(parents=True)
    official.write_bytes(toy()["toy.npz"])
    assert get("amazon-photo", tmp_path) == [official]
    with pytest.raises(DataError, match="amazon-photo has 0 training"):
        load("Amazon_Photo", data_root=tmp_path)


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "sizes", "split_sizes"),
    [
        ("amazon-photo", (7650, 119081, 745, 8), (160, 240, 7250)),
        ("coauthor-cs", (18333, 81894, 6805, 15), (300, 450, 17583)),
        ("coauthor-physics", (34493, 247962, 8415, 5), (100, 150, 34243)),
    ],
)
def test_the_real_datasets_have_the_published_sizes(data_root, name, sizes, split_sizes):
    graph, split = load(name, data_root=data_root)
    assert (graph.num_nodes, graph.num_edges, graph.num_features, graph.num_classes) == sizes
    assert tuple(int(mask.sum()) for mask in (split.train, split.val, split.test)) == split_sizes
    assert (split.name, split.seeds) == ("benchmark", (0,))
    assert graph.y[split.train[0]].bincount().tolist() == [20] * graph.num_classes
    assert graph.y[split.val[0]].bincount().tolist() == [30] * graph.num_classes


@pytest.mark.data
@pytest.mark.parametrize("name", ["coauthor-cs", "coauthor-physics"])
def test_coauthor_is_that_of_pytorch_geometric(data_root, name):
    pyg = pytest.importorskip("torch_geometric.io.npz")
    files = DATASETS[name].files
    with np.load(data_root / files.folder / files.files[0].name) as held:
        arrays = dict(held)
    # They write features out; a hundred words of each author fit into memory.
    words = sp.csr_array(tuple(arrays[f"attr_{part}"] for part in ("data", "indices", "indptr")))[:, :100]
    for array, value in zip(
        benchmark.csr_names("attr"), (words.data, words.indices, words.indptr, words.shape), strict=True
    ):
        arrays[array] = value
    theirs = pyg.parse_npz(arrays)
    graph, _ = load(name, data_root=data_root)
    order = (theirs.edge_index[0] * graph.num_nodes + theirs.edge_index[1]).argsort()
    assert torch.equal(graph.edge_index, theirs.edge_index[:, order])
    assert torch.equal(graph.y, theirs.y)
    ours = graph.x.to_scipy()
    assert np.array_equal(ours[:, :100].toarray() != 0, theirs.x.numpy() == 1)
    # Sets of words, each of the same weight to its author.
    lengths = np.diff(ours.indptr)
    np.testing.assert_allclose(ours.data, np.repeat(1 / lengths[lengths > 0], lengths[lengths > 0]), rtol=1e-6)
