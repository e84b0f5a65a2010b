"""The modules of benchmarks/wild.py, and a small graph in the form of its suite."""

import importlib
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import graphmix

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
MODULES = ("names", "graphs", "peers", "fit", "rows", "checks", "tables")


@pytest.fixture(scope="session")
def benchmark_module():
    """Imports a module of benchmarks/ by its name."""

    def load(name):
        sys.path.insert(0, str(BENCHMARKS))
        try:
            return importlib.import_module(name)
        finally:
            sys.path.remove(str(BENCHMARKS))

    return load


@pytest.fixture(scope="session")
def wild():
    """`benchmarks/wild.py` as `wild.main`, and the modules beside it by their names."""
    pytest.importorskip("torch_geometric")
    sys.path.insert(0, str(BENCHMARKS))
    try:
        parts = {name: importlib.import_module(f"wild_{name}") for name in MODULES}
        return SimpleNamespace(main=importlib.import_module("wild"), **parts)
    finally:
        sys.path.remove(str(BENCHMARKS))


@pytest.fixture(scope="session")
def small_suite(tmp_path_factory):
    """A folder of datasets whose "acm" is a graph of 240 nodes in three classes."""
    folder = tmp_path_factory.mktemp("datasets")
    graph, _ = graphmix.synthetic(nodes=240, classes=3, labels_per_class=5, seed=3)
    x = graph.x.to_scipy()
    (folder / "Wild").mkdir()
    edges = graph.edge_index.numpy()
    csr = {"x_data": x.data, "x_indices": x.indices, "x_indptr": x.indptr, "x_shape": np.array(x.shape)}
    np.savez(folder / "Wild" / "acm.npz", edges=edges[:, edges[0] < edges[1]], y=graph.y.numpy(), **csr)
    return folder
