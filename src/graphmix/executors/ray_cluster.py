"""Ray on this machine, started and stopped by us, or a cluster that runs already."""

import logging
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import FunctionType
from typing import Any

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from graphmix.distribution import NAME, __version__
from graphmix.errors import ConfigError, RunError
from graphmix.executors.ray_worker import COMPARED, versions_here

AUTO = "auto"
# How Ray is started on this machine. Without an address it would join a cluster that it finds.
OWN: dict[str, Any] = {"address": "local", "include_dashboard": False}
# How long to wait for a port, for a cluster that answers there, and for a first job on each machine.
_PORT_SECONDS, _ANSWER_SECONDS, _MACHINE_SECONDS = 3.0, 10.0, 60.0
# Ray's own: nothing is sent anywhere, and a job without a GPU sees none.
_VARIABLES = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "1",
}


def check_address(address: str | None) -> None:
    """Raise ConfigError unless an address is None, "auto" or HOST:PORT."""
    if address is None or address == AUTO:
        return
    if address.startswith("ray://"):
        raise ConfigError(
            f"`address` is {address!r}, but Ray's client is not supported; run the command on a machine of the "
            "cluster, with HOST:PORT"
        )
    host, colon, port = address.rpartition(":")
    if not (host and colon and port.isascii() and port.isdecimal() and 0 < int(port) < 2**16):
        raise ConfigError(f"`address` must be HOST:PORT or {AUTO}, not {address!r}")


@contextmanager
def joined(address: str | None) -> Iterator[None]:
    """Be connected to Ray: to a cluster at an address, or to one of our own that is stopped at the end.

    Raises:
        ConfigError: nothing answers at the address.
        RunError: a machine lacks the package, or has other versions of what results depend on.
    """
    if ray.is_initialized():
        raise RunError("this process is connected to Ray already; call ray.shutdown() first")
    if address not in (None, AUTO):
        _check_answers(address)
    for name, value in _VARIABLES.items():
        os.environ.setdefault(name, value)
    with keeping_handlers() as put_back:
        _connect(address)
        put_back()
        # Ray would print it on standard output when a worker dies, and that is where results go.
        ray._private.worker._worker_logs_enabled = False
        try:
            _check_machines()
            yield
        finally:
            ray.shutdown()
            ray._private.worker._worker_logs_enabled = True


@contextmanager
def keeping_handlers() -> Iterator[Callable[[], None]]:
    """Keep what SIGTERM and SIGHUP do, and the exit code that their handlers set.

    Ray puts a handler of its own in place. And where a handler raises SystemExit while Ray waits, Ray raises another
    one, with the code 1.

    Yields:
        A function that puts the handlers back, to be called when Ray is connected.
    """
    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in numbers}
    in_main = threading.current_thread() is threading.main_thread()
    codes: list[Any] = []

    def remember(handler: Any, number: int, frame: Any) -> None:
        try:
            handler(number, frame)
        except SystemExit as ended:
            codes.append(ended.code)
            raise

    def put_back() -> None:
        for number, handler in before.items():
            # Where there is none, Ray's own stops what it started.
            if in_main and callable(handler):
                signal.signal(number, partial(remember, handler))

    try:
        yield put_back
    except SystemExit as ended:
        if codes:
            raise SystemExit(codes[-1]) from ended
        raise
    finally:
        for number, handler in before.items():
            if in_main and handler is not None:
                signal.signal(number, handler)


def _check_answers(address: str) -> None:
    """Raise ConfigError unless a cluster answers: Ray itself would try for minutes."""
    host, _, port = address.rpartition(":")
    nobody = f"no Ray cluster answers at {address} (`address`); `ray start --head` starts one"
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_PORT_SECONDS).close()
        # -P: nothing is imported from the current folder.
        asked = [sys.executable, "-P", "-m", "ray.scripts.scripts", "health-check", "--address", address]
        answer = subprocess.run(asked, capture_output=True, timeout=_ANSWER_SECONDS, check=False)
    except OSError as error:
        raise ConfigError(nobody) from error
    except subprocess.TimeoutExpired as error:
        raise ConfigError(f"the Ray cluster at {address} (`address`) does not answer in {error.timeout:g} s") from error
    if answer.returncode != 0:
        raise ConfigError(nobody)


def _connect(address: str | None) -> None:
    options = OWN if address is None else {"address": address}
    try:
        ray.init(**options, log_to_driver=False, logging_level=logging.ERROR)
    except ConnectionError as error:
        nobody = "no Ray cluster runs on this machine" if address == AUTO else f"no Ray cluster answers at {address}"
        raise ConfigError(f"{nobody} (`address`); `ray start --head` starts one") from error
    except Exception as error:
        # Ray's errors are of many types, and each says why in its first line.
        if address is None:
            raise RunError(f"Ray cannot be started on this machine: {_first_line(error)}") from error
        raise ConfigError(f"the Ray cluster at {address} cannot be joined: {_first_line(error)}") from error


def _check_machines() -> None:
    """Raise RunError unless every machine has this package, and the same versions of what results depend on."""
    machines = {node["NodeID"]: node["NodeManagerAddress"] for node in ray.nodes() if node["Alive"]}
    probe = ray.remote(num_cpus=0, max_retries=1)(_probe())
    asked = {
        probe.options(scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False)).remote(COMPARED): name
        for node, name in machines.items()
    }
    ready, late = ray.wait(list(asked), num_returns=len(asked), timeout=_MACHINE_SECONDS)
    if late:
        raise RunError(f"the machine {asked[late[0]]} of the Ray cluster started no worker in {_MACHINE_SECONDS:g} s")
    ours = versions_here(COMPARED)
    for answer in ready:
        try:
            theirs = ray.get(answer)
        except ray.exceptions.RayError as error:
            raise RunError(f"a worker on {asked[answer]} does not start: {_first_line(error)}") from error
        _compare(asked[answer], theirs, ours)


def _compare(machine: str, theirs: dict[str, str | None], ours: dict[str, str | None]) -> None:
    if theirs["graphmix"] is None:
        raise RunError(f"the Ray worker on {machine} cannot import graphmix; install {NAME} {__version__} there")
    for name, version in ours.items():
        if theirs[name] != version:
            raise RunError(
                f"the Ray worker on {machine} has {_version(name, theirs)}, and this process {_version(name, ours)}; "
                "install the same there, because results depend on it"
            )


def _version(name: str, versions: dict[str, str | None]) -> str:
    return f"no {name}" if versions[name] is None else f"{name} {versions[name]}"


def _probe() -> Any:
    """Return a copy of `versions_here` that a worker without this package can run."""
    # A function of the main program is sent whole.
    sent = FunctionType(versions_here.__code__, {"__name__": "__main__"}, versions_here.__name__)
    sent.__module__ = "__main__"
    return sent


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
