"""Model folders, run folders and records that were tampered with."""

import hashlib
import json
import shutil
from pathlib import Path
from random import Random

from bad_inputs import stock
from bad_inputs.case import Case, Place
from bad_inputs.damage import changed_json, damaged_bytes, damaged_tensors, odd_json_text, replace_file
from bad_inputs.stock import MODELS, QUICK, RUNS

_TABLES = ("--nodes", "new.csv", "--edges", "new-edges.csv")


def model_folder(place: Place) -> Case:
    """Predict, explain, advise or report with a model of which something was changed."""
    rng = place.rng
    name = rng.choice(MODELS)
    stock.copy(place.stock, place.work, name, "new.csv", "new-edges.csv", "new-links.csv")
    model = Path(name).name
    folder = place.work / model
    what = [tamper(place, folder) for _ in range(rng.choice([1, 1, 1, 2]))]
    if rng.random() < 0.6:
        _recompute(folder)
        what.append("checksums recomputed")
    links = "links" in name
    command = rng.choice(["predict", "predict", "predict", "explain", "advise", "report"])
    if command == "predict":
        tables = [(), ("--edges", "new-links.csv") if links else _TABLES, _TABLES][rng.randrange(3)]
        arguments, writes = ("predict", model, *tables, "--out", "out.csv"), ("out.csv",)
    elif command == "explain":
        arguments, writes = ("explain", model, "p1,p2" if links else "p1", "--out", "out.csv"), ("out.csv",)
    elif command == "advise":
        arguments, writes = ("advise", model, "--device", "cpu", "--count", "3"), ()
    else:
        arguments, writes = ("report", model, "--out", "page.html"), ("page.html",)
    return Case(what=f"{name}: {'; '.join(what)}", arguments=arguments, writes=writes)


def run_folder(place: Place) -> Case:
    """Report on a run that was changed, or train on in it."""
    rng = place.rng
    name = rng.choice(RUNS)
    stock.copy(place.stock, place.work, name, "graph.npz")
    run = Path(name).name
    what = tamper(place, place.work / run)
    if rng.random() < 0.7:
        return Case(what=f"{name}: {what}", arguments=("report", run, "--out", "page.html"), writes=("page.html",))
    # A run that lost its results is unfinished, and goes on.
    if rng.random() < 0.7:
        for path in (place.work / run).rglob("results.json"):
            path.unlink() if not path.is_dir() else None
        what += "; unfinished"
    if run == "demo":
        arguments: tuple[str, ...] = ("demo", *QUICK, "--no-report", "--out", run)
    else:
        arguments = ("train", "graph.npz", *QUICK, "--no-report", "--out", run)
    return Case(what=f"{name}: {what}", arguments=arguments, writes=(run,), keeps=True, small=run == "demo")


def fit_folder(place: Place) -> Case:
    """Continue a fit in a folder that was changed."""
    rng = place.rng
    stock.copy(place.stock, place.work, "model", "nodes.csv", "edges.csv")
    if rng.random() < 0.8:
        (place.work / "model" / "model.json").unlink()
    what = tamper(place, place.work / "model")
    arguments = ("fit", *stock.NODES, *stock.FIT, "--methods", "graphmix", "--no-report", "--resume", "--out", "model")
    return Case(what=what, arguments=arguments, writes=("model",), keeps=True)


def record(place: Place) -> Case:
    """Report on a record that was changed, or on a folder with one."""
    rng = place.rng
    source = rng.choice(sorted((place.stock / "results").iterdir()) + sorted((place.stock / "select").glob("*.json")))
    folder = place.work / "results"
    folder.mkdir()
    target = folder / source.name
    shutil.copyfile(source, target)
    what = f"{source.name}: {_change(rng, target)}"
    given = rng.choice(["results", f"results/{source.name}"])
    return Case(what=what, arguments=("report", given, "--out", "page.html"), writes=("page.html",))


def reproduction(place: Place) -> Case:
    """Reproduce, or select, on in a folder that was changed."""
    rng = place.rng
    name = rng.choice(["reproduction", "select"])
    stock.copy(place.stock, place.work, name, "graph.npz")
    what = tamper(place, place.work / name)
    given = next(
        command for command in stock.COMMANDS if command[0] == ("reproduce" if name == "reproduction" else "select")
    )
    codes = frozenset({0, 1, 2}) if name == "reproduction" else frozenset({0, 2})
    return Case(what=what, arguments=given, writes=(name,), codes=codes, keeps=True, small=True)


def search_folder(place: Place) -> Case:
    """Go on with a search in a folder that was changed, report on it, or read another space."""
    rng = place.rng
    stock.copy(place.stock, place.work, "search", "graph.npz", "space.toml")
    if rng.random() < 0.3:
        what = f"space.toml: {_change(rng, place.work / 'space.toml')}"
        arguments: tuple[str, ...] = (
            "tune",
            "graph.npz",
            *stock.SEARCH,
            "--points",
            "1",
            "--no-report",
            "--out",
            "new",
        )
        return Case(what=what, arguments=arguments, writes=("new",))
    what = tamper(place, place.work / "search")
    if rng.random() < 0.4:
        return Case(what=what, arguments=("report", "search", "--out", "page.html"), writes=("page.html",))
    more = ("--points", "4", "--check-trials", "0", "--no-report", "--out", "search")
    return Case(what=what, arguments=("tune", "graph.npz", *stock.SEARCH, *more), writes=("search",), keeps=True)


def tamper(place: Place, folder: Path) -> str:
    """Change one file of a folder, or the folder itself."""
    rng = place.rng
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix != ".html")
    if not files:
        return "empty"
    if rng.random() < 0.05:
        (folder / rng.choice([".hidden", "x.json", "notes.txt", "weights-0123456789abcdef.safetensors"])).write_text(
            "{}"
        )
        return "a file more"
    path = rng.choice(files)
    name = path.relative_to(folder)
    style = rng.random()
    if style < 0.12:
        return f"{name}: {replace_file(rng, path)}"
    if style < 0.2:
        other = rng.choice([file for file in (place.stock / rng.choice(MODELS)).rglob("*") if file.is_file()])
        shutil.copyfile(other, path)
        return f"{name} is the {other.name} of {other.parent.name}"
    return f"{name}: {_change(rng, path)}"


def _change(rng: Random, path: Path) -> str:
    """Damage a file by what it holds."""
    content = path.read_bytes()
    if rng.random() < 0.25 or path.suffix not in (".json", ".safetensors"):
        how, content = damaged_bytes(rng, content)
    elif path.suffix == ".safetensors":
        try:
            how, content = damaged_tensors(rng, content)
        except (ValueError, KeyError, TypeError, AttributeError):  # it was changed already
            how, content = damaged_bytes(rng, content)
    else:
        try:
            value = json.loads(content)
        except (ValueError, RecursionError):
            value = {}
        if rng.random() < 0.2:
            how, text = odd_json_text(rng, value)
        else:
            how, value = changed_json(rng, value)
            text = json.dumps(value)
        content = text.encode("utf-8", "surrogatepass")
    path.write_bytes(content)
    return how


def _recompute(folder: Path) -> None:
    """Make a folder's checksums right again, as an attacker would."""
    for path in (folder / "model.json", folder / "classifier.json"):
        if not path.is_file():
            continue
        try:
            described = json.loads(path.read_bytes())
            for part in described.get("parts", {}).values():
                part["sha256"] = _sha256(folder / part["file"])
            sums = described.get("checksums")
            for file in sums if isinstance(sums, dict) else ():
                sums[file] = _sha256(folder / file)
            rest = {key: value for key, value in described.items() if key != "sha256"}
            described["sha256"] = hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()
            path.write_text(json.dumps(described))
        except (OSError, ValueError, RecursionError, AttributeError, TypeError, KeyError):
            continue  # nothing left to make right


def _sha256(path: Path) -> str:
    if not path.is_file():  # a pipe would never end
        raise FileNotFoundError(path)
    return hashlib.sha256(path.read_bytes()).hexdigest()
