"""A model that several tests look at, made once."""

import shutil

import pytest

from small_tables import fit_tables, write_edges, write_nodes


@pytest.fixture(scope="session")
def fitted(tmp_path_factory):
    """A folder with nodes.csv, edges.csv and the model that GraphMix made of them; not to be written to."""
    folder = tmp_path_factory.mktemp("fitted")
    nodes, edges = write_nodes(folder / "nodes.csv"), write_edges(folder / "edges.csv")
    fit_tables(folder, nodes, edges, methods=("graphmix",))
    return folder


@pytest.fixture
def model(fitted, tmp_path):
    """A copy of that model's folder, to do with as one likes."""
    return shutil.copytree(fitted / "model", tmp_path / "model")
