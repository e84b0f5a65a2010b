"""`python -m graphmix`, for running from a source tree."""

from graphmix.cli.main import run

run()
