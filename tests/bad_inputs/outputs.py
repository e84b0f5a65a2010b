"""Places to write to: taken, missing, read-only, inputs, devices, links, names that are not UTF-8."""

import os
from pathlib import Path

from bad_inputs import stock
from bad_inputs.case import Case, Place
from bad_inputs.damage import device
from bad_inputs.stock import FIT, NODES, QUICK, SEARCH
from bad_inputs.words import NAMES

# What a command reads, its sound options, its option for the place, and the ending of a file there; "" for a folder.
_NEW = ("--nodes", "new.csv", "--edges", "new-edges.csv")
_FIT = (*NODES, *FIT, "--no-report", "--methods")
_SELECT = ("--alphas", "1", "--gammas", "1", "--no-report")
_REPRODUCE = ("joint-optimisation", "--only", "GCN/Cora", *QUICK, "--no-report")
_TABLES = ("nodes.csv", "edges.csv")
_COMMANDS: tuple[tuple[str, tuple[str, ...], tuple[str, ...], str, str], ...] = (
    ("fit", _TABLES, (*_FIT, "label-propagation"), "--out", ""),
    ("fit", _TABLES, (*_FIT, "label-propagation", "--out", "made"), "--predictions", ".csv"),
    ("fit", (*_TABLES, "model"), (*_FIT, "graphmix", "--resume", "--out", "model"), "--predictions", ".csv"),
    ("predict", ("model", "new.csv", "new-edges.csv"), ("model", *_NEW), "--out", ".csv"),
    ("predict", ("model",), ("model",), "-o", ".parquet"),
    ("advise", ("model",), ("model", "--device", "cpu", "--count", "2"), "--out", ""),
    ("report", ("run",), ("run",), "--out", ".html"),
    ("report", ("model",), ("model",), "-o", ".html"),
    ("train", ("graph.npz",), ("graph.npz", *QUICK, "--no-report"), "--out", ""),
    ("tune", ("graph.npz", "space.toml"), ("graph.npz", *SEARCH, "--points", "1", "--no-report"), "--out", ""),
    ("explain", ("model", "new.csv", "new-edges.csv"), ("model", "p1", "new2", *_NEW), "--out", ".csv"),
    ("explain", ("model",), ("model", "p3"), "-o", ".html"),
    ("demo", (), (*QUICK, "--no-report"), "--out", ""),
    ("select", ("graph.npz",), ("graph.npz", *QUICK, *_SELECT), "--out", ""),
    ("reproduce", (), _REPRODUCE, "--out", ""),
)
_ADDED = {
    "advise": ("label_next.csv", "suspects.csv"),
    "demo": ("supervised", "graphmix"),
    "reproduce": ("cells", "work", "joint-optimisation.json"),
    "select": ("cells", "work", "select-graph-gcn.json"),
    "tune": ("study.db", "tune.json", "best.toml"),
}
_FORCES = ("predict", "explain", "advise", "report", "fit")


def outputs(place: Place) -> Case:
    """A sound command that is to write to an odd place."""
    rng = place.rng
    command, needed, given, flag, ending = rng.choice(_COMMANDS)
    stock.copy(place.stock, place.work, *needed)
    what = rng.choice(list(_WAYS))
    named, writes, nobody = _WAYS[what](place, needed, ending)
    force = ("--force",) if command in _FORCES and rng.random() < 0.4 else ()
    writes = tuple(each for each in writes if force or not (place.work / each).exists() or (place.work / each).is_dir())
    owned = ("made", *(["model"] if "--resume" in given else []))
    # What some commands add to a folder that is there already.
    for name in _ADDED.get(command, ()):
        new = os.path.relpath(os.path.realpath(place.work / named / name), place.work)
        owned += (new,) if force or not _is_there(place.work / new) else ()
    return Case(
        what=f"{command} {flag} is {what}",
        arguments=(command, *given, flag, named, *force),
        writes=(*writes, *owned),
        codes=frozenset({0, 1, 2}) if command == "reproduce" else frozenset({0, 2}),
        nobody=nobody,
        small=True,
    )


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a name that is too long
        return False


Way = tuple[str, tuple[str, ...], bool]


def _a_file(place: Place, needed: tuple[str, ...], ending: str) -> Way:
    name = f"mine{ending}"
    (place.work / name).write_text("dear diary")
    return name, (name,), False


def _an_input(place: Place, needed: tuple[str, ...], ending: str) -> Way:
    inputs = [name for name in needed if Path(name).suffix] or list(needed) or ["x"]
    name = place.rng.choice(inputs)
    return place.rng.choice([name, f"./{name}", str(place.work / name), f"../work/{name}"]), (), False


def _a_folder(place: Place, needed: tuple[str, ...], ending: str) -> Way:
    name = f"place{ending}"
    (place.work / name).mkdir()
    return name, (name,) if not ending else (), False


def _a_full_folder(place: Place, needed: tuple[str, ...], ending: str) -> Way:
    name = f"place{ending}"
    folder = place.work / name
    folder.mkdir()
    held = [
        "diary.txt",
        "model.json",
        "results.json",
        "predictions.csv",
        "label_next.csv",
        "config.json",
        ".lock",
        "cells",
        "work",
        ".x.part",
    ]
    for each in place.rng.sample(held, place.rng.randint(1, 3)):
        (folder / each).write_text("{}")
    return name, (), False


def _a_device(place: Place, needed: tuple[str, ...], ending: str) -> Way:
    name = f"place{ending}"
    device(place.work / name)
    return name, (), False


def _a_pipe(place: Place, needed: tuple[str, ...], ending: str) -> Way:
    name = f"place{ending}"
    os.mkfifo(place.work / name)
    return name, (), False


def _a_link(place: Place, needed: tuple[str, ...], ending: str) -> Way:
    name = f"link{ending}"
    (place.work / f"mine{ending}").write_text("dear diary")
    (place.work / name).symlink_to(f"mine{ending}")
    return name, (f"mine{ending}",), False


def _link_to_input(place: Place, needed: tuple[str, ...], ending: str) -> Way:
    name = f"link{ending}"
    target = place.rng.choice(needed) if needed else "x"
    hard = (place.work / target).is_file() and place.rng.random() < 0.5
    (place.work / name).hardlink_to(place.work / target) if hard else (place.work / name).symlink_to(target)
    return name, (), False


def _link_to_nothing(place: Place, needed: tuple[str, ...], ending: str) -> Way:
    name = f"link{ending}"
    (place.work / name).symlink_to(f"new{ending}")
    return name, (f"new{ending}", name), False


def _loop(place: Place, needed: tuple[str, ...], ending: str) -> Way:
    name = f"link{ending}"
    (place.work / name).symlink_to(name)
    return name, (), False


def _missing(place: Place, needed: tuple[str, ...], ending: str) -> Way:
    return f"no/such/place{ending}", ("no/such/place" + ending,), False


def _file_as_folder(place: Place, needed: tuple[str, ...], ending: str) -> Way:
    (place.work / "mine").write_text("dear diary")
    return f"mine/place{ending}", (), False


def _read_only(place: Place, needed: tuple[str, ...], ending: str) -> Way:
    folder = place.work / "kept"
    folder.mkdir()
    folder.chmod(0o555)
    return f"kept/place{ending}", (), True


def _read_only_file(place: Place, needed: tuple[str, ...], ending: str) -> Way:
    name = f"mine{ending}"
    (place.work / name).write_text("dear diary")
    (place.work / name).chmod(0o444)
    return name, (name,), True


def _odd_name(place: Place, needed: tuple[str, ...], ending: str) -> Way:
    name = f"{place.rng.choice(NAMES)}{ending}"
    return (f"./{name}" if name.startswith("-") else name), (name,), False


def _long_name(place: Place, needed: tuple[str, ...], ending: str) -> Way:
    name = place.rng.choice(["x" * 250, "x" * 300, "x/" * 3000 + "y", "x" * 100_000]) + ending
    return name, (name,) if len(name) < 300 else (), False


def _ending(place: Place, needed: tuple[str, ...], ending: str) -> Way:
    name = "place" + place.rng.choice(
        ["", ".", ".json", ".safetensors", ".CSV", ".xlsx", ".html", ".csv.gz", " .csv", ".py"]
    )
    return name, (name,), False


def _in_input(place: Place, needed: tuple[str, ...], ending: str) -> Way:
    folder = next((f"{name}/" for name in needed if not Path(name).suffix), "")
    name = f"{folder}{place.rng.choice(['model', 'predictions', 'results', 'weights', 'report', 'new'])}{ending}"
    return name, (name,) if not (place.work / name).exists() else (), False


_WAYS = {
    "a file": _a_file,
    "an input": _an_input,
    "a folder": _a_folder,
    "a full folder": _a_full_folder,
    "a device": _a_device,
    "a pipe": _a_pipe,
    "a link to a file": _a_link,
    "a link to an input": _link_to_input,
    "a link to nothing": _link_to_nothing,
    "a loop of links": _loop,
    "a missing folder": _missing,
    "a file as folder": _file_as_folder,
    "a read-only folder": _read_only,
    "a read-only file": _read_only_file,
    "an odd name": _odd_name,
    "a long name": _long_name,
    "another ending": _ending,
    "in an input folder": _in_input,
}
