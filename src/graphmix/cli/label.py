"""graphmix label: a page to label nodes on."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from graphmix.cli.busy import busy
from graphmix.cli.durations import parse_duration
from graphmix.cli.fit import OF_COLUMNS, columns_of, fit
from graphmix.cli.interrupts import always_raised
from graphmix.cli.options import LIMIT_HELP, NO_HEADER_HELP, Device, option, options_of
from graphmix.cli.paths import require_files, require_model
from graphmix.cli.screen import announce, say, tell
from graphmix.distribution import importing
from graphmix.errors import ConfigError
from graphmix.files import check_output
from graphmix.limits import Limits
from graphmix.storage.folders import LABELS, check_no_links, make_folder
from graphmix.text import counted
from graphmix.workflow.columns import Columns
from graphmix.workflow.options import FitOptions, check_shares

if TYPE_CHECKING:
    from socket import socket

    from graphmix.labeling.begin import Begun, Matter
    from graphmix.labeling.session import Session

TABLES = "To begin without a model: the tables"
TRAINING = "Training in the background"
PAGE = "The page"


@options_of(fit, *OF_COLUMNS, before="encoding", panel=TABLES)
def label(
    model: Annotated[
        Path | None, typer.Argument(help="Folder of a model, or of labeling that was begun.", show_default=False)
    ] = None,
    nodes: Annotated[
        Path | None, option("Table of nodes; with a model, the one that it was fitted on, if it has moved.", TABLES)
    ] = None,
    edges: Annotated[Path | None, option("Table of edges.", TABLES)] = None,
    label_column: Annotated[str | None, option("Column of classes, which may be empty.", TABLES, "--label")] = None,
    out: Annotated[Path | None, option("The model's folder: new or empty.", TABLES, "--out", "-o")] = None,
    classes: Annotated[
        str | None, option("Classes to choose from, comma-separated, besides those of the table.", TABLES)
    ] = None,
    encoding: Annotated[str, option("Encoding of text files (default: utf-8).", TABLES)] = "utf-8",
    no_header: Annotated[list[str] | None, option(NO_HEADER_HELP, TABLES, "--no-header")] = None,
    limit: Annotated[list[str] | None, option(LIMIT_HELP, TABLES, "--limit")] = None,
    target_accuracy: Annotated[
        float | None,
        option(f"The accuracy that predictions are to meet (default: {FitOptions.target_accuracy}).", TABLES),
    ] = None,
    every: Annotated[int, option("Train after so many answers (default: 5).", TRAINING)] = 5,
    time_limit: Annotated[
        str, option("How long a round may take: 90s or 5m; what does not fit is left out (default: 2m).", TRAINING)
    ] = "2m",
    device: Device = "auto",
    port: Annotated[int, option("Port of the page (default: any that is free).", PAGE)] = 0,
    browser: Annotated[
        bool, option("Open the page in the browser (default: yes).", PAGE, "--browser/--no-browser")
    ] = True,
    write: Annotated[
        Path | None, option("Only write the labeled table to this file, in the format of the input.", PAGE)
    ] = None,
    force: Annotated[bool, option("Replace the file of --write if it exists.", PAGE, "--force")] = False,
    **of_columns: Any,
) -> None:
    """Label nodes on a page in the browser: the next ones to ask about, and given labels that look wrong.

    The page is served to this machine alone. Every answer is on the disk before the next node is shown, and a model is
    trained on the answers in the background. The same command continues where it ended.
    """
    if every < 1:
        raise ConfigError(f"`every` must be at least 1, not {every}")
    if (model is None) == (out is None):
        raise ConfigError("give a model's folder, or tables and `out` to begin without a model")
    seconds, limits = parse_duration(time_limit, "time_limit"), Limits.parse(limit or ())
    ignore_unknown = of_columns.pop("ignore_unknown")
    rest = {"label": label_column, "link_label": None, "split": None, "encoding": encoding, "no_header": no_header}
    columns = columns_of(of_columns | rest)
    if target_accuracy is not None:
        check_shares(target_accuracy=target_accuracy)
    asked = _Asked(nodes, edges, columns, _split(classes), ignore_unknown, target_accuracy, limits)
    folder = model or out
    assert folder is not None  # one of them is given
    with importing("graphmix label", "label"):
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    if write is not None:
        _write(folder, _open(folder, asked, with_model=model is not None, write=write), write, force)
        return
    from graphmix.labeling.address import listen

    # First: a port that is taken leaves no folder.
    with listen(port) as listening:
        matter = _open(folder, asked, with_model=model is not None, write=None)
        _serve(folder, matter, listening, browser=browser, every=every, device=device, seconds=seconds)


class _Asked:
    """What the options say about a beginning."""

    def __init__(
        self,
        nodes: Path | None,
        edges: Path | None,
        columns: Columns,
        classes: tuple[str, ...],
        ignore_unknown: bool,
        target_accuracy: float | None,
        limits: Limits,
    ) -> None:
        self.nodes, self.edges, self.columns, self.classes = nodes, edges, columns, classes
        self.ignore_unknown, self.target_accuracy, self.limits = ignore_unknown, target_accuracy, limits

    def unused(self, *used: str) -> list[str]:
        """Return the options that were given and have no effect."""
        given: dict[str, Any] = {
            "nodes": self.nodes,
            "edges": self.edges,
            "classes": self.classes,
            "ignore_unknown": self.ignore_unknown,
            "target_accuracy": self.target_accuracy,
        }
        shared = {name: value for name, value in vars(self.columns).items() if value and value != "utf-8"}
        names = {"features": "feature"}
        return [names.get(name, name) for name, value in (given | shared).items() if value and name not in used]


def _open(folder: Path, asked: _Asked, *, with_model: bool, write: Path | None) -> "Matter":
    """Begin in a folder, or continue there, and read what is to be labeled."""
    begun_before = (folder / LABELS / "session.json").exists()
    require_files(asked.nodes, asked.edges)
    if not begun_before and with_model:
        require_model(folder)
    if not begun_before and write is not None:
        raise ConfigError(f"labeling has not begun in {folder}: there is nothing to write")
    if not begun_before and not with_model and (asked.nodes is None or asked.edges is None or not asked.columns.label):
        raise ConfigError("to begin without a model, give `nodes`, `edges` and `label`")
    for each in (folder, folder / LABELS):
        check_no_links(each)
    with busy("starting"):
        from graphmix.labeling.begin import check_labels, read_matter, store, stored

    begun, loaded = stored(folder), None
    if begun is not None:
        _warn(asked.unused(), f"labeling in {folder} continues as it began")
    else:
        begun, loaded = _begin(folder, asked, with_model)
    announce("reading the tables")
    with busy("reading the tables"):
        matter = read_matter(folder, begun, asked.limits, loaded)
    if not begun_before:
        check_labels(matter)
        make_folder(folder / LABELS)
        store(folder, begun)
        if matter.table is None:
            tell("· the table of nodes is not where the fit read it; `nodes` names it, or only ids are shown")
    return matter


def _begin(folder: Path, asked: _Asked, with_model: bool) -> "tuple[Begun, Any]":
    from graphmix.labeling.begin import begin_with_model, begin_with_tables, check_new_folder
    from graphmix.workflow.model import load_model

    if with_model:
        _warn(asked.unused("nodes", "classes"), f"{folder} knows its columns and its graph")
        with busy("reading the model"):
            model = load_model(folder)
        return begin_with_model(folder, model, asked.nodes, asked.classes, asked.limits), model
    check_new_folder(folder)
    assert asked.nodes is not None  # _open has checked
    assert asked.edges is not None
    begun = begin_with_tables(
        asked.nodes,
        asked.edges,
        asked.columns,
        asked.classes,
        ignore_unknown=asked.ignore_unknown,
        target_accuracy=asked.target_accuracy or FitOptions.target_accuracy,
        coverage=FitOptions.coverage,
    )
    return begun, None


def _warn(unused: list[str], why: str) -> None:
    if unused:
        say(f"graphmix: {why}: {', '.join(f'`{name}`' for name in unused)} has no effect")


def _write(folder: Path, matter: "Matter", path: Path, force: bool) -> None:
    from graphmix.labeling.begin import OWN_MODEL
    from graphmix.labeling.written import read_labeled
    from graphmix.workflow.places import model_files

    tables = [None if each is None else Path(each) for each in (matter.begun.nodes, matter.begun.edges)]
    place = folder / LABELS
    folders = [each for each in (folder, place, place / OWN_MODEL) if each.is_dir()]
    # The answers above all.
    own = [file for each in folders for file in model_files(each)]
    check_output(path, inputs=[*tables, *own], force=force, parameter="write")
    content, labels = read_labeled(folder, matter)
    from graphmix.storage.files import write_bytes

    write_bytes(path, content)
    tell(f"{counted(labels, 'label')} written to {path}")


def _serve(folder: Path, matter: "Matter", listening: "socket", *, browser: bool, **options: Any) -> None:
    import webbrowser

    from graphmix.labeling.address import address, new_token, redirect
    from graphmix.labeling.begin import own_model
    from graphmix.labeling.explaining import Reasons
    from graphmix.labeling.server import serve
    from graphmix.labeling.session import opened

    with opened(folder, matter, **options) as session:
        token = new_token()
        page = address(listening, token)
        if session.dropped:
            tell("· the last line of the answers was cut off in the middle, before it was acknowledged; it is left out")
        _tell_state(session)
        tell(f"Label on {page} (only this machine can open it); Ctrl-C ends")
        session.begin()
        if browser:
            webbrowser.open(redirect(session.scratch, page).absolute().as_uri())
        try:
            with always_raised():
                serve(session, listening, token, Reasons(folder, matter))
        except KeyboardInterrupt:
            # The usual way to end it.
            pass
        where = session.table_path
    tell(f"The labeled table is in {where}; the same command continues")
    trained = own_model(folder, matter.begun)
    if any(each.needs is None and each.stage != "look" for each in session.rounds):
        tell(f"The model of the last round is in {trained}; graphmix fit on the labeled table tries more methods")


def _tell_state(session: "Session") -> None:
    given = counted(len(session.answers.standing), "answer")
    tell(f"{given} so far in {session.folder}")


def _split(classes: str | None) -> tuple[str, ...]:
    return () if classes is None else tuple(part for part in (each.strip() for each in classes.split(",")) if part)
