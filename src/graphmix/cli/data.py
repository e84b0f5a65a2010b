"""graphmix data: which datasets there are, and fetching them."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from graphmix import data
from graphmix.cli.screen import output, report

app = typer.Typer(help="List and fetch datasets.", no_args_is_help=True)

DataRoot = Annotated[
    Path | None,
    typer.Option("--data-root", help="Folder with the raw files (default: GRAPHMIX_DATA, then the user's cache)."),
]


@app.command("list")
def list_datasets(data_root: DataRoot = None) -> None:
    """Show every dataset, its size, and where it is on this machine."""
    table = Table()
    for column in ("name", "nodes", "edges", "features", "classes"):
        table.add_column(column, justify="left" if column == "name" else "right", no_wrap=column == "name")
    table.add_column("split")
    table.add_column("where", overflow="fold")
    for name, info in data.DATASETS.items():
        sizes = (f"{size:,}" for size in (info.nodes, info.edges, info.features, info.classes))
        place = data.where(name, data_root)
        table.add_row(name, *sizes, info.split, _place(name, place))
    output.print(table)
    links = ", ".join(name for name, info in data.DATASETS.items() if info.task == "links")
    output.print(f"What is classified are nodes; in {links} links, which are counted as nodes here.", markup=False)


@app.command("get")
def get_dataset(
    name: Annotated[str, typer.Argument(help="A name from `graphmix data list`.")], data_root: DataRoot = None
) -> None:
    """Make sure a dataset's files are on this machine, each checked against its SHA-256 where one is known."""
    files = data.get(name, data_root, report)
    if files:
        count = "1 file" if len(files) == 1 else f"{len(files)} files"
        state = "checked" if data.has_checksums(name) else "of which no checksum is known"
        output.print(f"{count}, {state}, in {files[0].parent}", markup=False, soft_wrap=True)
    else:
        output.print(f"{name} is made on the spot; there is nothing to fetch", markup=False)


def _place(name: str, place: Path | None) -> str:
    if place is not None:
        return str(place)
    return "built in" if data.DATASETS[name].files is None else f"not here: graphmix data get {name}"
