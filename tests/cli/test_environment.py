"""What a process is given: odd names, no home, no current folder, odd variables, a request to terminate."""

import ctypes
import os
import pwd
import signal
import subprocess
import sys

import pytest

from command_line import COMMAND, graphmix, graphmix_process, graphmix_signalled, refused, save
from graphmix.cli.environment import forget_odd_sizes
from small_tables import write_edges, write_nodes

# Names as a person has them from an old disk.
NODES, EDGES, MODEL, OUT, PAGE, GRAPH = (
    os.fsdecode(name) for name in (b"n\xff.csv", b"e\xff.csv", b"m\xff", b"p\xff.csv", b"p\xff.html", b"g\xff.npz")
)
SMALL = ["--trials", 3, "--epochs", 2]


@pytest.fixture
def place(tmp_path):
    """A folder whose own name is not UTF-8 either."""
    folder = tmp_path / os.fsdecode(b"f\xff")
    folder.mkdir()
    return folder


def succeeds(*arguments, cwd):
    result = graphmix(*arguments, cwd=cwd)
    assert result.returncode == 0, result.stderr
    return result


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_names_that_are_not_utf8_through_a_fit(place, ending):
    from pyarrow import csv, parquet

    nodes, edges = (name.replace(".csv", ending) for name in (NODES, EDGES))
    write_nodes(place / NODES)
    write_edges(place / EDGES)
    if ending == ".parquet":
        for given, name in ((NODES, nodes), (EDGES, edges)):
            with (place / given).open("rb") as source, (place / name).open("wb") as sink:
                parquet.write_table(csv.read_csv(source), sink)
    fit = ["fit", "--nodes", nodes, "--edges", edges, "--label", "topic", *SMALL, "--methods", "supervised"]
    result = succeeds(*fit, "-o", MODEL, "--predictions", f"q{OUT}", cwd=place)
    assert "m\\udcff" in result.stdout
    predicted = succeeds("predict", MODEL, "-o", OUT, cwd=place)
    assert "p\\udcff.csv" in predicted.stdout
    assert (place / OUT).read_bytes() == (place / f"q{OUT}").read_bytes()
    succeeds("advise", MODEL, "-o", os.fsdecode(b"a\xff"), cwd=place)
    succeeds("report", MODEL, "-o", PAGE, cwd=place)
    assert "m\\udcff" in (place / PAGE).read_text(encoding="utf-8")


def test_names_that_are_not_utf8_through_training_and_a_search(place):
    save(place / GRAPH)
    small = ["--trials", 2, "--epochs", 2]
    succeeds("train", GRAPH, *small, "--out", "run", cwd=place)
    succeeds("report", "run", "-o", PAGE, cwd=place)
    succeeds("select", GRAPH, *small, "--alphas", "0", "--gammas", "0", "--out", MODEL, cwd=place)
    succeeds("report", MODEL, "-o", f"q{PAGE}", cwd=place)


@pytest.mark.parametrize(
    "arguments",
    [
        ["\udcff"],
        ["fit", "--\udcff"],
        ["train", "\udcff"],
        ["train", "\udcff.npz"],
        ["train", "synthetic", "--split", "\udcff"],
        ["train", "synthetic", "--device", "\udcff"],
        ["reproduce", "\udcff"],
        ["reproduce", "theorem", "--only", "\udcff/x"],
        ["data", "get", "\udcff"],
        ["data", "list", "--data-root", "\udcff"],
        ["fit", "--edges", "e.csv", "--nodes", "n.csv", "--label", "\udcff", "-o", "m"],
        ["fit", "--edges", "e.csv", "--nodes", "n.csv", "--label", "topic", "--encoding", "\udcff", "-o", "m"],
        ["predict", "\udcff", "-o", "x.csv"],
        ["report", "\udcff"],
        ["select", "\udcff"],
    ],
    ids=ascii,
)
def test_arguments_that_are_not_utf8_are_refused(tmp_path, arguments):
    write_nodes(tmp_path / "n.csv")
    write_edges(tmp_path / "e.csv")
    refused(graphmix(*arguments, cwd=tmp_path), "\\udcff")


def unknown_user(number):
    raise KeyError(f"getpwuid(): uid not found: {number}")


def test_no_home_and_no_entry_in_the_list_of_users(tmp_path, monkeypatch):
    monkeypatch.setattr(pwd, "getpwuid", unknown_user)
    for name in ("HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "USER", "LOGNAME"):
        monkeypatch.delenv(name, raising=False)
    nowhere = {"GRAPHMIX_CACHE": ""}
    listed = graphmix("data", "list", cwd=tmp_path, **nowhere)
    assert listed.returncode == 0
    assert "not here" in listed.stdout
    refused(graphmix("data", "get", "cora", cwd=tmp_path, **nowhere), "GRAPHMIX_CACHE")
    refused(graphmix("train", "cora", cwd=tmp_path, **nowhere), "GRAPHMIX_CACHE")
    demo = graphmix("demo", "--trials", 1, "--epochs", 2, "--no-report", "--out", "d", cwd=tmp_path, **nowhere)
    assert demo.returncode == 0, demo.stderr
    # Not a folder called "~".
    assert [path.name for path in tmp_path.iterdir()] == ["d"]


def test_a_current_folder_that_was_deleted(tmp_path):
    script = 'mkdir gone && cd gone && rmdir ../gone && exec "$@"'
    for arguments, code in ((["data", "list"], 2), (["train", "synthetic"], 2), (["--version"], 0)):
        result = subprocess.run(
            ["bash", "-c", script, "bash", *COMMAND, *arguments], cwd=tmp_path, capture_output=True, text=True
        )
        assert result.returncode == code, result.stderr
        assert len(result.stderr.splitlines()) == (1 if code else 0)


def test_sizes_that_are_none_are_forgotten(monkeypatch):
    for value in ("abc", "0", "-5", "3", "99999999999", "9" * 5000, "٣٠"):
        monkeypatch.setenv("COLUMNS", value)
        forget_odd_sizes()
        assert "COLUMNS" not in os.environ
    monkeypatch.setenv("COLUMNS", "100")
    forget_odd_sizes()
    assert os.environ["COLUMNS"] == "100"


@pytest.mark.parametrize(
    "variables",
    [
        {"COLUMNS": "abc", "LINES": "x", "TERMINAL_WIDTH": "abc"},
        {"COLUMNS": "0", "PYTHONIOENCODING": "ascii", "LC_ALL": "C", "PYTHONUTF8": "0"},
        {"TMPDIR": "/nowhere", "GRAPHMIX_DATA": "\udcff", "OMP_NUM_THREADS": "x", "TERM": "\udcff"},
    ],
)
def test_odd_variables(tmp_path, variables):
    for arguments in (["--help"], ["data", "list"]):
        result = graphmix_process(*arguments, cwd=tmp_path, **variables)
        assert result.returncode == 0, result.stderr
        assert result.stderr == ""
        assert "data" in result.stdout


def test_a_request_to_terminate_leaves_nothing_half_written(tmp_path):
    arguments = ["train", "synthetic", "--trials", 4, "--epochs", 3, "--chunk", 1, "--out", "run", "--no-report"]
    ended = graphmix_signalled(*arguments, cwd=tmp_path, send=signal.SIGTERM, files=2, whole=False)
    assert ended.returncode == 143
    assert "Traceback" not in ended.stderr
    assert not list((tmp_path / "run").rglob(".*"))
    assert graphmix(*arguments, cwd=tmp_path).returncode == 0


STEPS = """
import resource
import numpy as np
from graphmix.cli.environment import keep_freed_memory

keep_freed_memory()
for _ in range(50):
    held = [np.ones(2**18) for _ in range(32)]
    del held
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt)
"""


RUN = """
import sys
from graphmix.cli import environment

environment.keep_freed_memory = lambda: print("kept", flush=True)
sys.argv = ["graphmix", "--version"]
from graphmix.__main__ import run
run()
"""


def test_every_command_keeps_freed_memory():
    first, *_ = subprocess.check_output([sys.executable, "-c", RUN], text=True).splitlines()
    assert first == "kept"


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallopt"), reason="malloc is not glibc's")
def test_steps_use_the_memory_that_earlier_steps_freed():
    def faults(**variables):
        plain = {name: value for name, value in os.environ.items() if not name.startswith(("MALLOC_", "GLIBC_"))}
        return int(subprocess.check_output([sys.executable, "-c", STEPS], env=plain | variables))

    # 64 MiB in each of 50 steps. Once a variable is set, malloc is left as it is.
    kept, given_back = faults(), faults(MALLOC_ARENA_TEST="8")
    assert given_back - kept > 25 * 2**26 // os.sysconf("SC_PAGE_SIZE")
