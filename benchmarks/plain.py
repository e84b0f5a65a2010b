"""A straightforward GraphMix(GCN): dense features, one trial after another.

`make bench` compares with it. It is the same algorithm as `graphmix.training.step`, organised like the authors'
released code. Every dropout pass draws a mask over the whole dense feature matrix, targets come from K
passes over all nodes, and the FCN sees all nodes' features. It evaluates once an epoch, as ours does.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from graphmix.data import Graph, Split
from graphmix.method import ramp_up
from graphmix.training import Config


class PlainGCN(nn.Module):
    """A GCN on dense features and a sparse COO adjacency matrix; without the matrix, an FCN."""

    def __init__(self, features: int, classes: int, config: Config):
        super().__init__()
        self.first = nn.Parameter(nn.init.xavier_uniform_(torch.empty(features, config.hidden)))
        self.second = nn.Parameter(nn.init.xavier_uniform_(torch.empty(config.hidden, classes)))
        self.rate = config.input_dropout

    def encode(self, x: Tensor, adjacency: Tensor | None) -> Tensor:
        """Hidden states `[nodes, hidden]`."""
        mapped = F.dropout(x, self.rate, self.training) @ self.first
        return F.relu(torch.sparse.mm(adjacency, mapped) if adjacency is not None else mapped)

    def decode(self, hidden: Tensor, adjacency: Tensor | None) -> Tensor:
        """Logits `[nodes, classes]`."""
        mapped = hidden @ self.second
        return torch.sparse.mm(adjacency, mapped) if adjacency is not None else mapped

    def forward(self, x: Tensor, adjacency: Tensor | None) -> Tensor:
        """Logits `[nodes, classes]`."""
        return self.decode(self.encode(x, adjacency), adjacency)


class PlainTrial:
    """One trial, stepped an epoch at a time."""

    def __init__(self, graph: Graph, split: Split, config: Config, device: str):
        self.config = config
        self.x = graph.x.to_dense().to(device)
        propagation = graph.propagation.to_scipy().tocoo()
        places = torch.tensor([propagation.row.tolist(), propagation.col.tolist()])
        values = torch.from_numpy(propagation.data)
        self.adjacency = torch.sparse_coo_tensor(
            places.to(device), values.to(device), propagation.shape, check_invariants=True, is_coalesced=True
        )
        self.y = graph.y.to(device)
        self.classes = graph.num_classes
        self.train, self.val, self.test = (
            mask[0].nonzero().flatten().to(device) for mask in (split.train, split.val, split.test)
        )
        self.unlabeled = (~split.train[0]).nonzero().flatten().to(device)
        self.model = PlainGCN(graph.num_features, graph.num_classes, config).to(device)
        self.optimizer = torch.optim.Adam(
            self.model.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay
        )
        self.beta = torch.distributions.Beta(config.alpha, config.alpha)

    def run(self) -> tuple[float, float]:
        """Train, heads and tails in turns; return the best validation accuracy and the test accuracy of that epoch."""
        best = (-1.0, -1.0)
        for number in range(self.config.epochs):
            heads = self.config.method == "graphmix" and number % 2 == 1
            best = max(best, self.epoch(number, heads), key=lambda scores: scores[0])
        return best

    def epoch(self, number: int, heads: bool) -> tuple[float, float]:
        """Do one step of Algorithm 1 and evaluate; `heads` trains the FCN, else the GNN."""
        self.model.train()
        loss = self.fcn_loss(number) if heads else self.gnn_loss()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return self.evaluate()

    def gnn_loss(self) -> Tensor:
        """The ordinary loss."""
        logits = self.model(self.x, self.adjacency)
        return F.cross_entropy(logits[self.train], self.y[self.train])

    def fcn_loss(self, number: int) -> Tensor:
        """Manifold mixup on labeled and unlabeled nodes."""
        hidden = self.model.encode(self.x, None)
        config = self.config
        one_hot = F.one_hot(self.y[self.train], self.classes).float()
        weight = ramp_up(number, config.rampup_start, config.rampup_end, config.gamma, config.rampup_before)
        targets = self.predict_targets()
        return self.mixup(hidden[self.train], one_hot) + weight * self.mixup(hidden[self.unlabeled], targets)

    def mixup(self, hidden: Tensor, targets: Tensor) -> Tensor:
        """Mix hidden states and targets with those of a random permutation of the nodes."""
        lam = self.beta.sample((len(hidden), 1)).to(hidden.device)
        partner = torch.randperm(len(hidden), device=hidden.device)
        mixed = lam * hidden + (1 - lam) * hidden[partner]
        mixed_targets = lam * targets + (1 - lam) * targets[partner]
        return -(mixed_targets * F.log_softmax(self.model.decode(mixed, None), dim=1)).sum(1).mean()

    @torch.no_grad()
    def predict_targets(self) -> Tensor:
        """Average K dropout passes over all nodes and sharpen."""
        passes = range(self.config.perturbations)
        mean = torch.stack([F.softmax(self.model(self.x, self.adjacency), dim=1) for _ in passes]).mean(0)
        sharp = mean[self.unlabeled].pow(1 / self.config.temperature)
        return sharp / sharp.sum(1, keepdim=True)

    @torch.no_grad()
    def evaluate(self) -> tuple[float, float]:
        """Validation and test accuracy."""
        self.model.eval()
        right = self.model(self.x, self.adjacency).argmax(1) == self.y
        return right[self.val].float().mean().item(), right[self.test].float().mean().item()
