"""Open an executor by its name."""

from collections.abc import Iterator
from contextlib import contextmanager

from graphmix.distribution import importing
from graphmix.errors import ConfigError
from graphmix.executors.executor import Executor
from graphmix.executors.local import LOCAL

IN_PROCESS, RAY = "local", "ray"
EXECUTORS = (IN_PROCESS, RAY)


def check_executor(name: str, address: str | None = None) -> None:
    """Check the name of an executor and the form of an address; takes no time.

    Raises:
        ConfigError: there is no such executor, or the address is not one of it.
        RunError: Ray is not installed.
    """
    if name not in EXECUTORS:
        raise ConfigError(f"`executor` must be one of {', '.join(EXECUTORS)}, not {name!r}")
    if name == IN_PROCESS:
        if address is not None:
            raise ConfigError("`address` is that of a Ray cluster; set `executor='ray'` too")
        return
    with importing("the executor ray", "ray"):
        from graphmix.executors.ray_cluster import check_address
    check_address(address)


@contextmanager
def open_executor(name: str = IN_PROCESS, address: str | None = None) -> Iterator[Executor]:
    """Open an executor; what it started is stopped at the end.

    Args:
        name: "local" for this process, or "ray".
        address: HOST:PORT of a Ray cluster that this machine belongs to, or "auto" for the one that runs here. None
            starts Ray on this machine, with all its cores.

    Raises:
        ConfigError: there is no such executor, or no cluster answers at the address.
        RunError: Ray is not installed, or a machine of the cluster lacks the package or has another version of it.
    """
    check_executor(name, address)
    if name == IN_PROCESS:
        yield LOCAL
        return
    from graphmix.executors.ray_cluster import joined
    from graphmix.executors.ray_executor import RayExecutor

    with joined(address):
        yield RayExecutor()
