"""graphmix data: list and download datasets, and write example tables."""

import shlex
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.table import Table

from graphmix import data
from graphmix.cli.flags import Command
from graphmix.cli.options import DataRoot
from graphmix.cli.screen import announce, output, tell

app = typer.Typer(help="List and download datasets, and write example tables.", no_args_is_help=True)

_HOLDS = {
    "nodes.csv": f"districts; the label, {data.EXAMPLE_LABEL}, is known for 80",
    "edges.csv": "borders between them",
    "truth.csv": "the votes that nodes.csv leaves out",
    "new_nodes.csv": "districts that came later",
    "new_edges.csv": "their borders",
}
HERE, MISSING, BUILT_IN = "here", "not here", "built in"


@app.command("list", cls=Command)
def list_datasets(data_root: DataRoot = None) -> None:
    """List the datasets, their sizes, and where their files are on this machine."""
    places = {name: data.where(name, data_root) for name in data.DATASETS}
    output.print(datasets_table(places))
    for line in ("", *notes(places)):
        # Broken between words, not by the terminal.
        output.print(line, highlight=False)


@app.command("get", cls=Command)
def get_dataset(
    name: Annotated[str, typer.Argument(help="A name from `graphmix data list`.")], data_root: DataRoot = None
) -> None:
    """Download a dataset unless it is here. Files with a known SHA-256 are checked."""
    files = data.get(name, data_root, announce)
    if files:
        count = "1 file" if len(files) == 1 else f"{len(files)} files"
        state = "checked" if data.has_checksums(name) else "not checked: no SHA-256 is known"
        tell(f"{count}, {state}, in {files[0].parent}")
    else:
        tell(f"{name} is built in; there is nothing to download")


@app.command("example", cls=Command)
def write_example(
    folder: Annotated[Path, typer.Argument(help="Folder for the tables; made if it is missing.")],
    force: Annotated[bool, typer.Option("--force", help="Replace these files if they exist.")] = False,
) -> None:
    """Write example tables for `graphmix fit`: districts of an invented country, their borders, and a vote.

    The vote of 80 of 588 districts is known. Twelve more districts are for `graphmix predict`, and truth.csv, with the
    votes of all others, is for checking predictions.
    """
    files = data.write_districts(folder, force=force)
    output.print(example_table(files))
    nodes, edges, *_ = (shlex.quote(str(path)) for path in files)
    tell(f"Tables written to {folder}")
    tell(f"Next: graphmix fit --nodes {nodes} --edges {edges} --label {data.EXAMPLE_LABEL} --out model")


def example_table(files: list[Path]) -> Table:
    """Lay out the example's files, one row each."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for column in ("file", "rows", "what it holds"):
        table.add_column(column, justify="right" if column == "rows" else "left")
    for path in files:
        rows = len(path.read_text(encoding="utf-8").splitlines()) - 1
        table.add_row(path.name, f"{rows:,}", _HOLDS[path.name])
    return table


def datasets_table(places: dict[str, Path | None]) -> Table:
    """Lay out the datasets, one row each, within 80 columns."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for column in ("name", "nodes", "edges", "features", "classes", "split", "files"):
        table.add_column(column, justify="left" if column in ("name", "split", "files") else "right", no_wrap=True)
    for name, place in places.items():
        info = data.DATASETS[name]
        sizes = (f"{size:,}" for size in (info.nodes, info.edges, info.features, info.classes))
        state = BUILT_IN if info.files is None else MISSING if place is None else HERE
        table.add_row(name, *sizes, info.split, state)
    return table


def notes(places: dict[str, Path | None]) -> list[str]:
    """Say what the table has no room for: the folders, how to download, and where links are classified."""
    by_root: dict[Path, list[str]] = {}
    for name, place in places.items():
        files = data.DATASETS[name].files
        if place is not None and files is not None:
            folder = Path(files.folder).parts
            root = place.parents[len(folder) - 1] if place.parts[-len(folder) :] == folder else place
            by_root.setdefault(root, []).append(name)
    lines = [f"In {root}: {', '.join(names)}." for root, names in by_root.items()]
    if any(place is None and data.DATASETS[name].files for name, place in places.items()):
        lines.append("`graphmix data get NAME` downloads a dataset that is not here.")
    links = ", ".join(name for name, info in data.DATASETS.items() if info.task == "links")
    return [*lines, f"In {links} the links are classified; they are counted as nodes."]
