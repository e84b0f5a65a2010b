"""What graphmix is compared with in benchmarks/wild.py: each peer as its documentation writes it.

A peer gets the graph and the labels of a draw, and returns probabilities `[nodes, classes]`. No label is used but those
of the draw. Where a default would have made a peer weak for no good reason, it is helped, and the comment beside it
says so. How features are scaled was chosen among five ways by test accuracy, which favours the peers.
"""

import time
import warnings
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import MaxAbsScaler, Normalizer, StandardScaler
from torch import Tensor

from graphmix import Graph
from wild_graphs import WITH_COLUMNS, Case, Ints, load_case
from wild_names import BOOSTED, COUNTIES, LOGISTIC, LOGISTIC_MEANS, PROPAGATION, PYG_GCN, SMOOTHED

with warnings.catch_warnings():
    # PyG warns of what it could be faster with.
    warnings.simplefilter("ignore")
    from torch_geometric.nn import MLP, CorrectAndSmooth, GCNConv, LabelPropagation

HOPS = 2
NETWORKS = 5
# Rows that become dense at a time.
ROWS = 2048
# From the example of PyG's label propagation, alpha; but 50 steps in place of 3, which reach few nodes from few labels.
LP_STEPS, LP_ALPHA = 50, 0.9
# From PyG's example of Correct and Smooth.
CS_STEPS, CS_CORRECTION, CS_SMOOTHING, CS_SCALE = 50, 1.0, 0.8, 20.0
CS_HIDDEN, CS_EPOCHS = 200, 300
# From PyG's introduction and its notebook on node classification.
GCN_HIDDEN, GCN_EPOCHS, GCN_RATE, GCN_DECAY = 16, 200, 0.01, 5e-4
Floats = NDArray[np.float64]
Matrix = Any


class Work(NamedTuple):
    """A case, the nodes with known labels, a seed, and where to train networks."""

    case: Case
    known: Ints
    seed: int
    device: str

    @property
    def labels(self) -> Ints:
        """The known labels."""
        return self.case.y[self.known]

    @property
    def edges(self) -> Tensor:
        """Both directions of every edge, on the device."""
        return self.case.graph.edge_index.to(self.device)


class Peer(NamedTuple):
    """A system to compare with.

    Attributes:
        run: from work and features to probabilities `[nodes, classes]`.
        features: what it learns from, prepared once for all draws; None if it prepares its own.
        on_device: whether it uses the card, if there is one.
    """

    run: Callable[[Work, Matrix], Floats]
    features: Callable[[Case], Matrix] | None = None
    on_device: bool = False


def run_peer(name: str, work: Work, data: Path) -> tuple[Floats, float]:
    """Return probabilities `[nodes, classes]` and seconds, those of the features included."""
    peer = PEERS[name]
    features, prepared = _prepared(name, work.case.graph.name, data) if peer.features else (None, 0.0)
    started = time.perf_counter()
    probabilities = peer.run(work, features)
    return probabilities, prepared + time.perf_counter() - started


@lru_cache(maxsize=2)
def _prepared(peer: str, graph: str, data: Path) -> tuple[Matrix, float]:
    case, started = load_case(graph, data), time.perf_counter()
    make = PEERS[peer].features
    assert make is not None
    return make(case), time.perf_counter() - started


def own_features(case: Case) -> Matrix:
    """A node's own features: columns standardised, words with rows of length 1, as scikit-learn does for texts.

    Those of counties stay as the library encodes them: they are scaled already, and scaled again the linear models lose
    7 points.
    """
    name, x = case.graph.name, case.features
    if name not in WITH_COLUMNS:
        return Normalizer().fit_transform(x)
    return _dense(x) if name == COUNTIES else StandardScaler().fit_transform(_dense(x))


def neighbour_means(case: Case) -> Matrix:
    """A node's own features and their means over its neighbours, and over the neighbours of these, side by side."""
    x, mean = own_features(case), averaging(case.graph)
    blocks = [x]
    for _ in range(HOPS):
        blocks.append(mean @ blocks[-1])
    return scipy.sparse.hstack(blocks, format="csr") if scipy.sparse.issparse(x) else np.hstack(blocks)


def scaled_means(case: Case) -> Matrix:
    """As `neighbour_means`, for a linear model: every column is scaled, as means are smaller than what they average."""
    name, x = case.graph.name, neighbour_means(case)
    if name not in WITH_COLUMNS:
        return MaxAbsScaler().fit_transform(x)
    return x if name == COUNTIES else StandardScaler().fit_transform(x)


def averaging(graph: Graph) -> Matrix:
    """D^-1 A, sparse `[nodes, nodes]`; a node without neighbours has a row of zeros."""
    source, target = graph.edge_index.numpy()
    ones = np.ones(len(source), dtype=np.float32)
    joined = scipy.sparse.csr_matrix((ones, (source, target)), shape=(graph.num_nodes, graph.num_nodes))
    degrees = np.maximum(np.asarray(joined.sum(axis=1)).ravel(), 1)
    return (scipy.sparse.diags((1 / degrees).astype(np.float32)) @ joined).tocsr()


def logistic(work: Work, x: Matrix) -> Floats:
    """scikit-learn's logistic regression with its defaults; more iterations, so that it converges."""
    return LogisticRegression(max_iter=1000).fit(x[work.known], work.labels).predict_proba(x)


def boosted(work: Work, x: Matrix) -> Floats:
    """scikit-learn's histogram gradient boosting with its defaults but for the size of a leaf.

    By default a leaf has 20 rows, and with 5 labels a class nothing could be split.
    """
    model = HistGradientBoostingClassifier(min_samples_leaf=5, random_state=work.seed)
    model.fit(_dense(x[work.known]), work.labels)
    starts = range(0, x.shape[0], ROWS)
    return np.concatenate([model.predict_proba(_dense(x[start : start + ROWS])) for start in starts])


def label_propagation(work: Work, _: Matrix) -> Floats:
    """PyG's label propagation."""
    known = torch.from_numpy(work.known)
    labels = torch.zeros(len(work.case.y), work.case.graph.num_classes)
    labels[known, torch.from_numpy(work.labels)] = 1
    propagation = LabelPropagation(num_layers=LP_STEPS, alpha=LP_ALPHA)
    return _normalised(propagation(labels.to(work.device), work.edges, mask=known.to(work.device)))


def correct_and_smooth(work: Work, _: Matrix) -> Floats:
    """PyG's Correct and Smooth over an MLP, with the settings of its example.

    There is no validation set to choose an epoch by, so the MLP's last one counts.
    """
    torch.manual_seed(work.seed)
    x, y, known = _tensors(work)
    sizes = [x.shape[1], CS_HIDDEN, CS_HIDDEN, work.case.graph.num_classes]
    model = MLP(sizes, dropout=0.5, norm="batch_norm", act_first=True).to(work.device)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
    model.train()
    for _epoch in range(CS_EPOCHS):
        optimiser.zero_grad()
        F.cross_entropy(model(x[known]), y[known]).backward()
        optimiser.step()
    model.eval()
    with torch.no_grad():
        soft = model(x).softmax(dim=-1)
    post = CorrectAndSmooth(CS_STEPS, CS_CORRECTION, CS_STEPS, CS_SMOOTHING, autoscale=False, scale=CS_SCALE)
    soft = post.correct(soft, y[known], known, work.edges)
    # As in the example, errors spread by D^-1/2 A D^-1/2, PyG's default, and predictions by D^-1 A.
    arriving = work.edges[1]
    weights = 1 / torch.bincount(arriving, minlength=len(y)).float()[arriving]
    return _normalised(post.smooth(soft, y[known], known, work.edges, weights))


class GCN(torch.nn.Module):
    """The network of PyG's introduction: two layers, ReLU and dropout between them."""

    def __init__(self, features: int, classes: int) -> None:
        super().__init__()
        self.conv1 = GCNConv(features, GCN_HIDDEN)
        self.conv2 = GCNConv(GCN_HIDDEN, classes)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        """Return logits `[nodes, classes]`."""
        x = F.dropout(F.relu(self.conv1(x, edges)), p=0.5, training=self.training)
        return self.conv2(x, edges)


def gcn(work: Work, _: Matrix) -> Floats:
    """PyG's GCN as its introduction trains it, the mean prediction of five networks."""
    x, y, known = _tensors(work)
    probabilities = torch.zeros(len(y), work.case.graph.num_classes, device=x.device)
    for network in range(NETWORKS):
        torch.manual_seed(NETWORKS * work.seed + network)
        model = GCN(x.shape[1], work.case.graph.num_classes).to(x.device)
        optimiser = torch.optim.Adam(model.parameters(), lr=GCN_RATE, weight_decay=GCN_DECAY)
        model.train()
        for _epoch in range(GCN_EPOCHS):
            optimiser.zero_grad()
            F.cross_entropy(model(x, work.edges)[known], y[known]).backward()
            optimiser.step()
        model.eval()
        with torch.no_grad():
            probabilities += model(x, work.edges).softmax(dim=-1) / NETWORKS
    return _normalised(probabilities)


def _tensors(work: Work) -> tuple[Tensor, Tensor, Tensor]:
    """Return features as the graph has them, all labels and the nodes whose labels may be used, on the device."""
    x = torch.from_numpy(np.asarray(_dense(work.case.features), dtype=np.float32))
    y = torch.from_numpy(work.case.y)
    return x.to(work.device), y.to(work.device), torch.from_numpy(work.known).to(work.device)


def _dense(x: Matrix) -> Any:
    return x.toarray() if scipy.sparse.issparse(x) else x


def _normalised(shares: Tensor) -> Floats:
    """Make rows sum to 1; a node that nothing reaches has every class with the same probability."""
    values = shares.double().cpu().numpy()
    sums = values.sum(axis=1, keepdims=True)
    return np.where(sums > 0, values / np.where(sums > 0, sums, 1), 1 / values.shape[1])


PEERS = {
    PROPAGATION: Peer(label_propagation),
    LOGISTIC: Peer(logistic, own_features),
    LOGISTIC_MEANS: Peer(logistic, scaled_means),
    SMOOTHED: Peer(correct_and_smooth, on_device=True),
    PYG_GCN: Peer(gcn, on_device=True),
    BOOSTED: Peer(boosted, neighbour_means),
}
