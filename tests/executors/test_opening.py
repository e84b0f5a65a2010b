"""Which executor opens, and what is said where none does."""

import json
import re
import signal
import socket
import sys
from contextlib import nullcontext

import pytest

from command_line import graphmix, graphmix_process, refused, save
from graphmix.errors import ConfigError, RunError
from graphmix.executors import LOCAL, check_executor, open_executor
from graphmix.executors.local import Local

QUICK = ["--trials", "2", "--epochs", "3", "--device", "cpu", "--no-report"]


def test_the_default_needs_nothing():
    with open_executor() as executor:
        assert executor is LOCAL


@pytest.mark.parametrize(
    ("name", "address", "said"),
    [
        ("dask", None, "`executor` must be one of local, ray, not 'dask'"),
        ("local", "10.0.0.1:6379", "`address` is that of a Ray cluster"),
        ("ray", "10.0.0.1", "must be HOST:PORT or auto"),
        ("ray", "10.0.0.1:99999", "must be HOST:PORT or auto"),
        ("ray", ":6379", "must be HOST:PORT or auto"),
        ("ray", "ray://10.0.0.1:10001", "Ray's client is not supported"),
    ],
)
def test_invalid_names_and_addresses(name, address, said):
    with pytest.raises(ConfigError, match=said):
        check_executor(name, address)


def test_without_ray_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.delitem(sys.modules, "graphmix.executors.ray_cluster", raising=False)
    monkeypatch.delattr("graphmix.executors.ray_cluster", raising=False)
    with pytest.raises(RunError, match=re.escape("the executor ray needs ray: pip install 'graphmix-learn[ray]'")):
        check_executor("ray")


@pytest.fixture
def graph(tmp_path):
    return save(tmp_path / "graph.npz")


@pytest.mark.parametrize("command", ["train", "select", "reproduce"])
def test_an_address_that_answers_nothing(graph, tmp_path, command):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{closed.getsockname()[1]}"
    what = "standard-split" if command == "reproduce" else graph
    result = graphmix(command, what, *QUICK, "--executor", "ray", "--address", address, "--out", tmp_path / "run")
    refused(result, f"no Ray cluster answers at {address} (--address)")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["graph.npz"]


def test_a_port_of_something_else(monkeypatch):
    from graphmix.executors import ray_cluster

    monkeypatch.setattr(ray_cluster, "_ANSWER_SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        with (
            pytest.raises(ConfigError, match=f"at {address} .* does not answer in 0.5 s"),
            open_executor("ray", address),
        ):
            pass


def test_a_command_joins_a_cluster(address, graph, tmp_path):
    joins = ["--executor", "ray", "--address", address]
    for name, run, where in (("local", graphmix, []), ("ray", graphmix_process, joins)):
        done = run("train", graph, *QUICK, "--chunk", "1", "--out", name, *where, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert "trains on its own predictions" in done.stderr
        assert len(done.stderr.splitlines()) == 1
    for name in ("weights.safetensors", "curves.safetensors", "config.json"):
        assert (tmp_path / "ray" / name).read_bytes() == (tmp_path / "local" / name).read_bytes()


def test_a_worker_without_the_package(address, graph, tmp_path):
    """Python of these workers finds no graphmix, as on a machine where it is not installed."""
    blocks = "import sys\nsys.modules['graphmix'] = None\n"
    (tmp_path / "sitecustomize.py").write_text(blocks)
    asked = {"runtime_env": {"env_vars": {"PYTHONPATH": str(tmp_path)}}}
    (tmp_path / "work").mkdir()
    where = ["--executor", "ray", "--address", address, "--out", "run"]
    variables = {"RAY_JOB_CONFIG_JSON_ENV_VAR": json.dumps(asked)}
    result = graphmix_process("train", graph, *QUICK, *where, cwd=tmp_path / "work", **variables)
    refused(result, "the Ray worker on", "cannot import graphmix", "install graphmix-learn")
    assert not (tmp_path / "work" / "run").exists()


def test_a_signal_keeps_its_exit_code_while_ray_waits():
    from graphmix.executors.ray_cluster import keeping_handlers

    def handle(number, frame):
        raise SystemExit(128 + number)

    def wait():
        with keeping_handlers() as put_back:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)  # as Ray does it, with a handler of its own
            put_back()
            try:
                signal.raise_signal(signal.SIGTERM)
            except SystemExit:
                raise SystemExit(1) from None  # as Ray's core does it

    before = signal.signal(signal.SIGTERM, handle)
    try:
        with pytest.raises(SystemExit) as ended:
            wait()
        assert ended.value.code == 143
        assert signal.getsignal(signal.SIGTERM) is handle
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_worker_of_another_version():
    from graphmix.executors.ray_cluster import _compare

    ours = {"graphmix": "1.0", "torch": "2.5", "numba": "0.61"}
    _compare("10.0.0.7", ours, ours)
    with pytest.raises(RunError, match=r"the Ray worker on 10.0.0.7 has torch 2.4, and this process torch 2.5"):
        _compare("10.0.0.7", ours | {"torch": "2.4"}, ours)
    with pytest.raises(RunError, match=r"has no numba, and this process numba 0.61"):
        _compare("10.0.0.7", ours | {"numba": None}, ours)


def test_a_baseline_says_that_it_needs_no_executor(graph, tmp_path):
    where = ["--method", "label-propagation", "--executor", "ray", "--checkpoint-minutes", "1"]
    done = graphmix("train", graph, *QUICK, *where, "--out", tmp_path / "run")
    assert done.returncode == 0
    assert "--epochs, --checkpoint-minutes, --executor have no effect with the baseline label-prop" in done.stderr


def test_minutes_between_checkpoints_have_no_effect_on_workers(graph, tmp_path, monkeypatch):
    class Elsewhere(Local):
        here = False

    monkeypatch.setattr("graphmix.cli.train.opened", lambda name, address: nullcontext(Elsewhere()))
    for number, (minutes, told) in enumerate(((["--checkpoint-minutes", "1"], True), ([], False))):
        where = ["--executor", "ray", *minutes, "--no-report", "--out", tmp_path / f"run{number}"]
        done = graphmix("train", graph, *QUICK, *where)
        assert done.returncode == 0, done.stderr
        assert ("--checkpoint-minutes has no effect with workers" in done.stderr) is told
