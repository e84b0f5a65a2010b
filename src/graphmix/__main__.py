"""The `graphmix` command and `python -m graphmix`: Ctrl-C ends them quietly, also while modules are imported."""

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

INTERRUPTED = 130


def run() -> None:
    """Run the command line; after Ctrl-C, end with exit code 130 and without a traceback."""
    sys.unraisablehook = _end_if_interrupted
    try:
        from graphmix.cli.main import run as run_app

        run_app()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def _end_if_interrupted(error: "UnraisableHookArgs") -> None:
    # Ctrl-C can reach a callback that Python calls while it imports a module. It cannot be raised from there: Python
    # would print a traceback and go on.
    if isinstance(error.exc_value, KeyboardInterrupt):
        os._exit(INTERRUPTED)
    sys.__unraisablehook__(error)


if __name__ == "__main__":
    run()
