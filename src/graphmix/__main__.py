"""The `graphmix` command and `python -m graphmix`: signals and errors end them quietly, also during imports."""

import sys

from graphmix.cli.interrupts import INTERRUPTED, exit_at_start


def run() -> None:
    """Run the command line; after Ctrl-C, end with exit code 130 and without a traceback."""
    exit_at_start()
    try:
        from graphmix.cli.internal_errors import INTERNAL, describe, log_threads

        log_threads()
        try:
            from graphmix.cli.main import run as run_app
        except Exception as error:  # noqa: BLE001 - a broken installation; nothing is left that could print it
            sys.exit(_fail(describe(error), INTERNAL))
        run_app()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def _fail(message: str, code: int) -> int:
    if sys.stderr is not None:
        sys.stderr.write(f"graphmix: {message}\n")
    return code


if __name__ == "__main__":
    run()
