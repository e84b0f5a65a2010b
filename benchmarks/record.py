"""The records in results/: what was run on a borrowed H200, and how records are made of it.

    timeout 560 python3 benchmarks/record.py train --parts first second --device cuda --commit C --out DIR
    python benchmarks/record.py collect --cells DIR --commit C --out results
    python benchmarks/record.py refresh --out results

`train` computes the cells of the parts below, in order, into OUT/cells; cells already there are not computed again.
`collect` writes records from these cells and computes nothing. `refresh` rewrites the records of a folder with the
current specs (titles, verdicts, commands), computes nothing and changes no number; a spec without a record gets one
whose cells are all to do. There are as many trials as in the
paper, or more; a part with fewer had to fit into the borrowed time. Parts run one after another, which is faster.
"""

import argparse
import shlex
import shutil
import sys
from pathlib import Path

from graphmix.errors import ConfigError
from graphmix.experiments.cells import Asked, plan
from graphmix.experiments.runner import Stage, reproduce
from graphmix.experiments.spec import Spec, load_spec, names
from graphmix.results import formats
from graphmix.results.reader import read_file
from graphmix.results.record import Record
from graphmix.results.wording import spread_of

# Lists of (spec, cells, trials); None means the paper's number of trials.
PARTS: dict[str, list[tuple[str, str, int | None]]] = {
    "first": [
        ("standard-split", "*GCN*/C*", None),
        ("random-splits", "*GCN*", None),
        ("links", "*GCN*", None),
        ("ablation", "/C*", 100),
        ("fewer-labels", "*GCN*/C*", 100),
        ("ablation", "/Pubmed", 30),
        ("fewer-labels", "*GCN*/Pubmed*", 30),
        ("larger-datasets", "GraphMix(GCN)/Coauthor-Physics/paper", 30),
        ("larger-datasets", "GCN/Coauthor*/paper", None),
        ("larger-datasets", "GraphMix(GCN)/Coauthor-CS/paper", None),
        ("joint-optimisation", "", None),
    ],
    "second": [
        ("standard-split", "*GCN*/Pubmed", None),
        ("theorem", "", None),
        ("standard-split", "GraphMix(Graph U-Net)/Pubmed/released", 10),
        ("selection", "/C*", 10),
    ],
    "third": [
        ("random-splits", "*U-Net*/C*/paper", 10),
        ("random-splits", "*GAT*/C*/paper", 10),
        ("state-of-the-art", "?CN (self-training)/Pubmed/released", 20),
        ("fewer-labels", "*U-Net*", None),
        ("fewer-labels", "*GAT*", None),
        ("standard-split", "*GAT*/C*/paper", None),
        ("state-of-the-art", "GAT (self-training)/C*/paper", None),
        ("larger-datasets", "GraphMix(GCN)/Coauthor*/released", 20),
        ("standard-split", "*U-Net*/C*/paper", None),
    ],
    "pictures": [
        ("t-sne", "/C*/paper", None),
        ("t-sne", "/Pubmed/released", None),
        ("soft-rank", "/C*/paper", None),
        ("soft-rank", "/Pubmed/released", None),
    ],
    # The systems that the paper quotes, and others under the same protocol; cheap ones first.
    "rivals": [
        ("leaderboard", "GMNN", None),
        ("leaderboard", "DropEdge", None),
        ("leaderboard", "GraphAT/C*", None),
        ("leaderboard", "GraphVAT/C*", None),
        ("leaderboard", "VAT/C*", None),
        ("leaderboard", "GRAND/C*", None),
        ("leaderboard", "Chebyshev", None),
        ("leaderboard", "MoNet/C*", None),
        ("leaderboard", "APPNP", None),
        ("leaderboard", "SemiEmb", None),
        ("leaderboard", "BVAT/Cora", None),
    ],
    "rivals-second": [
        ("leaderboard", "MLP/Citeseer", None),
        ("leaderboard", "MLP/Pubmed", None),
        ("leaderboard", "BVAT/Citeseer", None),
        ("links", "GMNN", None),
        ("leaderboard", "GraphVAT/Pubmed", None),
        ("leaderboard", "GraphAT/Pubmed", None),
        ("leaderboard", "VAT/Pubmed", None),
        ("leaderboard", "GRAND/Pubmed", None),
    ],
    "rivals-third": [
        ("larger-datasets", "GS-Mean/Coauthor*", 20),
        ("leaderboard", "MoNet/Pubmed", None),
        ("leaderboard", "DisenGCN/Cora", 20),
    ],
    "rivals-fourth": [
        ("leaderboard", "GraphSGAN/Cora", 30),
        ("larger-datasets", "MoNet/Coauthor-CS", 10),
        ("leaderboard", "GraphSGAN/Citeseer", 30),
        ("larger-datasets", "MoNet/Coauthor-Physics", 10),
        ("leaderboard", "GATv2/C*", 30),
        ("leaderboard", "GCNII/Cora", 10),
        ("leaderboard", "BVAT/Pubmed", 20),
        ("leaderboard", "GCNII/Citeseer", 10),
    ],
    # On random splits every trial has its own.
    "rivals-random": [
        ("leaderboard-random", "GMNN", None),
        ("leaderboard-random", "MLP*/C*", None),
        ("leaderboard-random", "GraphMix(GCN)/C*", None),
        ("leaderboard-random", "GCN/C*", None),
        ("leaderboard-random", "GCN (self*/C*", None),
        ("leaderboard-random", "Steady*/C*", None),
        ("leaderboard-random", "VAT/C*", None),
        ("leaderboard-random", "GraphVAT/C*", None),
        ("leaderboard-random", "GraphAT/C*", None),
        ("leaderboard-random", "SemiEmb", None),
        ("leaderboard-random", "DropEdge", None),
        ("leaderboard-random", "Chebyshev", None),
        ("leaderboard-random", "APPNP/C*", None),
        ("leaderboard-random", "GRAND/Citeseer", None),
        ("leaderboard-random", "MoNet/C*", None),
        ("leaderboard-random", "GCN/Pubmed", None),
        ("leaderboard-random", "GraphMix(GCN)/Pubmed", 30),
        ("leaderboard-random", "BVAT/Cora", None),
        ("leaderboard-random", "GRAND/Cora", 30),
    ],
    # The paper's claims; cheap ones first.
    "claims": [
        ("claim-gat-memory", "", None),
        ("claim-co-training", "/C*", None),
        ("claim-mixup-layer", "/C*", None),
        ("claim-teacher", "/C*", None),
        ("claim-hidden-states", "/C*", None),
        ("claim-cost", "*GCN*", None),
        ("claim-cost", "*GAT*/C*", None),
        ("claim-cost", "*U-Net*/C*", None),
        ("claim-sensitivity", "/C*", 10),
        ("claim-co-training", "/Pubmed", None),
        ("claim-mixup-layer", "/Pubmed", None),
        ("claim-hidden-states", "/Pubmed", None),
        ("claim-teacher", "/Pubmed", None),
        ("claim-cost", "*GAT*/Pubmed", None),
        ("claim-cost", "*U-Net*/Pubmed", None),
        ("claim-sensitivity", "/Pubmed", 10),
    ],
    # These need no GPU.
    "walks": [("links", "DeepWalk", None)],
    "classics": [
        ("leaderboard", "Label propagation", None),
        ("leaderboard", "ManiReg", None),
        ("leaderboard", "ICA", None),
        ("leaderboard", "MLP/Cora", None),
        ("leaderboard-random", "Label propagation", None),
        ("leaderboard-random", "ManiReg/Cora", None),
        ("leaderboard", "Planetoid/Cora", None),
    ],
    "classics-second": [
        ("leaderboard", "Logistic regression", None),
        ("leaderboard", "Random forest", None),
        ("leaderboard-random", "Logistic regression", None),
        ("leaderboard-random", "Random forest", 20),
        ("leaderboard-random", "ICA", None),
        ("leaderboard", "DeepWalk/C*", 10),
        ("leaderboard", "Planetoid/Citeseer", 30),
        ("leaderboard", "Planetoid (inductive)/C*", 30),
        ("leaderboard-random", "ManiReg/Citeseer", None),
        ("leaderboard-random", "DeepWalk/C*", 10),
        ("leaderboard-random", "Planetoid/C*", 20),
        ("leaderboard", "DeepWalk/Pubmed", 3),
        ("leaderboard", "Planetoid/Pubmed", 10),
        ("leaderboard", "Planetoid (inductive)/Pubmed", 10),
        ("leaderboard-random", "ManiReg/Pubmed", 30),
    ],
}


def main() -> None:
    """Train, collect or refresh."""
    options = parse()
    if options.what != "train":
        {"collect": collect, "refresh": refresh}[options.what](options)
        return
    if options.commit is None:
        sys.exit("train needs --commit")
    for name in options.parts:
        for spec, cells, trials in PARTS[name]:
            print(f"{spec} {cells} {trials or ''}", flush=True)
            asked = Asked(trials=trials, only=cells or "/")
            reproduce(
                [load_spec(spec)],
                asked,
                options.out,
                device=options.device,
                commit=options.commit,
                watch=Log(),
            )


class Log:
    """Prints a line for each cell that was computed."""

    def __init__(self) -> None:
        self.place = -1

    def __call__(self, stage: Stage) -> None:
        """Print the cell before the current one, once."""
        if stage.step is None and not stage.part and 0 < stage.place != self.place:
            self.place = stage.place
            cell = stage.entries[stage.place - 1]
            seconds = None if cell.run is None else cell.run.seconds
            print("  ", *cell.place, spread_of(cell.run, stage.spec.metric), seconds, cell.error or "", flush=True)


def collect(options: argparse.Namespace) -> None:
    """Make records from gathered cells."""
    if options.cells is None or options.commit is None:
        sys.exit("collect needs --cells and --commit")
    shutil.copytree(options.cells, options.out / "cells", dirs_exist_ok=True)
    for spec, cells, trials in [job for jobs in PARTS.values() for job in jobs]:
        asked = Asked(trials=trials, only=cells or "/")
        (record,) = reproduce(
            [load_spec(spec)], asked, options.out, device="cpu", commit=options.commit, stored_only=True
        )
        own = sum(cell.status != "quoted" for cell in record.cells)
        print(f"{spec}: {numbers(record)} of {own} cells")


def refresh(options: argparse.Namespace) -> None:
    """Rewrite every record of a folder from what it holds, and begin those that are missing."""
    for spec in map(load_spec, names()):
        path = options.out / f"{spec.name}.json"
        old = read_file(Record, path, formats.RECORD) if path.exists() else None
        held = None if old is None else old.command
        command = held if held is not None and runs(spec, held) else None
        commit = None if old is None else old.made["commit"]
        (new,) = reproduce([spec], Asked(), options.out, device="cpu", commit=commit, stored_only=True, command=command)
        kept = "begun" if old is None else f"{numbers(new)} of {numbers(old)} cells kept"
        print(f"{spec.name}: {kept}; {new.command}")


def runs(spec: Spec, command: str) -> bool:
    """Whether the cells that a record's command names exist."""
    words = shlex.split(command)
    only = words[words.index("--only") + 1] if "--only" in words else None
    try:
        plan(spec, Asked(only=only))
    except ConfigError:
        return False
    return True


def numbers(record: Record) -> int:
    """How many cells of a record are done."""
    return sum(cell.status == "done" for cell in record.cells)


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["train", "collect", "refresh"])
    parser.add_argument("--parts", nargs="+", default=[], choices=list(PARTS))
    parser.add_argument("--device", default="auto")
    parser.add_argument("--commit", help="commit of the code, for the record; refresh does not change it")
    parser.add_argument("--cells", type=Path, help="folder of gathered cells")
    parser.add_argument("--out", type=Path, required=True)
    return parser.parse_args()


if __name__ == "__main__":
    main()
