"""Options of every command: wrong types, extremes, repeated, contradictory, control characters."""

import functools
import itertools
import os
from random import Random
from typing import Any

from bad_inputs import stock
from bad_inputs.case import EVERYWHERE, Case, Place
from bad_inputs.stock import FIT, NODES, QUICK, SEARCH
from bad_inputs.words import NAMES, NUMBERS, long_text, odd_text

# What each command is given besides, so that it ends soon, and what it writes.
_BASES: dict[str, tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = {
    "fit": (
        (*NODES, *FIT, "--methods", "label-propagation", "--no-report", "--out", "out"),
        ("nodes.csv", "edges.csv"),
        ("out",),
    ),
    "predict": (("model", "--out", "out.csv"), ("model",), ("out.csv",)),
    "advise": (("model", "--device", "cpu"), ("model",), ("out",)),
    "train": (("graph.npz", *QUICK, "--no-report", "--out", "out"), ("graph.npz",), ("out",)),
    "select": (
        ("graph.npz", *QUICK, "--alphas", "1", "--gammas", "1", "--no-report", "--out", "out"),
        ("graph.npz",),
        ("out",),
    ),
    "tune": (
        ("graph.npz", *SEARCH, "--points", "2", "--check-trials", "0", "--no-report", "--out", "out"),
        ("graph.npz", "space.toml"),
        ("out",),
    ),
    "explain": (("model", "p1", "--out", "out.csv"), ("model",), ("out.csv",)),
    "demo": ((*QUICK, "--no-report", "--out", "out"), (), ("out",)),
    "reproduce": (("joint-optimisation", "--only", "GCN/Cora", *QUICK, "--no-report", "--out", "out"), (), ("out",)),
    "report": (("run", "--out", "out.html"), ("run",), ("out.html",)),
    "data list": ((), (), ()),
    "data get": (("synthetic",), (), ()),
}
# So many epochs or trials would be honest work, and take an hour.
_SLOW = (
    "--epochs",
    "--trials",
    "--hidden",
    "--perturbations",
    "-K",
    "--splits",
    "--heads",
    "--hops",
    "--layers",
    "--order",
    "--kernels",
    "--coordinates",
    "--channels",
    "--routing-steps",
    "--walks",
    "--points",
    "--check-trials",
)
_WORDS = (
    "cpu",
    "cuda",
    "cuda:9",
    "auto",
    "gcn",
    "gat",
    "unet",
    "gpr",
    "sage",
    "appnp",
    "chebyshev",
    "gcn2",
    "gatv2",
    "monet",
    "disengcn",
    "mlp",
    "graphmix",
    "id",
    "topic",
    "year",
    "nodes.csv",
    "p2",
    "space.toml",
    "synthetic",
    "cora",
)
# Places of a study that are none, or that belong to others.
_STORAGES = (
    "graph.npz",
    "sqlite:///graph.npz",
    "sqlite://",
    "nosql://x",
    "postgresql://127.0.0.1:9/x",
    "a\nb",
    "",
    ".",
)


def options(place: Place) -> Case:
    """One to three odd options on top of a sound command, or an odd command."""
    rng = place.rng
    command = rng.choice(list(_BASES))
    base, needed, writes = _BASES[command]
    stock.copy(place.stock, place.work, *needed)
    arguments = [*command.split(), *base]
    # A report of a thousand nodes is honest work, and takes a while.
    known = [each for each in _flags(command) if each[0] != "--report"]
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        _add(rng, arguments, known)
    if rng.random() < 0.08:
        arguments.pop(rng.randrange(len(arguments)))
    if rng.random() < 0.03:
        rng.shuffle(arguments)
    codes = frozenset({0, 1, 2}) if command == "reproduce" else frozenset({0, 2})
    # os.path's function takes names that are too long for a file as well.
    own = tuple(each for each in _written(arguments) if each == EVERYWHERE or not os.path.exists(place.work / each))  # noqa: PTH110
    shown = " ".join(word[:60] for word in arguments[:40])
    return Case(
        what=ascii(shown),
        arguments=tuple(arguments),
        writes=(*writes, *own, "runs", "reproduction", "study.db", "study.log"),
        codes=codes,
        small=True,
    )


@functools.cache
def _flags(command: str) -> list[tuple[str, bool]]:
    """The options of a command, and whether they take a value."""
    import typer

    from graphmix.cli.main import app

    held: Any = typer.main.get_command(app)
    for name in command.split():
        held = held.commands[name]
    return [
        (flag, not each.is_flag)
        for each in held.params
        if hasattr(each, "is_flag")
        for flag in (*each.opts, *each.secondary_opts)
    ]


def _add(rng: Random, arguments: list[str], known: list[tuple[str, bool]]) -> None:
    """Add an option, mostly one that the command has."""
    flag, takes = rng.choice(known)
    if flag in ("--data-root",) and rng.random() < 0.5:
        flag, takes = rng.choice(known)
    if rng.random() < 0.06:
        flag = rng.choice(
            ["--outt", "-", "--", "--no", "-z", "--out=", "--\x1b[31m", flag[:-1], flag.upper(), odd_text(rng) or "-"]
        )
    value = _value(rng, flag)
    words = [flag, value] if takes and rng.random() < 0.97 else [f"{flag}={value}"] if rng.random() < 0.1 else [flag]
    if rng.random() < 0.1:
        words *= 2
    arguments += words


def _value(rng: Random, flag: str) -> str:
    if flag == "--storage":
        return rng.choice(["study.db", "study.log", "sqlite:///study.db", "sqlite:///no/such/study.db", *_STORAGES])
    if flag in ("--out", "-o", "--predictions"):
        return rng.choice(
            [
                "out",
                "out.csv",
                "new/out.csv",
                "out.html",
                "nodes.csv",
                "graph.npz",
                "model",
                ".",
                "",
                "/",
                "out.xyz",
                "out/",
            ]
        )
    style = rng.random()
    if style < 0.35:
        value = rng.choice(NUMBERS)
    elif style < 0.6:
        value = rng.choice(_WORDS)
    elif style < 0.9:
        value = odd_text(rng)
    elif style < 0.97:
        value = rng.choice(NAMES)
    else:
        value = long_text(rng)[:50_000]
    if flag in _SLOW and value.strip().isdigit() and len(value) < 8 and int(value) > 4:
        return "3"
    # The kernel takes no NUL in an argument.
    return value.replace("\0", "")


def _written(arguments: list[str]) -> list[str]:
    """The files and folders that the last of each option names."""
    values = [value for flag, value in itertools.pairwise(arguments) if flag in ("--out", "-o", "--predictions")]
    values += [word.partition("=")[2] for word in arguments if word.startswith("--out=")]
    folders = [value.rstrip("/") for value in values if value != "/"]
    made = [f"{folder}/{name}" for folder in folders for name in ("label_next.csv", "suspects.csv")]
    return [os.path.normpath(value) for value in (*made, *folders)]
