"""The labeled table from the answers on the disk, also while a page is open on them."""

from pathlib import Path

from graphmix.errors import DataError, RunError
from graphmix.labeling.answers import Answers
from graphmix.labeling.begin import Matter, check_same
from graphmix.labeling.export import labeled_table, two_columns
from graphmix.labeling.log import read_log
from graphmix.storage.folders import LABELS

ANSWERS = "answers.jsonl"


def replayed(folder: Path, matter: Matter, records: list[dict[str, object]]) -> Answers:
    """Return the answers that stand.

    Raises:
        RunError: they are not about these nodes.
    """
    problem = matter.problem
    answers = Answers(dict(zip(problem.ids, problem.labels, strict=True)))
    try:
        answers.replay(records)
    except DataError as error:
        raise RunError(f"{folder / LABELS / ANSWERS} does not suit the table: {error}") from error
    return answers


def read_labeled(folder: Path, matter: Matter) -> tuple[bytes, int]:
    """Return the content of the labeled table, and how many labels it has."""
    answers = replayed(folder, matter, read_log(folder / LABELS / ANSWERS).records)
    labels = [label for label in answers.labels().values() if label is not None]
    return written(folder, matter, answers.changed(), list(answers.labels().values())), len(labels)


def written(folder: Path, matter: Matter, changed: dict[str, str | None], labels: list[str | None]) -> bytes:
    """Return the labeled table in the format of the input; ids and labels alone if the input is not at hand.

    Raises:
        DataError: the input has changed since labeling began.
    """
    problem, nodes = matter.problem, matter.begun.nodes
    if nodes is None:
        ((heading, ids),) = problem.row_names().items()
        return two_columns(heading, ids, matter.label, labels)
    check_same(Path(nodes), matter.begun.nodes_sha256, folder)
    in_order = sorted(range(len(problem.ids)), key=matter.rows.__getitem__)
    new = changed if matter.holds_labels else dict(zip(problem.ids, labels, strict=True))
    return labeled_table(Path(nodes), matter.columns, [problem.ids[node] for node in in_order], new)


def table_name(matter: Matter) -> str:
    """Return the name of the labeled table: it ends as the input does."""
    nodes = matter.begun.nodes
    endings = [".csv"] if nodes is None else Path(nodes).suffixes
    kept = endings[-2:] if endings[-1].lower() == ".gz" else endings[-1:]
    return f"labeled{''.join(kept)}"
