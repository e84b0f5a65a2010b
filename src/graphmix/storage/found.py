"""What is at a path, in words: for a command that was given the wrong kind of folder or file."""

from collections.abc import Mapping
from pathlib import Path

from graphmix.errors import RunError
from graphmix.files import other_kind
from graphmix.results.json_text import load
from graphmix.storage.folders import CLASSIFIER, CONFIG, DETAILS, METRICS, MODEL, RESULTS, TUNED

# What a report can show, for messages.
REPORTABLE = "a model's, a run's or a search's folder, or the results of graphmix reproduce"
# The JSON files of a model's or a run's folder.
_OF_MODEL = (MODEL, CLASSIFIER, METRICS, "ids.json", "encoders.json")
_OF_RUN = (RESULTS, CONFIG, DETAILS)


def require_there(path: Path) -> None:
    """Raise RunError if nothing is at the path of what a report is to show."""
    if not path.exists():
        raise RunError(f"{path} does not exist; give {REPORTABLE}")


def is_model(folder: Path) -> bool:
    """Whether a folder holds a model, of this or an older version."""
    return (folder / MODEL).is_file() or (folder / CLASSIFIER).is_file()


def owner(path: Path) -> str | None:
    """What a file is a part of: "model" or "run"; None if neither."""
    if path.name in _OF_MODEL and is_model(path.parent):
        return "model"
    return "run" if path.name in _OF_RUN and (path.parent / CONFIG).exists() else None


def is_of_fit(config: Mapping[str, object]) -> bool:
    """Whether what a config.json holds was asked of a fit: only a fit lists the methods to try."""
    return "wishes" in config


def describe_place(path: Path) -> str:
    """Say what is at a path, and which command suits it."""
    kind = other_kind(path)
    if kind == "a folder":
        return _describe_folder(path)
    if not path.exists():
        return "there is no such folder"
    return f"it is {kind}" if kind else _describe_file(path)


def _describe_folder(folder: Path) -> str:
    if is_model(folder):
        return "it holds a model, which graphmix predict and graphmix advise use"
    if (folder / RESULTS).exists():
        return "it holds a run, which graphmix report shows; models come from graphmix fit"
    if (folder / TUNED).exists():
        return "it holds a search, which graphmix report shows; models come from graphmix fit"
    if (folder / CONFIG).exists():
        if is_of_fit(_content(folder / CONFIG)):
            return (
                f"it holds an unfinished fit and has no {MODEL} yet; the same graphmix fit with `resume` continues it"
            )
        return "it holds an unfinished run, which the command that began it continues; models come from graphmix fit"
    inside = sorted(folder.iterdir())
    if models := [each for each in inside if is_model(each)]:
        return f"it holds models; name one of them, {models[0]}"
    if any((each / RESULTS).exists() for each in inside):
        return "it holds runs, which graphmix report shows; models come from graphmix fit"
    if any(each.suffix == ".json" and _is_record(_content(each)) for each in inside):
        return "it holds records of experiments, which graphmix report shows; models come from graphmix fit"
    holder = next((each for each in list(folder.parents)[:2] if is_model(each)), None)
    if inside and holder is not None:
        return f"it is a part of a model; give the model's folder, {holder}"
    return f"it has no {MODEL}" if inside else "it is empty"


def _describe_file(path: Path) -> str:
    if whole := owner(path):
        return f"it is a file of a {whole}; give the {whole}'s folder, {path.parent}"
    if path.suffix == ".json" and _is_record(_content(path)):
        return "it is a record of experiments, which graphmix report shows; models come from graphmix fit"
    return "it is a file"


def _is_record(content: dict[str, object]) -> bool:
    return "cells" in content and "format" in content


def _content(path: Path) -> dict[str, object]:
    """What a JSON file holds; nothing if it cannot be read, which whoever needs it says better."""
    try:
        return load(path)
    except RunError:
        return {}
