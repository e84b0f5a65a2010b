"""Measure how long large tables take to become a graph, and how much memory.

    python benchmarks/table_scale.py [--edges 1M 3M 10M 30M 100M] [--formats parquet] [--folder FOLDER]

For every size it writes tables with large_tables.py (a tenth as many nodes as edges, 10 columns of numbers), reads them
in a new process as `graphmix fit` does, and removes them. Results are added to results/table-scale.json, one row for
each size and format; a row that is there is measured anew. 100 million edges take 9 GB of disk at a time, and 20
minutes. Draw the results with scale_picture.py; the table is written by tables.py.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench import device_name
from graphmix.experiments.records import source_commit
from graphmix.limits import Limits
from graphmix.results.describe import versions
from graphmix.storage.files import write_json

RESULTS = Path(__file__).parent / "results" / "table-scale.json"
COMMAND = "python benchmarks/table_scale.py"
SIZES = ("1M", "3M", "10M", "30M", "100M")
FORMATS = ("parquet", "csv")
EDGES_A_NODE, FEATURES = 10, 10
# Larger than any of these tables.
LIMIT = Limits(rows=10**9, size=2**36)


def main() -> None:
    """Measure every size, and write the results after each."""
    options = parse()
    if options.measure:
        print(json.dumps(measure(options.measure, options.formats[0])))
        return
    for edges in map(count, options.edges):
        for ending in options.formats:
            row = measured(edges, ending, options.folder)
            add(row)
            print(row, flush=True)


def measured(edges: int, ending: str, folder: Path | None) -> dict[str, Any]:
    """Write tables of a size, read them in a new process, and return what it took."""
    from large_tables import write_tables

    nodes = edges // EDGES_A_NODE
    with tempfile.TemporaryDirectory(dir=folder) as place:
        write_tables(Path(place), nodes, edges, features=FEATURES, ending=ending)
        disk = sum(path.stat().st_size for path in Path(place).iterdir() if not path.name.startswith("answers"))
        command = [sys.executable, __file__, "--measure", place, "--formats", ending]
        found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return {"format": ending, "nodes": nodes, "edges": edges, "file_bytes": disk, **found}


def measure(folder: Path, ending: str) -> dict[str, Any]:
    """Read the tables of a folder, and return the seconds, those of the processor, and the peak of the memory."""
    from graphmix.tables.estimates import estimate
    from graphmix.tables.files import limited
    from graphmix.workflow.columns import Columns
    from graphmix.workflow.problems import read_problem

    tables = [limited(folder / f"{name}.{ending}", LIMIT) for name in ("nodes", "edges")]
    expected = estimate(*tables)
    assert expected is not None  # they are files
    since, busy = time.perf_counter(), time.process_time()
    problem = read_problem(*tables, Columns(label="label"))
    return {
        "seconds": round(time.perf_counter() - since, 2),
        "processor_seconds": round(time.process_time() - busy, 2),
        "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "estimated_bytes": expected.memory,
        "estimated_seconds": round(expected.seconds, 2),
        "graph_edges": problem.graph.num_edges,
    }


def add(row: dict[str, Any]) -> None:
    """Add a row to the results, in place of one of the same size and format."""
    old = json.loads(RESULTS.read_text())["rows"] if RESULTS.exists() else []
    row = {"commit": source_commit(), **row}
    kept = [each for each in old if (each["format"], each["edges"]) != (row["format"], row["edges"])]
    rows = sorted([*kept, row], key=lambda each: (FORMATS.index(each["format"]), each["edges"]))
    record = {"command": COMMAND, "machine": device_name("cpu"), "versions": versions(), "features": FEATURES}
    write_json(RESULTS, {**record, "rows": rows})


def count(text: str) -> int:
    """Read a number such as 3M or 500000."""
    return int(float(text.rstrip("M")) * (10**6 if text.endswith("M") else 1))


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edges", nargs="+", default=SIZES, help="sizes to measure")
    parser.add_argument("--formats", nargs="+", choices=FORMATS, default=FORMATS)
    parser.add_argument(
        "--folder", type=Path, help="where tables are written, for a while; the usual place if not given"
    )
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
