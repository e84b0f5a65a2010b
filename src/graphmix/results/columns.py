"""What became of every column of the tables."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from graphmix.results.schema import Count

LEFT_OUT = "left out"


@dataclass(frozen=True)
class ColumnUse:
    """What became of a column.

    Attributes:
        table: the table's name.
        name: the column's.
        read_as: its role, such as `id` or `label`; how its cells are read, such as `number`; or `left out`.
        features: how many features it gives.
        remark: what is missing or odd, or why it is left out; may be empty.
    """

    table: str
    name: str
    read_as: str
    features: Count
    remark: str = ""


def shown_uses(uses: Sequence[ColumnUse], most: int) -> tuple[list[ColumnUse], str]:
    """Return the columns there is room for, in their order, and a sentence on the others.

    Those about which there is something to say come before those that are plain features.
    """
    places = sorted(range(len(uses)), key=lambda place: not (uses[place].remark or not uses[place].features))
    shown = sorted(places[:most])
    rest = Counter(uses[place].read_as for place in sorted(places[most:]))
    if not rest:
        return list(uses), ""
    kinds = ", ".join(f"{count:,} {read_as}" for read_as, count in rest.items())
    return [uses[place] for place in shown], f"and {sum(rest.values()):,} more: {kinds}"
