"""The `graphmix` command and `python -m graphmix`: Ctrl-C ends them quietly, also while modules are imported."""

import sys

from graphmix.cli.interrupts import INTERRUPTED, exit_at_start


def run() -> None:
    """Run the command line; after Ctrl-C, end with exit code 130 and without a traceback."""
    exit_at_start()
    try:
        from graphmix.cli.main import run as run_app

        run_app()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    run()
