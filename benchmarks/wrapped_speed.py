"""How much longer a wrapped GCN of PyTorch Geometric takes than the built-in one, on Citeseer, in one run.

    python benchmarks/wrapped_speed.py --device cuda --out benchmarks/results/wrapped-speed-h200.json

Networks alternate, and the best of several repeats counts. A row is written as soon as it is measured; after `--limit`
seconds no other repeat begins. `ms` is a fit's time by its epochs; `warm_ms` is the time of the second half of its
epochs, without what a fit does once: probing, compiling, recording constants, most captures.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch_geometric import nn as pyg

from graphmix.data import load
from graphmix.models import wrap
from graphmix.models.backbone import Backbone
from graphmix.results.describe import versions
from graphmix.training import Config, fit
from graphmix.training.devices import choose_device
from graphmix.training.loop import Progress
from wrapped import TwoLayers, pyg_gcn


def gcn_with_input_dropout(features: int, classes: int) -> nn.Module:
    """The paper's GCN, of layers of PyG: dropout on the features too, as in the built-in one."""
    return TwoLayers(pyg.GCNConv(features, 16), pyg.GCNConv(16, classes))


# Name to a function that builds the network, and where to mix; the built-in GCN is measured beside each.
WRAPPED = {"pyg-gcn": (pyg_gcn, "convs.1"), "gcn-input-dropout": (gcn_with_input_dropout, "conv2")}


class Clock:
    """Takes the time of a fit, and of the second half of its epochs."""

    def __init__(self, config: Config, device: torch.device):
        self._config, self._device = config, device
        self.started = self._now()
        self.halfway = self.started

    def _now(self) -> float:
        if self._device.type == "cuda":
            torch.cuda.synchronize()
            return time.perf_counter()
        # The processor's time: other programs may run on the same cores.
        return time.process_time()

    def watch(self, progress: Progress) -> None:
        """Note when half of the epochs are done."""
        if progress.epoch == self._config.epochs // 2:
            self.halfway = self._now()

    def read(self) -> dict[str, float]:
        """Milliseconds per epoch: of the whole fit, and of its second half."""
        now, epochs = self._now(), self._config.epochs
        return {
            "ms": 1e3 * (now - self.started) / epochs,
            "warm_ms": 1e3 * (now - self.halfway) / (epochs - epochs // 2),
        }


def main() -> None:
    """Measure all pairs; write the file after every repeat."""
    options = parse()
    torch.set_num_threads(options.threads)
    began, device = time.perf_counter(), choose_device(options.device)
    graph, split = load("citeseer")
    networks: dict[str, Backbone | None] = {"gcn": None}
    for name, (build, mix_at) in WRAPPED.items():
        networks[name] = wrap(build(graph.num_features, graph.num_classes), mix_at)
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for repeat in range(options.repeats):
        for method in ("supervised", "graphmix"):
            config = Config.for_dataset("citeseer", method=method, trials=options.trials, epochs=options.epochs)
            for name, model in networks.items():
                if time.perf_counter() - began > options.limit and repeat > 0:
                    return
                clock = Clock(config, device)
                # All trials in one batch: its epochs are those of the fit.
                trained = fit(
                    graph, split, config, model=model, device=options.device, chunk=options.trials, watch=clock.watch
                )
                row = rows.setdefault((method, name), {"method": method, "network": name})
                row |= {key: min(value, row.get(key, value)) for key, value in clock.read().items()}
                row |= {"repeats": repeat + 1, "test_accuracy": round(100 * float(trained.test_accuracy.mean()), 2)}
                row["notes"] = {} if model is None else dict(model.notes)
                write(options, device, rows)
                print(f"{method:>10} {name:<18} {row['ms']:8.2f} ms {row['warm_ms']:8.2f} ms warm", flush=True)


def write(options: argparse.Namespace, device: torch.device, rows: dict[tuple[str, str], dict[str, Any]]) -> None:
    """Write what has been measured so far, with each wrapped network's ratio to the built-in one."""
    for (method, _), row in rows.items():
        row["ratio"] = row["ms"] / rows[method, "gcn"]["ms"]
        row["warm_ratio"] = row["warm_ms"] / rows[method, "gcn"]["warm_ms"]
    about = {
        "device": torch.cuda.get_device_name() if device.type == "cuda" else "cpu",
        "threads": options.threads,
        "dataset": "citeseer",
        "trials": options.trials,
        "epochs": options.epochs,
        "commit": options.commit,
        "date": time.strftime("%Y-%m-%d"),
        "versions": dict(versions()),
    }
    options.out.write_text(json.dumps(about | {"rows": list(rows.values())}, indent=1) + "\n")


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument("--epochs", type=int, default=400)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--limit", type=float, default=40.0, help="seconds after which no repeat begins")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--commit", default="unknown", help="commit of the code, for the record")
    parser.add_argument("--out", type=Path, required=True)
    return parser.parse_args()


if __name__ == "__main__":
    main()
