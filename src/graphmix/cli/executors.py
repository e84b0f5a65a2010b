"""The options --executor and --address, and the executor that they name."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Annotated

import typer

from graphmix.cli.busy import busy
from graphmix.executors import Executor, open_executor
from graphmix.executors.opening import IN_PROCESS, RAY

EXECUTOR_HELP = f"Where jobs run: {IN_PROCESS}, in this process, or {RAY}, on Ray's workers (default: {IN_PROCESS})."
ADDRESS_HELP = "HOST:PORT of a Ray cluster that this machine belongs to, or auto (default: Ray starts here and stops)."
ExecutorName = Annotated[str, typer.Option("--executor", help=EXECUTOR_HELP, show_default=False)]
Address = Annotated[str | None, typer.Option("--address", help=ADDRESS_HELP, show_default=False)]


@contextmanager
def opened(name: str, address: str | None) -> Iterator[Executor]:
    """Open an executor, and say so where that takes seconds."""
    with ExitStack() as stack:
        if name == IN_PROCESS:
            yield stack.enter_context(open_executor(name, address))
            return
        with busy("starting Ray" if address is None else f"joining the Ray cluster at {address}"):
            executor = stack.enter_context(open_executor(name, address))
        yield executor
