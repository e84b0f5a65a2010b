"""A small graph, some of its labels, and a classifier that is quickly trained."""

from types import SimpleNamespace

import numpy as np
import pytest

import graphmix


@pytest.fixture(scope="session")
def small():
    """120 nodes in three classes: dense features, edges in one direction, labels of which 45 are known."""
    graph, _ = graphmix.synthetic(nodes=120, classes=3, features=30, topic=0.3, labels_per_class=5, seed=3)
    forward = graph.edge_index[0] < graph.edge_index[1]
    truth = graph.y.numpy()
    y = np.where(np.arange(120) < 45, truth, -1)
    # Times 20 as a whole, so that few epochs learn something.
    return SimpleNamespace(
        x=20 * graph.x.to_dense().numpy(), edges=graph.edge_index[:, forward].numpy(), truth=truth, y=y, nodes=120
    )


@pytest.fixture(scope="session")
def quick():
    """Makes a classifier that trains one method for a moment; test_auto.py has those of several."""

    def make(**choices):
        usual = {"trials": 3, "epochs": 30, "learning_rate": 0.05, "device": "cpu"}
        usual |= {"method": "graphmix", "backbone": "gcn"}
        return graphmix.GraphMixClassifier(**(usual | choices))

    return make


@pytest.fixture(scope="session")
def fitted(small, quick):
    """That classifier, trained on that graph; leave it as it is."""
    return quick().fit(small.x, small.y, small.edges)
