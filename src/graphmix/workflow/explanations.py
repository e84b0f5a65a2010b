"""Explanations: the reasons for several predictions, as a table, as JSON, and for a notebook."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from graphmix.notebook import html_text
from graphmix.workflow.explanation import Explanation
from graphmix.workflow.output import OutputTable

_DIGITS = 6
_HEADINGS = ("part", "name", "hops", "class", "probability", "effect", "around")


@dataclass(frozen=True, eq=False)
class Explanations:
    """The reasons for predictions, one explanation for each.

    Attributes:
        title: what the predictions are of: the name of the graph.
        rows: the explanations, in the order that was asked for.
    """

    title: str
    rows: tuple[Explanation, ...]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Explanation]:
        return iter(self.rows)

    def __getitem__(self, place: int) -> Explanation:
        return self.rows[place]

    def __repr__(self) -> str:
        return f"Explanations({self.title!r}: {len(self.rows):,} predictions)"

    def _repr_html_(self) -> str:
        return "".join(html_text(f"{each.name}: {each.predicted}", each.sentences) for each in self.rows)

    @property
    def text(self) -> str:
        """All reasons in words, a paragraph for each prediction."""
        return "\n\n".join(" ".join(each.sentences) for each in self.rows)

    @property
    def table(self) -> OutputTable:
        """All numbers, a line for each: the ids, part, name, hops, class, probability and effect.

        The part is step, neighbour, column, word, label or change. Of a label the effect is its share; of a column or
        word it is that in this row, and `around` that in all rows nearby. Ids in a column that is called like one of
        these are called `id`, or `source` and `target`.
        """
        own = tuple(self.rows[0].names) if self.rows else ()
        # Columns of ids that are called like one of these get another name.
        usual = ("id",) if len(own) == 1 else ("source", "target")
        keys = usual if set(own) & set(_HEADINGS) else own
        lines = [line for each in self.rows for line in _lines(each, keys)]
        return OutputTable({heading: [line.get(heading) for line in lines] for heading in (*keys, *_HEADINGS)}, keys)

    def to_pandas(self) -> Any:
        """Return the table as a `pandas.DataFrame`."""
        return self.table.to_pandas()

    def to_json(self) -> list[dict[str, Any]]:
        """Return everything as plain data: what the page and other programs read."""
        return [{**asdict(each), "sentences": list(each.sentences)} for each in self.rows]

    def write(self, path: Path | str, *, escape_formulas: bool = False) -> None:
        """Write the table as CSV, TSV or Parquet, as `OutputTable.write` does."""
        self.table.write(path, escape_formulas=escape_formulas)


def _lines(each: Explanation, keys: Sequence[str]) -> Iterator[dict[str, Any]]:
    def line(part: str, name: str, **values: Any) -> dict[str, Any]:
        rounded = {key: round(value, _DIGITS) if isinstance(value, float) else value for key, value in values.items()}
        return {**dict(zip(keys, each.names.values(), strict=True)), "part": part, "name": name, **rounded}

    for step in each.steps:
        yield line("step", step.name, hops=step.hops, probability=step.probability, **{"class": each.predicted})
    for one in each.neighbours:
        yield line("neighbour", one.name, hops=one.hops, effect=one.effect, **{"class": one.label or one.predicted})
    for cell in each.cells:
        part, name = ("column", cell.column) if cell.word is None else ("word", cell.word)
        yield line(part, name, effect=cell.own, around=cell.around)
    for label in each.labels:
        yield line("label", label.name, hops=label.hops, effect=label.share, **{"class": label.label})
    for flip in each.flips:
        yield line("change", "; ".join(flip.left_out), probability=flip.probability, **{"class": flip.predicted})
