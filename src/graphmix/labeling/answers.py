"""Answers: what a person said of nodes, one after the other, and what holds now."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from graphmix.errors import DataError
from graphmix.labeling.log import NUMBER
from graphmix.tables.cells import MISSING
from graphmix.text import visible

LABEL, SKIP, UNSURE, UNDO = "label", "skip", "unsure", "undo"
ACTS = (LABEL, SKIP, UNSURE)
LONGEST_CLASS = 200
LONGEST_KEY = 64


@dataclass(frozen=True)
class Answer:
    """What was said of a node.

    Attributes:
        number: its number in the log.
        act: "label", "skip" or "unsure".
        node: the node's id.
        label: the class, for "label"; else None.
        key: what the page calls the answer: an answer that is sent twice counts once.
    """

    number: int
    act: str
    node: str
    label: str | None = None
    key: str = ""


class Answers:
    """The answers that were not taken back, in order.

    "unsure" takes the label of a node away; "skip" leaves it as it is. Threads that share them need a lock.

    Attributes:
        given: the labels of the start, by id.
        standing: the answers.
        keys: those of all answers, and of what took them back.
        taken: what was taken back, by the key of what did so.

    Example:
        >>> answers = Answers({"a": "x", "b": None})
        >>> answers.replay([{"n": 1, "act": "label", "node": "b", "label": "y"}, {"n": 2, "act": "undo", "of": 1}])
        >>> answers.label_of("b"), answers.label_of("a")
        (None, 'x')
    """

    def __init__(self, given: Mapping[str, str | None]) -> None:
        self.given = given
        self.standing: list[Answer] = []
        self.keys: set[str] = set()
        self.taken: dict[str, Answer] = {}
        self._of: dict[str, list[Answer]] = {}
        self._given_counts = Counter(label for label in given.values() if label is not None)

    def replay(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Apply the records of a log.

        Raises:
            DataError: a record is not one of these answers, or names a node that is not in the table.
        """
        for record in records:
            self.apply(record)

    def apply(self, record: Mapping[str, Any]) -> None:
        """Apply one record."""
        number, key = record[NUMBER], str(record.get("key", ""))
        self.keys.add(key)
        if record.get("act") == UNDO:
            if self.last is None or self.last.number != record.get("of"):
                raise DataError(f"answer {number} takes back answer {record.get('of')!r}, which is not the last")
            taken = self.taken[key] = self.standing.pop()
            self._of[taken.node].pop()
            return
        answer = Answer(
            number,
            str(record.get("act")),
            str(record.get("node")),
            record.get("label") if record.get("act") == LABEL else None,
            key,
        )
        if answer.act not in ACTS or answer.node not in self.given:
            what = f"names node {answer.node!r}, which is not in the table" if answer.act in ACTS else "is unknown"
            raise DataError(f"answer {number} {what}")
        if answer.act == LABEL and not isinstance(answer.label, str):
            raise DataError(f"answer {number} has no class")
        self.standing.append(answer)
        self._of.setdefault(answer.node, []).append(answer)

    @property
    def last(self) -> Answer | None:
        """The last answer that was not taken back."""
        return self.standing[-1] if self.standing else None

    def stands(self, key: str) -> bool:
        """Whether the answer with a key was given and not taken back since."""
        return any(each.key == key for each in reversed(self.standing))

    def of(self, node: str) -> Answer | None:
        """Return the last answer about a node."""
        held = self._of.get(node)
        return held[-1] if held else None

    def label_of(self, node: str) -> str | None:
        """Return the label that a node has now."""
        for answer in reversed(self._of.get(node, ())):
            if answer.act != SKIP:
                return answer.label
        return self.given[node]

    def changed(self) -> dict[str, str | None]:
        """Return the labels that differ from the table's, by id."""
        now = {node: self.label_of(node) for node in self._of}
        return {node: label for node, label in now.items() if label != self.given[node]}

    def counts(self) -> dict[str, int]:
        """Return how many nodes have each label, without looking at those that nobody spoke of."""
        now = self._given_counts.copy()
        for node, label in self.changed().items():
            was = self.given[node]
            now.subtract([was] if was is not None else [])
            now.update([label] if label is not None else [])
        return {label: count for label, count in now.items() if count}

    def labels(self) -> dict[str, str | None]:
        """Return the labels of all nodes, in the order of the table."""
        return {**self.given, **self.changed()}


def check_class(given: Any, encoding: str = "utf-8") -> str:
    """Return the name of a class without outer spaces.

    Raises:
        DataError: it is empty, too long, has control characters, would be read as a missing label, or cannot be written
            in the table's encoding.
    """
    if not isinstance(given, str) or not given.strip():
        raise DataError("a class needs a name")
    name = given.strip()
    if len(name) > LONGEST_CLASS:
        raise DataError(f"the name of a class may have {LONGEST_CLASS} characters, not {len(name):,}")
    if visible(name) != name:
        raise DataError("the name of a class must not have control characters")
    if name in MISSING:
        raise DataError(f"a table's cell {name!r} means that there is no label; choose another name")
    if name.lower() in ("true", "false"):
        # Tables are read so too.
        name = name.lower()
    try:
        name.encode(encoding)
    except UnicodeEncodeError as error:
        raise DataError(f"the table is in {encoding}, which cannot write the class {name!r}") from error
    return name
