"""What surrounds a command: environment, streams, current folder, user, room on the disk, signals."""

import resource
import signal

from bad_inputs import stock
from bad_inputs.case import CLOSED, FULL, GONE, KEPT, TERMINAL, Case, Place
from bad_inputs.stock import FIT, NODES, QUICK, SEARCH

# Commands that succeed: what they need, their arguments, what they write.
_SOUND: tuple[tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]], ...] = (
    (
        ("nodes.csv", "edges.csv"),
        ("fit", *NODES, *FIT, "--methods", "supervised", "--no-report", "--out", "out"),
        ("out",),
    ),
    (
        ("nodes.csv", "edges.csv"),
        ("fit", *NODES, *FIT, "--methods", "label-propagation", "--out", "out", "--json"),
        ("out",),
    ),
    (("model",), ("predict", "model", "--out", "out.csv"), ("out.csv",)),
    (("model", "new.csv"), ("predict", "model", "--nodes", "new.csv", "--out", "out.parquet"), ("out.parquet",)),
    (("model",), ("explain", "model", "p1", "--out", "out.csv"), ("out.csv",)),
    (
        ("graph.npz", "space.toml"),
        ("tune", "graph.npz", *SEARCH, "--points", "2", "--check-trials", "0", "--no-report", "--out", "out"),
        ("out",),
    ),
    (("model",), ("advise", "model", "--device", "cpu"), ()),
    (("model",), ("advise", "model", "--device", "cpu", "--out", "out"), ("out",)),
    (("graph.npz",), ("train", "graph.npz", *QUICK, "--no-report", "--out", "out"), ("out",)),
    (("graph.npz",), ("train", "graph.npz", *QUICK, "--no-report", "--json"), ("runs",)),
    ((), ("demo", *QUICK, "--no-report", "--out", "out"), ("out",)),
    (
        ("graph.npz",),
        ("select", "graph.npz", *QUICK, "--alphas", "1", "--gammas", "1", "--no-report", "--out", "out"),
        ("out",),
    ),
    ((), ("reproduce", "joint-optimisation", "--only", "GCN/Cora", *QUICK, "--no-report", "--out", "out"), ("out",)),
    (("run",), ("report", "run", "--out", "out.html"), ("out.html",)),
    ((), ("data", "list"), ()),
    ((), ("data", "get", "synthetic"), ()),
    ((), ("reproduce", "--list"), ()),
    ((), ("--help",), ()),
    ((), ("--version",), ()),
    ((), ("fit", "--help"), ()),
    ((), (), ()),
)
_HEAVY = 14
_VARIABLES: tuple[dict[str, str | None], ...] = (
    {"HOME": None},
    {"HOME": ""},
    {"HOME": "/nowhere"},
    {"HOME": "/dev/null"},
    {"HOME": None, "GRAPHMIX_CACHE": None, "XDG_CACHE_HOME": None},
    {"GRAPHMIX_CACHE": "~nobody-of-that-name/x"},
    {"GRAPHMIX_CACHE": "\x1b[31m"},
    {"GRAPHMIX_DATA": "/nowhere"},
    {"GRAPHMIX_DATA": "na\udcffme"},
    *({"COLUMNS": value} for value in ("0", "1", "-5", "5", "1000000", "abc", "", "9" * 30)),
    *({"LANG": value, "LC_ALL": value} for value in ("C", "POSIX", "xx_YY.UTF-8", "", "tr_TR.UTF-8")),
    *({"TERM": value} for value in ("dumb", "", "xterm-256color", "\x1b[31m", "unknown")),
    *(
        {"PYTHONIOENCODING": value}
        for value in ("ascii", "latin-1", "utf-16", "utf-8:strict", "ascii:strict", "cp1252")
    ),
    *({"TMPDIR": value} for value in ("/nowhere", "", "/dev/null", "relative")),
    *({"OMP_NUM_THREADS": value} for value in ("0", "-1", "abc", "1000000", "")),
    {"FORCE_COLOR": "1"},
    {"NO_COLOR": "1"},
    {"TTY_COMPATIBLE": "1"},
    {"PATH": ""},
    {"PATH": None},
    {"CUDA_VISIBLE_DEVICES": "abc"},
    {"SOURCE_DATE_EPOCH": "abc"},
    {"TZ": "Nowhere/Land"},
    {"LINES": "abc"},
    {"PWD": "/nowhere"},
)
# Variables that Python or a library reads when the interpreter starts.
_AT_START = ("LANG", "PYTHONIOENCODING", "OMP_NUM_THREADS", "TMPDIR")
_FAILED_OUTPUT = frozenset({0, 1, 2})


def environment(place: Place) -> Case:
    """A sound command in an odd environment; one in thirty in a new interpreter."""
    rng = place.rng
    needed, arguments, writes = rng.choice(_SOUND)
    stock.copy(place.stock, place.work, *needed)
    variables: dict[str, str | None] = {}
    for _ in range(rng.choice([1, 1, 2])):
        variables |= rng.choice(_VARIABLES)
    real = rng.random() < 1 / 30 and "reproduce" not in arguments and "demo" not in arguments
    if real and rng.random() < 0.3:
        variables |= {"PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0", "LC_ALL": "C"}
    colours = "FORCE_COLOR" in variables or "TTY_COMPATIBLE" in variables
    nobody = rng.random() < 0.2
    return Case(
        what=ascii(variables) + (" as nobody" if nobody else "") + (" in a new interpreter" if real else ""),
        arguments=arguments,
        writes=writes,
        codes=_codes(arguments),
        environment=variables,
        # Colours are what control characters are for.
        stdout=TERMINAL if colours else KEPT,
        stderr=TERMINAL if colours else KEPT,
        nobody=nobody,
        real=real,
        small=True,
    )


def streams(place: Place) -> Case:
    """A sound command whose output cannot be written, or goes to a terminal."""
    rng = place.rng
    needed, arguments, writes = rng.choice(_SOUND)
    stock.copy(place.stock, place.work, *needed)
    kinds = (KEPT, FULL, CLOSED, GONE, TERMINAL)
    stdout, stderr = rng.choice(kinds), rng.choice((KEPT, KEPT, KEPT, FULL, CLOSED, GONE, TERMINAL))
    real = rng.random() < 1 / 30 and "reproduce" not in arguments and "demo" not in arguments
    return Case(
        what=f"output {stdout}, errors {stderr}" + (" in a new interpreter" if real else ""),
        arguments=arguments,
        writes=writes,
        codes=_codes(arguments) | (_FAILED_OUTPUT if {stdout, stderr} & {FULL, CLOSED, GONE} else frozenset()),
        stdout=stdout,
        stderr=stderr,
        real=real,
        small=True,
    )


def place_and_room(place: Place) -> Case:
    """A sound command in a deleted or read-only folder, without room on the disk, or with few open files."""
    rng = place.rng
    needed, arguments, writes = rng.choice(_SOUND)
    stock.copy(place.stock, place.work, *needed)
    what = rng.choice(["a deleted folder", "a read-only folder", "no room", "no room", "few files"])
    limits = {}
    if what == "no room":  # but for what the command has to say about it
        limits = {resource.RLIMIT_FSIZE: rng.choice([1500, 5000, 20_000])}
    elif what == "few files":
        limits = {resource.RLIMIT_NOFILE: rng.choice([8, 12, 20, 40])}
    elif what == "a read-only folder":
        place.work.chmod(0o555)
    return Case(
        what=what,
        arguments=arguments,
        writes=writes,
        codes=_codes(arguments) | ({1} if limits else set()),
        cwd="" if what == "a deleted folder" else ".",
        limits=limits,
        nobody=what == "a read-only folder",
        keeps=bool(limits),
        small=True,
    )


def moments(place: Place) -> Case:
    """Ctrl-C, or a polite request to end, at a random moment; one in twenty while a new interpreter starts."""
    rng = place.rng
    needed, arguments, writes = rng.choice(_SOUND[:_HEAVY])
    stock.copy(place.stock, place.work, *needed)
    number = rng.choice([signal.SIGINT, signal.SIGINT, signal.SIGINT, signal.SIGTERM])
    real = rng.random() < 1 / 20 and "reproduce" not in arguments and "demo" not in arguments
    moment: float = rng.random() * (2.5 if real else 0.5) if real or rng.random() < 0.7 else rng.randint(1, 12)
    ended = {130, -signal.SIGINT} if number == signal.SIGINT else {143, -signal.SIGTERM}
    # A signal at the very start of an interpreter, before any of our code, ends it as the system does.
    codes = _codes(arguments) | (ended if real else ended - {-signal.SIGINT})
    when = f"{moment:.3f} s" if isinstance(moment, float) else f"file {moment}"
    return Case(
        what=f"{signal.Signals(number).name} at {when}" + (" in a new interpreter" if real else ""),
        arguments=arguments,
        writes=writes,
        codes=frozenset(codes),
        moment=(number, moment),
        keeps=True,
        real=real,
        small=True,
    )


def _codes(arguments: tuple[str, ...]) -> frozenset[int]:
    return frozenset({0, 1, 2}) if "reproduce" in arguments else frozenset({0, 2})
