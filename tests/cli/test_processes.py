"""Commands in several processes, as torchrun starts them; and commands that go on from a checkpoint."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch.testing import assert_close

from command_line import graphmix, graphmix_signalled
from graphmix import ConfigError
from graphmix.cli import processes
from graphmix.storage.files import read_tensors
from graphmix.training.following import together
from small_tables import pairs, rows, tree, write_edges, write_nodes

TRAIN = ["train", "synthetic", "--trials", "3", "--epochs", "40", "--device", "cpu", "--no-report", "--json"]
IN_PARTS = ["--batch-nodes", "60", "--batch-fanout", "4"]
OFTEN = ["--checkpoint-minutes", "0"]
FIT = ["fit", "--nodes", "nodes.csv", "--edges", "edges.csv", "--label", "topic", "--device", "cpu", "--no-report"]
FIT += ["--trials", "4", "--epochs", "30", "--hidden", "8", "--methods", "label-propagation,supervised,fcn", *OFTEN]

# Runs the command in a process that does something at a moment: when it has written so many files of a kind.
SCRIPT = """
import os, signal, sys
from graphmix.__main__ import run
{setup}
run()
"""
KILL = """
if os.environ["RANK"] == {rank!r} and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
    from graphmix.training.batch import Batch
    step, done = Batch._step, []
    def stop(self, *shape):
        done.append(shape)
        if len(done) == 21:
            {what}
        return step(self, *shape)
    Batch._step = stop
"""
# Fails where the others wait for this process: for its gradients, or with batches of their own, for nothing.
FAIL_WITHIN = """
if os.environ["RANK"] == "0":
    from graphmix.training import {module}
    def stop(*arguments):
        {what}
    {module}.{name} = stop
"""
DIE = "os.kill(os.getpid(), signal.SIGKILL)"
FAIL = "from graphmix import ConfigError; raise ConfigError('this process cannot go on')"


def torchrun(*arguments, cwd, setup="", restarts=0, count=2, seconds=300):
    """Run the command in several processes."""
    script = cwd / "command.py"
    script.write_text(SCRIPT.format(setup=setup))
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={count}"]
    command = [*launcher, f"--max-restarts={restarts}", str(script), *map(str, arguments)]
    usual = {name: value for name, value in os.environ.items() if not name.startswith("GRAPHMIX")}
    variables = usual | {"OMP_NUM_THREADS": "1", "GRAPHMIX_CACHE": str(cwd / "cache"), "COLUMNS": "100"}
    return subprocess.run(command, cwd=cwd, env=variables, capture_output=True, text=True, timeout=seconds, check=False)


def said(done):
    """What our processes said on standard error; torchrun adds a report of its own after a failure."""
    return [line for line in done.stderr.splitlines() if line.startswith("graphmix: ") and "epochs" not in line]


def same_run(folder, other):
    for name in ("weights.safetensors", "curves.safetensors"):
        held, expected = read_tensors(folder / name), read_tensors(other / name)
        assert held.keys() == expected.keys()
        for each, tensor in held.items():
            assert_close(tensor, expected[each], equal_nan=True)


def without_times(text):
    result = json.loads(text)
    return {name: value for name, value in result.items() if name not in ("seconds", "out")}


def test_two_processes_train_as_one_does_with_the_averaged_batch(tmp_path):
    done = torchrun(*TRAIN, *IN_PARTS, "--out", "two", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    alone = graphmix(*TRAIN, *IN_PARTS, "--batch-parts", "2", "--out", "one", cwd=tmp_path)
    # One process printed: both lines are one JSON object.
    assert without_times(done.stdout) == without_times(alone.stdout)
    same_run(tmp_path / "two", tmp_path / "one")
    other = graphmix(*TRAIN, *IN_PARTS, "--out", "half", cwd=tmp_path)
    losses = [read_tensors(tmp_path / name / "curves.safetensors")["loss"] for name in ("one", "half")]
    assert other.returncode == 0
    assert not torch.allclose(*losses), "a step with one sample has another loss"


def test_a_killed_command_goes_on_within_a_batch(tmp_path):
    options = [*TRAIN, *IN_PARTS, "--chunk", "3", *OFTEN, "--out"]
    killed = graphmix_signalled(*options, "run", cwd=tmp_path, send=signal.SIGKILL, files=17)
    assert killed.returncode == -signal.SIGKILL
    (kept,) = (tmp_path / "run/parts").glob("*.safetensors")
    assert int(read_tensors(kept)["epoch"]) == 17
    first, second = (graphmix(*options, out, cwd=tmp_path) for out in ("run", "undisturbed"))
    assert without_times(first.stdout) == without_times(second.stdout)
    for name in ("weights.safetensors", "curves.safetensors"):
        assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "undisturbed" / name).read_bytes()


def test_bad_minutes_are_one_sentence(tmp_path):
    refused = graphmix(*TRAIN, "--checkpoint-minutes", "-1", cwd=tmp_path)
    assert refused.returncode == 2
    assert refused.stderr == "graphmix: --checkpoint-minutes must be at least 0, not -1.0\n"
    assert not (tmp_path / "runs").exists()


@pytest.fixture
def launched(monkeypatch):
    """As the first of two processes that torchrun started."""
    names = {"RUN_ID": "none", "RESTART_COUNT": "0", "MAX_RESTARTS": "0"}
    for name, value in names.items():
        monkeypatch.setenv(f"TORCHELASTIC_{name}", value)
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "0")
    return monkeypatch


def test_without_torchrun_a_process_is_alone(monkeypatch):
    # Other programs use these names too.
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "1")
    assert (processes.launched(), processes.follows(), processes.restarted()) == (1, False, False)
    processes.check_command("predict")
    processes.check_folder_given(False)


def test_the_first_process_leads(launched):
    assert (processes.launched(), processes.follows(), processes.restarted()) == (2, False, False)
    launched.setenv("RANK", "1")
    assert processes.follows()
    launched.setenv("TORCHELASTIC_RESTART_COUNT", "1")
    assert processes.restarted()
    launched.setenv("WORLD_SIZE", "1")
    assert (processes.launched(), processes.follows(), processes.restarted()) == (1, False, False)


def test_only_training_is_divided(launched):
    processes.check_command("train")
    with pytest.raises(ConfigError, match="start predict without it"):
        processes.check_command("predict")


def test_a_command_that_may_be_restarted_needs_its_folder(launched):
    processes.check_folder_given(False)
    launched.setenv("TORCHELASTIC_MAX_RESTARTS", "3")
    processes.check_folder_given(True)
    with pytest.raises(ConfigError, match="--max-restarts"):
        processes.check_folder_given(False)


def test_torchrun_gives_each_process_its_device(launched):
    with pytest.raises(ConfigError, match="cuda:1"), processes.together("cuda:1"):
        pass


@pytest.mark.slow
@pytest.mark.parametrize("rank", ["0", "1"])
def test_killed_and_restarted_processes_end_as_those_that_were_not(tmp_path, rank):
    options = [*TRAIN, *IN_PARTS, *OFTEN, "--out", "run"]
    done = torchrun(*options, cwd=tmp_path, setup=KILL.format(rank=rank, what=DIE), restarts=1)
    assert done.returncode == 0, done.stderr
    alone = graphmix(*TRAIN, *IN_PARTS, "--batch-parts", "2", "--out", "one", cwd=tmp_path)
    assert without_times(done.stdout) == without_times(alone.stdout)
    same_run(tmp_path / "run", tmp_path / "one")
    assert "exitcode: -9" in done.stderr, "it was killed"
    # torchrun may end the others before they notice.
    assert said(done) in (
        [],
        ["graphmix: another process of this job has ended; the same command goes on in the same folder"],
    )


@pytest.mark.slow
def test_three_processes_divide_four_samples(tmp_path):
    done = torchrun(*TRAIN, *IN_PARTS, "--batch-parts", "4", "--out", "three", cwd=tmp_path, count=3)
    assert done.returncode == 0, done.stderr
    graphmix(*TRAIN, *IN_PARTS, "--batch-parts", "4", "--out", "one", cwd=tmp_path)
    same_run(tmp_path / "three", tmp_path / "one")


@pytest.mark.slow
def test_full_batches_of_trials_are_divided(tmp_path):
    done = torchrun(*TRAIN, "--out", "two", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    alone = graphmix(*TRAIN, "--out", "one", cwd=tmp_path)
    assert without_times(done.stdout) == without_times(alone.stdout)
    for name in ("weights.safetensors", "curves.safetensors"):
        assert (tmp_path / "two" / name).read_bytes() == (tmp_path / "one" / name).read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("rank", ["0", "1"])
def test_an_error_in_one_process_ends_all_with_one_sentence(tmp_path, rank):
    done = torchrun(*TRAIN, *IN_PARTS, "--out", "run", cwd=tmp_path, setup=KILL.format(rank=rank, what=FAIL))
    assert done.returncode != 0
    assert done.stdout == ""
    assert said(done) == ["graphmix: this process cannot go on"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "module", "name"),
    [(IN_PARTS, "batch", "divided_loss"), ([], "loop", "Batch")],
    ids=["mini-batches", "full batches"],
)
def test_an_error_while_the_others_wait_ends_all_of_them(tmp_path, given, module, name):
    what = "raise MemoryError('out of memory')"
    setup = FAIL_WITHIN.format(module=module, name=name, what=what)
    # The others could wait for the first process for ever.
    done = torchrun(*TRAIN, *given, "--out", "run", cwd=tmp_path, setup=setup, seconds=100)
    assert done.returncode != 0
    (line,) = said(done)
    assert "memory" in line


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["train", "nonsense", "--out", "run"], "unknown dataset"),
        (["predict", "model"], "without it"),
        ([*TRAIN, *IN_PARTS, "--batch-parts", "2", "--out", "command.py"], "is a file"),
    ],
)
def test_bad_input_is_one_sentence(tmp_path, arguments, words):
    done = torchrun(*arguments, cwd=tmp_path)
    assert done.returncode != 0
    assert done.stdout == ""
    (line,) = said(done)
    assert words in line


TOGETHER = """
from graphmix import Config, fit, synthetic
from graphmix.training.following import together
graph, split = synthetic(nodes=120, seed=1)
for seed in range(2):
    done = together(lambda: fit(graph, split, Config(epochs=4, trials=2, batch_nodes=40, seed=seed), device="cpu"))
    if done is not None:
        print(done.config.batch_parts)
"""


@pytest.mark.slow
def test_a_script_trains_together_twice(tmp_path):
    done = torchrun(cwd=tmp_path, setup=TOGETHER + "sys.exit()")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["2", "2"]


def test_a_script_without_torchrun_works_alone(monkeypatch):
    monkeypatch.delenv("RANK", raising=False)
    assert together(lambda: 5) == 5


@pytest.mark.slow
def test_a_command_without_work_ends(tmp_path):
    done = torchrun("--version", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stdout.startswith("graphmix ")


@pytest.mark.slow
@pytest.mark.parametrize("given", [[], ["--batch-nodes", "30"]], ids=["full batches", "mini-batches"])
def test_a_fit_that_is_killed_in_two_processes_goes_on_by_itself(tmp_path, given):
    write_nodes(tmp_path / "nodes.csv", rows(60))
    write_edges(tmp_path / "edges.csv", pairs(60))
    setup = KILL.format(rank="1", what=DIE)
    done = torchrun(*FIT, *given, "--out", "model", cwd=tmp_path, setup=setup, restarts=1)
    assert done.returncode == 0, done.stderr
    parts = ["--batch-parts", "2"] if given else []
    alone = graphmix(*FIT, *given, *parts, "--out", "one", cwd=tmp_path)
    assert alone.returncode == 0, alone.stderr
    one, two = (tree(tmp_path / name) for name in ("one", "model"))
    assert one.keys() == two.keys()
    for name in ("weights.safetensors", "heldout.safetensors"):
        held, expected = (read_tensors(tmp_path / each / name) for each in ("model", "one"))
        assert len(expected) > 2, "networks are in it"
        for each, tensor in expected.items():
            assert_close(held[each], tensor)
    assert not [name for name in two if Path(name).name.startswith(("holding-out", "training"))]
    # torchrun names whichever process it found ended first: the killed one, or the one that waited for it.
    assert "exitcode: -9" in done.stderr or "another process of this job has ended" in done.stderr, "it was killed"


@pytest.mark.slow
@pytest.mark.gpu
@pytest.mark.parametrize("given", [IN_PARTS, []], ids=["mini-batches", "full batches"])
def test_two_processes_on_cuda_train_as_one_does(tmp_path, given):
    # With one GPU they share it, and use gloo.
    train = ["cuda" if each == "cpu" else each for each in TRAIN]
    done = torchrun(*train, *given, "--out", "two", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    parts = ["--batch-parts", "2"] if given else []
    graphmix(*train, *given, *parts, "--out", "one", cwd=tmp_path)
    losses = [read_tensors(tmp_path / name / "curves.safetensors")["loss"] for name in ("two", "one")]
    # Rounding is another on CUDA, and grows over the epochs.
    assert_close(losses[0][:, :10], losses[1][:, :10], rtol=1e-3, atol=1e-4)
