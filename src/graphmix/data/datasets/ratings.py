"""Who trusts whom on two Bitcoin markets (Kumar et al., 2016 and 2018): SNAP's CSV files, as links to classify.

A line is `source,target,rating,time`, without a header; ratings are from -10 to 10. As in Qu et al. (2019), links
rated above 3 are positive, those below -3 negative, and the others are left out; but every user in the file keeps a
number, and with it a column of features.

No SHA-256 is known for either file: SNAP's Bitcoin OTC has fractions of seconds, and the file that the tests read has
rounded times, so its bytes differ. Times are not used.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphmix.errors import DataError

# Ratings from -3 to 3 are too weak to be a class.
STRONG = 3
CLASS_NAMES = ("negative", "positive")


class Ratings(NamedTuple):
    """A parsed file.

    Attributes:
        links: `[2, links]`, the two users of each strongly rated link, in the file's order.
        y: `[links]`, 1 for positive and 0 for negative.
        num_users: number of users in the file, numbered in the order of the file's user ids.
    """

    links: NDArray[np.int64]
    y: NDArray[np.int64]
    num_users: int


def parse(contents: Mapping[str, bytes]) -> Ratings:
    """Read a dataset from the content of its only file, by file name.

    Raises:
        DataError: a line is not in the format, or one of the two classes has no link.
    """
    ((name, content),) = contents.items()
    lines = enumerate(content.decode("latin1").splitlines(), start=1)
    rows = [_parse_line(line, f"{name} line {number}") for number, line in lines]
    users = sorted({user for source, target, _ in rows for user in (source, target)})
    number_of = {user: number for number, user in enumerate(users)}
    strong = [(number_of[source], number_of[target], rating) for source, target, rating in rows if abs(rating) > STRONG]
    y = np.array([rating > 0 for *_, rating in strong], dtype=np.int64)
    for label, what in enumerate((f"below -{STRONG}", f"above {STRONG}")):
        if label not in y:
            raise DataError(f"{name} has no link rated {what}, so there is no {CLASS_NAMES[label]} class to learn")
    return Ratings(np.array([ends for *ends, _ in strong], dtype=np.int64).T, y, len(users))


def _parse_line(line: str, where: str) -> tuple[int, int, float]:
    try:
        source, target, rating, time = line.split(",")
        float(time)
        return int(source), int(target), float(rating)
    except ValueError as error:
        raise DataError(f"{where}: {line[:60]!r} is not source,target,rating,time in numbers") from error
