"""Run `graphmix fit` as a user would and store its results.

    python benchmarks/fit_tables.py FOLDER --label topic --split split --out benchmarks/results/fit-cora-cpu.json
    python benchmarks/fit_tables.py FOLDER --label label --out benchmarks/results/fit-million-cpu.json

FOLDER is made by examples/cora_tables.py, or by benchmarks/large_tables.py with `--nodes 1000000 --edges 10000000
--format parquet`. The command runs in a new process, so that its peak memory can be measured. Its predictions are
scored against answers.csv, which it does not read.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench import device_name
from graphmix.experiments.records import source_commit
from graphmix.results.describe import versions
from graphmix.storage.files import write_json

NODES, EDGES = ("papers.csv", "nodes.csv", "nodes.parquet"), ("cites.csv", "edges.csv", "edges.parquet")
EXAMPLES = Path(__file__).parents[1] / "examples"


def main() -> None:
    """Fit, score, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--label", required=True)
    parser.add_argument("--split")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    nodes, edges = (find(options.folder, *names) for names in (NODES, EDGES))
    choices = ["--label", options.label, *(["--split", options.split] if options.split else [])]
    shown = f"graphmix fit --nodes {nodes.name} --edges {edges.name} {' '.join(choices)} --out model"
    with tempfile.TemporaryDirectory() as place:
        model = Path(place) / "model"
        command = ["fit", "--nodes", str(nodes), "--edges", str(edges), *choices, "--out", str(model), "--json"]
        done = subprocess.run(
            [sys.executable, "-m", "graphmix", *command, "--device", "cpu"], check=True, stdout=subprocess.PIPE
        )
        metrics: dict[str, Any] = json.loads(done.stdout)
        score = [sys.executable, str(EXAMPLES / "score.py"), str(model / "predictions.csv")]
        scored = subprocess.run([*score, str(options.folder / "answers.csv")], check=True, stdout=subprocess.PIPE)
    del metrics["out"]
    record = {
        "command": shown,
        "commit": source_commit(),
        "machine": device_name("cpu"),
        "versions": versions(),
        "score": scored.stdout.decode().splitlines(),
        "metrics": metrics,
    }
    write_json(options.out, record)
    print(*record["score"], metrics["seconds"], f"{metrics['peak_memory_gib']} GiB", sep="\n")


def find(folder: Path, *names: str) -> Path:
    """The first of some files that exists."""
    return next(folder / name for name in names if (folder / name).exists())


if __name__ == "__main__":
    main()
