"""Texts: a list of strings that takes the memory of their letters, not that of Python objects."""

from collections.abc import Iterator, Sequence
from typing import Any, overload

# So many strings are Python objects at a time.
_PIECE = 2**16


class Texts(Sequence[str]):
    """Strings in an array of pyarrow; behaves like a list that cannot be changed.

    Example:
        >>> import pyarrow as pa
        >>> names = Texts(pa.array(["a", "b"]))
        >>> names[1], list(names), names == ["a", "b"]
        ('b', ['a', 'b'], True)
    """

    def __init__(self, array: Any) -> None:
        """Take an array of strings or large strings `[texts]` without nulls, in one piece or several."""
        self._array = array

    def __len__(self) -> int:
        return len(self._array)

    @overload
    def __getitem__(self, place: int) -> str: ...

    @overload
    def __getitem__(self, place: slice) -> "Texts": ...

    def __getitem__(self, place: int | slice) -> "str | Texts":
        if isinstance(place, slice):
            return Texts(self._array[place])
        return str(self._array[int(place)].as_py())

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self), _PIECE):
            yield from self._array[start : start + _PIECE].to_pylist()

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Texts):
            return bool(self._array.equals(other._array))
        return isinstance(other, Sequence) and len(self) == len(other) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment] # equal to a list, which has none

    def __repr__(self) -> str:
        return f"Texts({len(self):,})"

    def __arrow_array__(self, type: Any = None) -> Any:
        """Give pyarrow the array itself."""
        import pyarrow as pa

        whole = self._array.combine_chunks() if isinstance(self._array, pa.ChunkedArray) else self._array
        return whole if type is None else whole.cast(type)
