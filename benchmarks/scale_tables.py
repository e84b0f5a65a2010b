"""The tables of docs/scale.md, from the results of wild.py and wild_times.py; tables.py has that of an epoch."""

import json
import statistics
from pathlib import Path
from typing import Any

from own_tables import large
from results_page import commit_of
from wild_names import GRAPHS, MANY, OURS

RESULTS = Path(__file__).parent / "results"


def fits() -> str:
    """Seconds of a fit: from two CSV files on two cores, and with the graph in memory on a GPU."""
    cores, card = read("wild-times-cpu.json"), read("wild-h200.json")
    own = {row["graph"]: row for row in cores["rows"]}
    lines = ["| graph | on two cores, from CSV files (s) | on the GPU, from memory (s) |", "|---|---|---|"]
    for graph, about in GRAPHS.items():
        seconds = [row["seconds"] for row in card["rows"] if wanted(row) and row["graph"] == graph]
        shown = [
            f"{own[graph]['seconds']:.0f}, {own[graph]['per_class']} labels a class" if graph in own else "–",
            f"{statistics.fmean(seconds):.1f}, {len(seconds)} draws" if seconds else "–",
        ]
        lines.append(f"| {graph}: {about.split(';')[0]} | {' | '.join(shown)} |")
    commits = ", ".join(dict.fromkeys(row["commit"] for row in card["rows"] if wanted(row)))
    lines += [
        "",
        f"Left: {cores['cores']} cores, torch {cores['versions']['torch']}, {commit_of(cores['commit'])}; "
        f"`{cores['command']}`. Right: 20 labels a class (counties: 40), {card['device']}, torch "
        f"{card['versions']['torch']}, {commit_of(commits)}; `{card['command']}`.",
    ]
    return "\n".join(lines) + "\n"


def reading() -> str:
    """What reading large tables takes."""
    record = read("table-scale.json")
    lines = [
        "| nodes | edges | format | files (MB) | processor time (s) | edges in a second | memory at the peak (GiB) |",
        "|---" * 7 + "|",
    ]
    for row in record["rows"]:
        seconds = row["processor_seconds"]
        shown = [
            f"{row['nodes']:,}",
            f"{row['edges']:,}",
            {"parquet": "Parquet", "csv": "CSV"}[row["format"]],
            f"{row['file_bytes'] / 10**6:,.0f}",
            f"{seconds:,.1f}",
            f"{row['edges'] / seconds:,.0f}",
            gib(row["peak_bytes"]),
        ]
        lines.append(f"| {' | '.join(shown)} |")
    commits = ", ".join(dict.fromkeys(row["commit"] for row in record["rows"]))
    about = f"{record['machine']}, torch {record['versions']['torch']}, {commit_of(commits)}; `{record['command']}`."
    return "\n".join([*lines, "", f"Python and its libraries are part of the memory. {about}"]) + "\n"


def training() -> str:
    """What a step and an evaluation take on graphs of many sizes."""
    record = read("training-scale.json")
    by_scheme: dict[str, dict[int, dict[str, Any]]] = {"full": {}, "mini": {}}
    for row in record["rows"]:
        by_scheme[row["scheme"]][row["edges"]] = row
    columns = ("nodes", "edges", "graph (GiB)", "all nodes: an epoch (s)", "memory (GiB)")
    columns += ("mini-batches: a step (s)", "an evaluation (s)", "memory (GiB)")
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for edges, mini in by_scheme["mini"].items():
        full = by_scheme["full"].get(edges)
        shown = [
            f"{mini['nodes']:,}",
            f"{edges:,}",
            gib(mini["graph_bytes"]),
            "–" if full is None else f"{full['epoch']:.3f}",
            "–" if full is None else gib(full["training_bytes"]),
            f"{mini['step']:.3f}",
            f"{mini['evaluation']:.3f}",
            gib(mini["training_bytes"]),
        ]
        lines.append(f"| {' | '.join(shown)} |")
    commits = ", ".join(dict.fromkeys(row["commit"] for row in record["rows"]))
    about = f"{record['machine']}, torch {record['versions']['torch']}, {commit_of(commits)}; `{record['command']}`."
    return "\n".join([*lines, "", about]) + "\n"


def gib(size: int) -> str:
    """Bytes as GiB."""
    return f"{size / 2**30:.2f}"


def parts() -> str:
    """Mini-batches beside full batches: accuracy, time and memory."""
    columns = ("machine", "graph", "trials", "epochs", "step", "validation (%)", "test (%)")
    columns += ("processor time (s)", "peak memory (GiB)")
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    records = [read(path.name) for path in sorted(RESULTS.glob("mini-batches-*.json"))]
    for record in records:
        for row in record["rows"]:
            sampled = f"{row['batch_nodes']:,} nodes, {row['batch_fanout']} neighbours"
            shown = [
                record["machine"],
                f"{row['graph']}: {row['nodes']:,} nodes, {row['edges']:,} edges",
                str(row["trials"]),
                f"{row['epochs']:,}",
                sampled if row["batch_nodes"] else "all nodes",
                f"{row['mean_val']:.2f}",
                f"{row['mean_test']:.2f}",
                f"{row['processor_seconds']:,.0f}",
                "–" if row["peak_gib"] is None else f"{row['peak_gib']:.2f}",
            ]
            lines.append(f"| {' | '.join(shown)} |")
    commits = ", ".join(dict.fromkeys(row["commit"] for record in records for row in record["rows"]))
    versions = ", ".join(dict.fromkeys(record["versions"]["torch"] for record in records))
    return "\n".join([*lines, "", f"torch {versions}, {commit_of(commits)}; `{records[0]['command']}`."]) + "\n"


def wanted(row: dict[str, Any]) -> bool:
    """Whether a row is of a fit with many labels."""
    return (row["system"], row["amount"]) == (OURS, MANY)


def read(name: str) -> dict[str, Any]:
    """Read a results file."""
    record: dict[str, Any] = json.loads((RESULTS / name).read_text())
    return record


SCALE_TABLES = {
    "scale_fits": fits,
    "large": large,
    "scale_reading": reading,
    "scale_parts": parts,
    "scale_training": training,
}
