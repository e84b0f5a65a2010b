"""What became of a claim of the paper: comparisons of cells, and a verdict."""

from dataclasses import dataclass
from typing import Annotated, Literal, get_args

from graphmix.results.schema import Count, Maybe, OneOf

ClaimWord = Literal["holds", "does not hold", "holds in part", "undecided"]
Expected = Literal["higher", "lower", "at most", "at least"]
EXPECTED: tuple[Expected, ...] = get_args(Expected)
# What can be compared, in words.
QUANTITIES = {
    "test_accuracy": "test accuracy (%)",
    "soft_rank": "soft-rank",
    "separation": "separation",
    "centroid_accuracy": "accuracy of the nearest class mean (%)",
    "train_loss": "training loss",
    "seconds": "seconds a trial",
    "memory": "memory of a trial (GiB)",
    "grid": "range of validation accuracy over the grid (points)",
}


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What a claim says of a row, in every column.

    Attributes:
        row: the row.
        against: the row that it is compared with; None if it is compared with the bound alone.
        quantity: what is compared, a key of `QUANTITIES`.
        expects: "higher" or "lower" than the other row, in the mean over trials; "at most" or "at least" the bound.
        bound: of the quantity, or of its ratio to that of the other row; None for "higher" and "lower".
        margin: if a difference is not significant and its whole interval is within this, the claim does not hold.
    """

    row: str
    quantity: Annotated[str, OneOf(tuple(QUANTITIES))]
    expects: Expected
    against: str | None = None
    bound: float | None = None
    margin: float = 0.5


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What became of a comparison in a column.

    Attributes:
        asked: the comparison.
        column: the column.
        reading: the reading that both rows are computed by; None for a spec without readings.
        word: whether it is as the claim says; never "holds in part".
        ours: the row's mean.
        other: the mean of the row that it is compared with.
        difference: ours minus the other's; None where ratios or bounds are compared.
        interval: its 95 % confidence interval.
        p: of no difference.
        n: number of independent values on the two sides.
        estimated: whether memory was estimated, not measured.
    """

    asked: Comparison
    column: str
    reading: str | None = None
    word: ClaimWord = "undecided"
    ours: float | None = None
    other: float | None = None
    difference: float | None = None
    interval: tuple[float, float] | None = None
    p: float | None = None
    n: Maybe[tuple[Count, ...]] = None
    estimated: bool = False

    @property
    def ratio(self) -> float | None:
        """Ours over the other's."""
        return self.ours / self.other if self.ours is not None and self.other else None


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A claim and its verdict.

    Attributes:
        says: what the paper says.
        word: the verdict over all findings.
        findings: every comparison in every column.
    """

    says: str
    word: ClaimWord
    findings: tuple[Finding, ...] = ()
