"""The kinds of columns that become features: one entry each.

To add a kind, write a class with the members of `Column`, add its entry here, and let `choosing.py` find it.
Nothing here imports numpy or pyarrow, so that the help of a command can list the kinds at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, Self

from graphmix.errors import DataError

if TYPE_CHECKING:
    from graphmix.tables.table import Table

NUMBER, DATE, CATEGORY, TEXT, EMBEDDING, TOKENS = "number", "date", "category", "text", "embedding", "tokens"
# Where the class of each kind is.
_CLASSES = {
    NUMBER: ("graphmix.tables.numeric", "Number"),
    DATE: ("graphmix.tables.moments", "Date"),
    CATEGORY: ("graphmix.tables.words", "Category"),
    TEXT: ("graphmix.tables.words", "Text"),
    EMBEDDING: ("graphmix.tables.numeric", "Embedding"),
    TOKENS: ("graphmix.tables.words", "Tokens"),
}
KINDS = tuple(_CLASSES)
# How notes on missing cells end.
MEAN_USED, ALL_ZERO = "; the mean is used", "; all features 0"


class Encoded(NamedTuple):
    """A column, or a whole table, as features.

    Attributes:
        x: float32 `[rows, features]`, a numpy array or a scipy sparse array.
        notes: sentences on what was missing, new or unusual.
    """

    x: Any
    notes: list[str]


class Column(Protocol):
    """What was learned from a column, and how it encodes the same column of other tables.

    A frozen dataclass, whose fields are stored as JSON: text, numbers, booleans, and tuples of these.
    """

    kind: ClassVar[str]

    @property
    def name(self) -> str:
        """The column."""

    @property
    def feature_names(self) -> list[str]:
        """One name per feature."""

    @classmethod
    def check(cls, table: "Table", name: str) -> str:
        """Check that a column can be of this kind; return a note for the user, or "".

        Raises:
            DataError: it cannot.
        """

    @classmethod
    def fit(cls, table: "Table", name: str) -> Self:
        """Learn from a column."""

    def encode(self, table: "Table") -> Encoded:
        """Turn the column of a table into features.

        Raises:
            DataError: it cannot be of this kind.
        """

    @classmethod
    def from_json(cls, value: Any) -> Self:
        """Read the fields, as `Encoders.to_json` stored them.

        Raises:
            DataError: they are damaged.
        """


def column_class(kind: str) -> type[Column]:
    """Return the class of a kind.

    Raises:
        DataError: there is no such kind.
    """
    if kind not in _CLASSES:
        raise DataError(f"there is no kind {kind!r}; the kinds are {', '.join(KINDS)}")
    module, name = _CLASSES[kind]
    found: type[Column] = getattr(import_module(module), name)
    return found
