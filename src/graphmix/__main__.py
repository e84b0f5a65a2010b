"""The `graphmix` command and `python -m graphmix`: signals and errors end them quietly, also during imports."""

# First of all, what Python has already imported: signal itself takes a millisecond, in which Ctrl-C is a traceback.
import _signal  # type: ignore[import-not-found]
import os
import sys


def _end(number: int, frame: object) -> None:
    # As `graphmix.cli.interrupts.end`, which is not imported yet.
    try:
        os.write(2, b"graphmix: interrupted\n")
    finally:
        os._exit(130)


if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
    _signal.signal(_signal.SIGINT, _end)

from graphmix.cli.interrupts import INTERRUPTED, end, exit_at_start  # noqa: E402
from graphmix.cli.leaving import leave_last, succeed  # noqa: E402


def run() -> None:
    """Run the command line; after Ctrl-C, end with exit code 130 and without a traceback."""
    exit_at_start()
    leave_last()
    try:
        from graphmix.cli.environment import forget_odd_sizes, keep_freed_memory
        from graphmix.cli.internal_errors import INTERNAL, log_threads, show

        log_threads()
        forget_odd_sizes()
        keep_freed_memory()
        try:
            from graphmix.cli.main import run as run_app
        except Exception as error:  # noqa: BLE001 - a broken installation; nothing is left that could print it
            show(error)
            sys.exit(INTERNAL)
        run_app()
    except SystemExit as ended:
        succeed(ended.code)
        raise
    except KeyboardInterrupt:
        end(INTERRUPTED)


if __name__ == "__main__":
    run()
