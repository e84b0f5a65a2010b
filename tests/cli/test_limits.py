"""Limits on the command line: options that cannot be met, and files that are too large."""

import gzip
import os
import signal
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet
import pytest

from command_line import graphmix, refused, save

TOO_MANY = "need at least"


@pytest.mark.parametrize(
    "command",
    [
        ["train", "synthetic", "--trials", 10**9],
        ["train", "synthetic", "--method", "deepwalk", "--trials", 10**9],
        ["train", "synthetic", "--epochs", 2**31 - 1],
        ["demo", "--trials", 10**9],
        ["select", "synthetic", "--trials", 10**9],
        ["reproduce", "ablation", "--trials", 10**9],
        ["fit", "--nodes", "n.csv", "--edges", "e.csv", "--label", "topic", "--out", "model", "--trials", 10**9],
    ],
)
def test_more_trials_than_any_machine_can_train_are_refused(tmp_path, command):
    for name in ("n.csv", "e.csv"):
        (tmp_path / name).write_text("id,topic\na,b\n")
    refused(graphmix(*command, cwd=tmp_path), "trials of", TOO_MANY, "of memory", "--trials or --epochs")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["e.csv", "n.csv"]


def test_a_search_of_a_billion_points_is_refused(tmp_path):
    values = ",".join(map(str, range(1, 30_000)))
    done = graphmix("select", "synthetic", "--alphas", values, "--gammas", values, cwd=tmp_path)
    refused(done, "899,940,002 times 20 trials of 2,000 epochs", TOO_MANY)


def test_a_network_that_fits_no_machine_is_refused(tmp_path):
    refused(graphmix("train", "synthetic", "--hidden", 10**9, cwd=tmp_path), "one trial needs about", "--hidden")


@pytest.mark.parametrize("command", [["train"], ["select", "--trials", 2]])
def test_an_npz_file_has_limits_that_can_be_raised(tmp_path, command):
    path = save(tmp_path / "g.npz", notes=np.zeros(10**6))
    wrong = graphmix(command[0], path, *command[1:], "--limit", "sise=3", cwd=tmp_path)
    refused(wrong, "--limit must be NAME=VALUE", "size, rows, columns, cell, members", "'sise=3'")
    done = graphmix("train", path, "--limit", "members=3", cwd=tmp_path)
    refused(done, "g.npz has 7 members, and the limit is 3", "raise it with --limit members=7")
    # An array that is not used does not count.
    quick = ["--epochs", 2, "--trials", 2, "--no-report"]
    assert graphmix("train", path, *quick, "--limit", "size=10K", cwd=tmp_path).returncode == 0


def test_a_table_has_limits_that_can_be_raised(tmp_path):
    nodes, edges = tmp_path / "n.csv.gz", tmp_path / "e.csv"
    rows = "".join(f"n{row},{'ab'[row % 2]},{row}\n" for row in range(40))
    nodes.write_bytes(gzip.compress(f"id,label,x\n{rows}".encode()))
    edges.write_text("source,target\n" + "".join(f"n{row},n{(row + 2) % 40}\n" for row in range(40)))
    options = ["--nodes", nodes, "--edges", edges, "--label", "label", "--out", tmp_path / "model", "--no-report"]
    command = ["fit", *options, "--epochs", 3, "--trials", 3]
    refused(graphmix(*command, "--limit", "rows=39", cwd=tmp_path), "n.csv.gz", "rows", "--limit rows=")
    refused(graphmix(*command, "--limit", "size=300", cwd=tmp_path), "n.csv.gz unpacks to more than 300 bytes")
    refused(graphmix(*command, "--limit", "cell=1", cwd=tmp_path), "n.csv.gz line 12", "--limit cell=3")
    done = graphmix(*command, "--limit", "rows=40", "--limit", "size=1M", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    again = ["predict", tmp_path / "model", "-o", tmp_path / "p.csv", "--nodes", nodes, "--limit", "rows=39"]
    refused(graphmix(*again, cwd=tmp_path), "n.csv.gz", "rows", "--limit rows=")


# How the C library ends a process that has no memory for a thread's own variables.
NO_THREAD_MEMORY = 127

# A process with little room: torch and pyarrow are imported, and there is not much left.
STARVED = """
import resource, sys
import pyarrow.parquet, torch, graphmix.cli.main, graphmix.workflow.fitting, graphmix.workflow.model
from graphmix import machine
taken = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
machine.available_memory = lambda: 2**40
resource.setrlimit(resource.RLIMIT_AS, (taken + {room},) * 2)
for held in list(sys.modules.values()):
    if getattr(held, "__name__", "").startswith("graphmix.") and hasattr(held, "available_memory"):
        held.available_memory = machine.available_memory
sys.argv[0] = "graphmix"
graphmix.cli.main.run()
"""


def starved(*arguments, cwd, room):
    """Run the command in a process that believes that it has much memory, and gets little."""
    command = [sys.executable, "-c", STARVED.format(room=room), *map(str, arguments)]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "ARROW_DEFAULT_MEMORY_POOL": "system"}
    for _ in range(5):
        done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=120)
        # Now and then it is the C library that gets no memory for a thread: it aborts, and Python cannot prevent that.
        if done.returncode not in (-signal.SIGABRT, NO_THREAD_MEMORY):
            break
    return done


def test_memory_that_runs_out_in_training_is_one_sentence(tmp_path):
    hungry = ["--hidden", 200_000, "--trials", 3, "--epochs", 3, "--device", "cpu", "--no-report"]
    done = starved("train", "synthetic", *hungry, cwd=tmp_path, room=300 * 2**20)
    refused(done, "graphmix: out of memory; train fewer trials at once with --chunk, or lower --hidden")


# Room in which it is rarely a thread of pyarrow's that gets no memory first: then the library aborts by itself.
@pytest.mark.parametrize(("name", "room"), [("n.csv", 30 * 2**20), ("n.parquet", 80 * 2**20)])
def test_memory_that_runs_out_in_reading_is_one_sentence(tmp_path, name, room):
    table = pa.table({"id": pa.array(range(10**6)), "label": pa.repeat("a long name of a class", 10**6)})
    (pa_csv.write_csv if name == "n.csv" else pa_parquet.write_table)(table, tmp_path / name)
    (tmp_path / "e.csv").write_text("source,target\n1,2\n")
    options = ["--nodes", name, "--edges", "e.csv", "--label", "label", "--out", "model"]
    done = starved("fit", *options, cwd=tmp_path, room=room)
    refused(done, "graphmix: out of memory; lower --trials or --hidden, or leave out columns", "--ignore")
    assert not (tmp_path / "model").exists()
