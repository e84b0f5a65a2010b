"""Wrapped networks of PyTorch Geometric: supervised training compared with GraphMix, in one results file.

    python benchmarks/wrapped.py --trials 10 --device cuda --out benchmarks/results/wrapped-h200.json

Each network is like its authors' example in ten lines; nothing is tuned, for either method. Cells
already in the file with the same settings are not trained again.
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path

import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric import nn as pyg

from graphmix.data import load
from graphmix.models import wrap
from graphmix.results.describe import describe
from graphmix.results.writer import to_json
from graphmix.storage.files import write_json
from graphmix.training import Config, fit
from graphmix.training.devices import choose_device


class TwoLayers(nn.Module):
    """Two layers of one kind, with ReLU between them and dropout before each."""

    def __init__(self, first: nn.Module, second: nn.Module, dropout: float = 0.5):
        super().__init__()
        self.conv1, self.conv2, self.dropout = first, second, dropout

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """Compute logits `[nodes, classes]`."""
        x = F.dropout(x, self.dropout, training=self.training)
        x = self.conv1(x, edge_index).relu()
        x = F.dropout(x, self.dropout, training=self.training)
        return self.conv2(x, edge_index)


class APPNP(nn.Module):
    """Predict then propagate (Gasteiger, Bojchevski and Günnemann, 2019)."""

    def __init__(self, features: int, hidden: int, classes: int, dropout: float = 0.5):
        super().__init__()
        self.lin1, self.lin2 = nn.Linear(features, hidden), nn.Linear(hidden, classes)
        self.propagate = pyg.APPNP(K=10, alpha=0.1)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """Compute logits `[nodes, classes]`."""
        x = self.lin1(self.dropout(x)).relu()
        return self.propagate(self.lin2(self.dropout(x)), edge_index)


class GCN2(nn.Module):
    """A deep GCN in which every layer also gets the output of the first (Chen and others, 2020)."""

    def __init__(self, features: int, hidden: int, classes: int, layers: int = 4, dropout: float = 0.5):
        super().__init__()
        self.lin1, self.lin2 = nn.Linear(features, hidden), nn.Linear(hidden, classes)
        self.convs = nn.ModuleList(pyg.GCN2Conv(hidden, alpha=0.1, theta=0.5, layer=i + 1) for i in range(layers))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """Compute logits `[nodes, classes]`."""
        x = start = self.lin1(self.dropout(x)).relu()
        for conv in self.convs:
            x = conv(self.dropout(x), start, edge_index).relu()
        return self.lin2(self.dropout(x))


def mlp(features: int, width: int) -> nn.Module:
    """The perceptron in a GIN's layer; without batch norm, which would mix nodes."""
    return nn.Sequential(nn.Linear(features, width), nn.ReLU(), nn.Linear(width, width))


def sage(features: int, classes: int) -> nn.Module:
    """GraphSAGE (Hamilton, Ying and Leskovec, 2017)."""
    return TwoLayers(pyg.SAGEConv(features, 16), pyg.SAGEConv(16, classes))


def gin(features: int, classes: int) -> nn.Module:
    """GIN (Xu and others, 2019)."""
    return TwoLayers(pyg.GINConv(mlp(features, 16)), pyg.GINConv(mlp(16, classes)))


def gatv2(features: int, classes: int) -> nn.Module:
    """GATv2 (Brody, Alon and Yahav, 2022), with dropout on the attention too."""
    return TwoLayers(
        pyg.GATv2Conv(features, 8, heads=4, dropout=0.5), pyg.GATv2Conv(32, classes, concat=False, dropout=0.5)
    )


def chebyshev(features: int, classes: int) -> nn.Module:
    """Chebyshev filters (Defferrard, Bresson and Vandergheynst, 2016)."""
    return TwoLayers(pyg.ChebConv(features, 16, K=2), pyg.ChebConv(16, classes, K=2))


def transformer(features: int, classes: int) -> nn.Module:
    """Attention over neighbours as in a Transformer (Shi and others, 2021)."""
    return TwoLayers(pyg.TransformerConv(features, 8, heads=4), pyg.TransformerConv(32, classes, concat=False))


def pyg_gcn(features: int, classes: int) -> nn.Module:
    """PyG's ready-made GCN (Kipf and Welling, 2017); it has no dropout on the input."""
    return pyg.GCN(features, 16, num_layers=2, out_channels=classes, dropout=0.5)


# Name to a function that builds the network from (features, classes), and where to mix.
NETWORKS: dict[str, tuple[Callable[[int, int], nn.Module], str]] = {
    "sage": (sage, "conv2"),
    "gin": (gin, "conv2"),
    "gatv2": (gatv2, "conv2"),
    "appnp": (lambda features, classes: APPNP(features, 64, classes), "lin2"),
    "gcn2": (lambda features, classes: GCN2(features, 64, classes), "convs.2"),
    "chebyshev": (chebyshev, "conv2"),
    "transformer": (transformer, "conv2"),
    "pyg-gcn": (pyg_gcn, "convs.1"),
}


def main() -> None:
    """Train the missing cells; write the file after every cell."""
    options = parse()
    record = json.loads(options.out.read_text()) if options.out.exists() else {"cells": []}
    graph, split = load(options.dataset)
    for name in options.networks:
        build, mix_at = NETWORKS[name]
        wrapped = wrap(build(graph.num_features, graph.num_classes), mix_at)
        for method in ("supervised", "graphmix"):
            config = Config.for_dataset(
                options.dataset, method=method, trials=options.trials, epochs=options.epochs, backbone="custom"
            )
            wanted = {"network": name, "dataset": options.dataset, "commit": options.commit, **config.to_dict()}
            if any(wanted.items() <= cell.items() for cell in record["cells"]):
                continue
            started = time.perf_counter()
            trained = fit(graph, split, config, model=wrapped, device=options.device)
            wall = time.perf_counter() - started
            cell = to_json(describe(trained, graph, split, choose_device(options.device)))
            record["cells"].append(cell | {"network": name, "mix_at": mix_at, "commit": options.commit})
            write_json(options.out, record)
            mean, std = cell["test_accuracy_mean"], cell["test_accuracy_std"]
            print(f"{name:>12} {method:>10}  {mean:.2f} ± {std:.2f}  {wall:.1f} s", flush=True)


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument("--epochs", type=int, default=500)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--dataset", default="citeseer")
    parser.add_argument("--networks", nargs="+", default=list(NETWORKS), choices=list(NETWORKS))
    parser.add_argument("--commit", default="unknown", help="commit of the code, for the record")
    parser.add_argument("--out", type=Path, required=True)
    return parser.parse_args()


if __name__ == "__main__":
    main()
