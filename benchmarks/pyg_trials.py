"""GCN and GraphMix(GCN) as a user of PyG would write them: `make bench` compares with them.

`GCNConv(cached=True)` normalises the graph once. Features are dense, as PyG's datasets have them. All evaluate once an
epoch, as ours does. The FCN shares the layers' weights by calling their linear maps without the graph.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.nn import GCNConv

from graphmix.data import Graph, Split
from graphmix.method import ramp_up
from graphmix.training import Config


class GCN(nn.Module):
    """Two layers of PyG's GCN with cached normalisation; without edges, the FCN with the same weights."""

    def __init__(self, features: int, classes: int, config: Config):
        super().__init__()
        self.conv1 = GCNConv(features, config.hidden, cached=True, bias=config.bias)
        self.conv2 = GCNConv(config.hidden, classes, cached=True, bias=config.bias)
        self.rates = config.input_dropout, config.hidden_dropout

    def encode(self, x: Tensor, edges: Tensor | None) -> Tensor:
        """Hidden states `[nodes, hidden]`."""
        x = F.dropout(x, self.rates[0], self.training)
        return F.relu(_layer(self.conv1, x, edges))

    def decode(self, hidden: Tensor, edges: Tensor | None) -> Tensor:
        """Logits `[nodes, classes]`."""
        return _layer(self.conv2, F.dropout(hidden, self.rates[1], self.training), edges)

    def forward(self, x: Tensor, edges: Tensor | None) -> Tensor:
        """Logits `[nodes, classes]`."""
        return self.decode(self.encode(x, edges), edges)


def _layer(conv: GCNConv, x: Tensor, edges: Tensor | None) -> Tensor:
    if edges is not None:
        out: Tensor = conv(x, edges)
        return out
    mapped: Tensor = conv.lin(x)
    return mapped if conv.bias is None else mapped + conv.bias


class Trial:
    """One trial of a GCN, stepped an epoch at a time."""

    def __init__(self, graph: Graph, split: Split, config: Config, device: str):
        self.config, self.device = config, device
        self.x, self.edges, self.y = graph.x.to_dense().to(device), graph.edge_index.to(device), graph.y.to(device)
        self.classes = graph.num_classes
        self.train, self.val, self.test = (
            mask[0].nonzero().flatten().to(device) for mask in (split.train, split.val, split.test)
        )
        self.unlabeled = (~split.train[0]).nonzero().flatten().to(device)
        self.model = GCN(graph.num_features, graph.num_classes, config).to(device)
        self.optimizer = torch.optim.Adam(
            self.model.parameters(),
            lr=config.learning_rate,
            weight_decay=config.weight_decay,
            capturable=device == "cuda",
        )

    def run(self) -> tuple[float, float]:
        """Train, and return the best validation accuracy and the test accuracy of that epoch."""
        best = (-1.0, -1.0)
        for epoch in range(self.config.epochs):
            self.step(epoch)
            val, test = (score.item() for score in self.evaluate())
            best = max(best, (val, test), key=lambda scores: scores[0])
        return best

    def step(self, epoch: int) -> None:
        """Update the weights once."""
        self.model.train()
        self.optimizer.zero_grad()
        self.loss(epoch).backward()
        self.optimizer.step()

    def loss(self, epoch: int) -> Tensor:
        """The ordinary loss."""
        logits = self.model(self.x, self.edges)
        return F.cross_entropy(logits[self.train], self.y[self.train])

    @torch.no_grad()
    def evaluate(self) -> tuple[Tensor, Tensor]:
        """Validation and test accuracy."""
        self.model.eval()
        right = (self.model(self.x, self.edges).argmax(dim=1) == self.y).float()
        return right[self.val].mean(), right[self.test].mean()


class GraphMixTrial(Trial):
    """One trial of GraphMix(GCN)."""

    def loss(self, epoch: int) -> Tensor:
        """The FCN's loss or the GNN's, in turns instead of by a coin."""
        if epoch % 2 == 0:
            return super().loss(epoch)
        config = self.config
        hidden = self.model.encode(self.x, None)
        one_hot = F.one_hot(self.y[self.train], self.classes).float()
        supervised = self.mixup(hidden[self.train], one_hot)
        weight = ramp_up(epoch, config.rampup_start, config.rampup_end, config.gamma, config.rampup_before)
        if weight == 0:
            return supervised
        return supervised + weight * self.mixup(hidden[self.unlabeled], self.predict_targets())

    def mixup(self, hidden: Tensor, targets: Tensor) -> Tensor:
        """Mix hidden states and targets with those of a random permutation of the nodes."""
        lam = torch.distributions.Beta(self.config.alpha, self.config.alpha).sample((len(hidden), 1)).to(hidden.device)
        partner = torch.randperm(len(hidden), device=hidden.device)
        mixed = lam * hidden + (1 - lam) * hidden[partner]
        mixed_targets = lam * targets + (1 - lam) * targets[partner]
        return F.cross_entropy(self.model.decode(mixed, None), mixed_targets)

    @torch.no_grad()
    def predict_targets(self) -> Tensor:
        """Average K dropout passes over all nodes and sharpen."""
        passes = range(self.config.perturbations)
        mean = torch.stack([self.model(self.x, self.edges).softmax(dim=1) for _ in passes]).mean(dim=0)
        sharp = mean[self.unlabeled] ** (1 / self.config.temperature)
        return sharp / sharp.sum(dim=1, keepdim=True)


class ReplayedTrial(Trial):
    """The GCN's epochs, evaluation included, as one CUDA graph: the fastest that PyG's own layers can be."""

    def run(self) -> tuple[float, float]:
        """Capture an epoch after three that are not, as torch's documentation has it, and replay it."""
        scores = torch.zeros(2, device=self.device)
        best = torch.full((2,), -1.0, device=self.device)

        def epoch() -> None:
            self.step(0)
            scores.copy_(torch.stack(self.evaluate()))
            best.copy_(torch.where(scores[0] > best[0], scores, best))

        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                epoch()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            epoch()
        for _ in range(self.config.epochs - 3):
            graph.replay()
        val, test = best.tolist()
        return val, test
