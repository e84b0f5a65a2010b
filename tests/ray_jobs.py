"""Jobs for the tests of executors, in a module of their own: a worker imports it."""

import os
import time
from pathlib import Path

from graphmix.errors import DataError


def square(number, tell):
    return number * number


def refuse(number, tell):
    raise DataError(f"number {number} is refused")


def speak(steps, tell):
    for step in range(steps):
        tell(step)
        time.sleep(0.1)
    return steps


def make(folder):
    (Path(folder) / f"made-{os.getpid()}-{time.monotonic_ns()}").touch()
    return "made"


def give_back(shared, number, tell):
    return shared, number, os.getpid()


def die_once(folder, tell):
    """Die at the first try, like a worker that is killed; the second one is told of the first by a file."""
    seen = Path(folder) / "first"
    if not seen.exists():
        seen.touch()
        os.kill(os.getpid(), 9)
    return "second"


def die(tell):
    os.kill(os.getpid(), 9)
