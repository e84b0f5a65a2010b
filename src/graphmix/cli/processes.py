"""Commands in several processes, as torchrun starts them: the first one runs the command, and the others help it."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from graphmix.errors import ConfigError

if TYPE_CHECKING:
    from graphmix.training.team import Team

# The commands that know what to do with other processes.
DIVIDED = ("train", "fit")

# The team of this process, once it has joined it.
_joined: list["Team"] = []


def launched() -> int:
    """Return how many processes torchrun started; 1 without it."""
    return _number("WORLD_SIZE", 1) if "TORCHELASTIC_RUN_ID" in os.environ else 1


def follows() -> bool:
    """Whether this process helps another one with its command."""
    return launched() > 1 and _number("RANK", 0) > 0


def restarted() -> bool:
    """Whether torchrun started this command again after it had failed."""
    return launched() > 1 and _number("TORCHELASTIC_RESTART_COUNT", 0) > 0


def check_command(name: str | None) -> None:
    """Raise ConfigError if torchrun started a command that has nothing to divide."""
    if launched() > 1 and name not in DIVIDED:
        raise ConfigError(f"torchrun divides the work of {' and '.join(DIVIDED)}; start {name or 'this'} without it")


def check_folder_given(given: bool) -> None:
    """Raise ConfigError if torchrun may start the command again, which then could not find its own folder."""
    if launched() > 1 and not given and _number("TORCHELASTIC_MAX_RESTARTS", 0) > 0:
        raise ConfigError("`out` is needed with torchrun's --max-restarts: a command that is restarted goes on there")


@contextmanager
def together(device: str, executor: str | None = None) -> Iterator[None]:
    """Let all processes that torchrun started train what is trained here."""
    if launched() == 1:
        yield
        return
    # Imported here: every command imports this module, before anything else.
    from graphmix.executors.opening import IN_PROCESS

    if executor not in (None, IN_PROCESS):
        raise ConfigError(f"`executor` must be {IN_PROCESS} with torchrun, not {executor}: both divide the same work")
    if ":" in device:
        raise ConfigError(
            f"`device` must be auto, cpu or cuda with torchrun, which gives each process its own: {device}"
        )
    # Imported here: torch takes seconds to import.
    from graphmix.training.team import leading

    with leading(_join()):
        yield


def follow() -> None:
    """Do what the first process orders, until it has ended."""
    # At once, also while it waits: the first process says what there is to say.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    from graphmix.training.following import Follower

    Follower(_join()).follow()


def dismiss(succeeded: bool) -> None:
    """Let the other processes end with this one, whatever the command was."""
    if launched() == 1 or follows():
        return
    from graphmix.training.team import ProcessLostError

    try:
        if not succeeded:
            is_first_to_fail()
        (_joined[0] if _joined else _join()).dismiss()
    except ProcessLostError:  # they have ended already
        return


def is_first_to_fail() -> bool:
    """Whether this process is the first to fail; what follows from its failure in others needs no message."""
    return not _joined or _joined[0].is_first_to_fail()


def _join() -> "Team":
    from graphmix.training.team import Team

    _joined.append(Team.join())
    return _joined[0]


def _number(name: str, default: int) -> int:
    text = os.environ.get(name, "")
    return int(text) if text.isdecimal() else default
