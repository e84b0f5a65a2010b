"""Whether a process that claimed a point still computes it."""

import os
import socket
import time
from collections.abc import Mapping
from datetime import datetime
from typing import Any

# After so many seconds of silence nobody expects a process back. Clocks of machines may differ by some of them.
_GONE = 120.0


def this_process() -> dict[str, Any]:
    """Describe this process, alive now, as JSON values."""
    return {"host": socket.gethostname(), "process": os.getpid(), "alive": time.time()}


def is_gone(worker: Mapping[str, Any] | None, started: datetime | None) -> bool:
    """Whether the process that claimed a point is gone: it does not exist on this machine, or was silent for long."""
    if worker is None:
        return started is None or time.time() - started.timestamp() > _GONE
    # Windows has no signal that does nothing.
    here = os.name == "posix" and worker["host"] == socket.gethostname()
    return time.time() - worker["alive"] > _GONE or (here and not _runs(worker["process"]))


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
