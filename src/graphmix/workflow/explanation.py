"""Explanation: the reasons for one prediction, in words and as numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from graphmix.text import counted, signed

# Effects below this share are not worth a word: half a percentage point.
SMALL = 0.005
_NAMED = 3


@dataclass(frozen=True)
class Step:
    """How probable the predicted class is when only a part of what is known may be used.

    Attributes:
        name: what is used besides the parts before.
        hops: how far away it is; None for all that is further away.
        probability: of the predicted class.
    """

    name: str
    hops: int | None
    probability: float


@dataclass(frozen=True)
class Neighbour:
    """Another node and what it does to the prediction.

    Attributes:
        name: its id.
        hops: how far away it is.
        label: its given label; None if it has none.
        predicted: its own prediction.
        effect: by how much the probability falls without the node; negative if it rises.
    """

    name: str
    hops: int
    label: str | None
    predicted: str
    effect: float


@dataclass(frozen=True)
class Cell:
    """A column, or a word in a column of words, and what it does to the prediction.

    Attributes:
        column: the column.
        word: the word; None for the whole column.
        own: by how much the probability falls without it in this row; None if the row does not have it.
        around: by how much it falls without it in all rows nearby, this one included; None if that was not tried.
    """

    column: str
    word: str | None
    own: float | None
    around: float | None

    @property
    def effect(self) -> float:
        """The larger of the two effects, by its size."""
        return max((each for each in (self.own, self.around) if each is not None), key=abs, default=0.0)

    @property
    def name(self) -> str:
        """The word in quotes, or the column."""
        return self.column if self.word is None else repr(self.word)


@dataclass(frozen=True)
class LabelShare:
    """A labeled node that the prediction rests on.

    Attributes:
        name: its id.
        label: its label.
        hops: how far away it is; None if it is not among the nodes that were looked at.
        share: its share in what all labels say for the predicted class.
    """

    name: str
    label: str
    hops: int | None
    share: float


@dataclass(frozen=True)
class Flip:
    """What is predicted when several things are left out together.

    Attributes:
        left_out: what is left out, the strongest first.
        where: where it is left out: "the graph", or "its row".
        predicted: the class that is predicted then.
        probability: its probability.
        changes: whether it is another class.
    """

    left_out: tuple[str, ...]
    where: str
    predicted: str
    probability: float
    changes: bool


@dataclass(frozen=True)
class Explanation:
    """The reasons for a prediction. Effects and probabilities are shares: 0.05 is five percentage points.

    Attributes:
        names: the ids of the row by heading, as in the predictions.
        label: the given label; None if there is none.
        predicted: the predicted class.
        probability: its probability.
        second: the second most probable class.
        second_probability: its probability.
        steps: the probability of the predicted class when ever more is used; the last is the prediction.
        neighbours: nodes nearby, the strongest effect first.
        cells: columns and words, the strongest effect first.
        labels: labeled nodes that it rests on, the largest share first.
        flips: what would change it, or how much does not.
        notes: how far the numbers can be trusted, in sentences.
    """

    names: dict[str, Any]
    label: str | None
    predicted: str
    probability: float
    second: str
    second_probability: float
    steps: tuple[Step, ...]
    neighbours: tuple[Neighbour, ...]
    cells: tuple[Cell, ...]
    labels: tuple[LabelShare, ...]
    flips: tuple[Flip, ...]
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The id of the row; of a link both ends."""
        return " → ".join(str(value) for value in self.names.values())

    @property
    def sentences(self) -> tuple[str, ...]:
        """The reasons in words."""
        said = [self._say_prediction(), self._say_steps(), self._say_effects(), self._say_labels(), *self._say_flips()]
        return tuple(each for each in said if each) + self.notes

    @property
    def reason(self) -> str:
        """The most important reasons in one line, for a cell of a table."""
        said = [self._say_steps(), self._say_effects(), self._say_labels(), *self._say_flips()[:1]]
        return " ".join(each for each in said if each)

    def _say_prediction(self) -> str:
        second = f"; the next is {self.second} with {percent(self.second_probability)}"
        given = "" if self.label is None else f" Its given label is {self.label}."
        return f"{self.name} is predicted as {self.predicted} with {percent(self.probability)}{second}.{given}"

    def _say_steps(self) -> str:
        first, *others = self.steps
        if not others:
            return ""
        parts = [f"{step.name} {percent(step.probability)}" for step in others]
        start = f"Of a row without any information the model says {self.predicted} with {percent(first.probability)}"
        return f"{start}; with {', with '.join(parts)}."

    def _say_effects(self) -> str:
        things: list[Neighbour | Cell] = [*self.neighbours, *self.cells]
        named = [(each.effect, self._name(each)) for each in things]
        named = sorted(((effect, name) for effect, name in named if abs(effect) >= SMALL), key=lambda each: -each[0])
        speaking = [f"{name} ({points(effect)})" for effect, name in named if effect > 0][:_NAMED]
        against = [f"{name} ({points(effect)})" for effect, name in reversed(named) if effect < 0][:_NAMED]
        if not speaking and not against:
            return "No single neighbour, column or word changes it by half a point: many say the same."
        said = f"Most speaks for it: {listed(speaking)}." if speaking else "No single thing speaks for it clearly."
        return f"{said} Against it: {listed(against)}." if against else said

    def _name(self, thing: Neighbour | Cell) -> str:
        if isinstance(thing, Cell):
            what = f"the column {thing.name}" if thing.word is None else f"the word {thing.name}"
            return what if thing.effect == thing.own else f"{what} in all rows nearby"
        what = f"labeled {thing.label}" if thing.label is not None else f"predicted {thing.predicted}"
        far = "neighbour" if thing.hops == 1 else f"{thing.hops} hops away"
        return f"{thing.name}, {far}, {what}"

    def _say_labels(self) -> str:
        named = [f"{each.name} ({each.label}, {percent(each.share)})" for each in self.labels[:_NAMED]]
        return f"Of the labels it rests most on {listed(named)}." if named else ""

    def _say_flips(self) -> list[str]:
        said = []
        for flip in self.flips:
            result = f"{flip.predicted} with {percent(flip.probability)}"
            if flip.changes:
                said.append(f"Without {listed(flip.left_out)} in {flip.where} it would be {result}.")
            else:
                said.append(f"Even without {listed(flip.left_out)} in {flip.where} it stays {result}.")
        # What changes it comes first.
        return sorted(said, key=lambda each: each.startswith("Even"))


def percent(share: float) -> str:
    """Return a share in percent, with a digit near 0 and 100: `84 %`, `99.7 %`."""
    digits = 1 if 0 < min(share, 1 - share) < 0.01 else 0
    return f"{100 * share:.{digits}f} %"


def points(effect: float) -> str:
    """Return an effect in percentage points: `+5.2 points`."""
    return f"{signed(100 * effect, 1)} points"


def listed(items: Sequence[str]) -> str:
    """Put items into a sentence: `a, b and c`; of many, the first and how many more there are."""
    if len(items) > 6:
        items = [*items[:5], counted(len(items) - 5, "other")]
    *first, last = items
    return f"{', '.join(first)} and {last}" if first else last
