"""One bad or odd input: the command, what surrounds it, and what it may do."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

# The streams of a command.
KEPT, FULL, CLOSED, GONE, TERMINAL = "kept", "full", "closed", "gone", "terminal"
# What every case may end with: done, or refused with one sentence.
DONE, REFUSED = 0, 2
# Among what a command may write: it was told to write into the current folder.
EVERYWHERE = "."
# Not root, and known to no /etc/passwd.
NOBODY = 54_321


@dataclass(frozen=True)
class Ids:
    """What a file of predictions must name.

    Attributes:
        file: the file, in the folder of the case.
        rows: for each row the text of its ids: one for a node, two for a link.
        model: the model's folder, whose graph must have these `edges`; None to leave it.
        edges: pairs of row numbers, the smaller first; None if the generator does not know.
        weighted: whether edges have weights; those of weight 0 may be left out.
    """

    file: str
    rows: list[tuple[str, ...]]
    model: str | None = None
    edges: set[tuple[int, int]] | None = None
    weighted: bool = False


@dataclass(frozen=True)
class Case:
    """A command and what surrounds it; everything is in a folder of its own.

    Attributes:
        what: a few words, for people.
        arguments: of the command; bytes that are not UTF-8 as `os.fsdecode` writes them.
        writes: paths in the folder that the command may make and, if it succeeds, change; with `EVERYWHERE`, it may
            make any.
        codes: the exit codes that are right.
        keeps: whether a refusal may leave what the command owns, as a run that can be resumed.
        ids: what the predictions must name; None where nobody can know.
        ids_error: why these tables must be refused; None if they need not be.
        environment: variables to set; None removes one.
        stdout: where standard output goes.
        stderr: where standard error goes.
        cwd: the current folder, in the folder of the case; "" for one that was deleted.
        nobody: whether to run as a user without rights and without an entry in /etc/passwd, if this user may switch.
        limits: soft limits by their number in `resource`.
        moment: a signal and when it is sent: after so many seconds, or at so many files written if a whole number.
        real: whether to start a new interpreter in place of a fork.
        small: whether the paper's datasets are replaced by a small synthetic graph.
        one_at_a_time: whether networks train one trial at a time, so that a run has parts to resume from.
    """

    what: str
    arguments: tuple[str, ...]
    writes: tuple[str, ...] = ()
    codes: frozenset[int] = frozenset({DONE, REFUSED})
    keeps: bool = False
    ids: Ids | None = None
    ids_error: str | None = None
    environment: dict[str, str | None] = field(default_factory=dict)
    stdout: str = KEPT
    stderr: str = KEPT
    cwd: str = "."
    nobody: bool = False
    limits: dict[int, int] = field(default_factory=dict)
    moment: tuple[int, float] | None = None
    real: bool = False
    small: bool = False
    one_at_a_time: bool = False


@dataclass(frozen=True)
class Place:
    """Where a case is made.

    Attributes:
        work: the folder of the case, which is the command's current one.
        stock: sound models, runs, records and tables, to copy and to spoil.
        rng: the only source of chance.
    """

    work: Path
    stock: Path
    rng: Random


Draw = Callable[[Place], Case]
