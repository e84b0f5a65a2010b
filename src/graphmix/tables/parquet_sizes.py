"""How much memory a Parquet file takes when it is read, from its metadata and its dictionaries."""

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphmix.errors import DataError
from graphmix.limits import Limits, as_size, check_count, check_unpacked
from graphmix.tables.native import native_file
from graphmix.tables.sizes import large_cell
from graphmix.tables.table import quoted

# What a number takes, and the offset of a text.
_WIDTH = 8


@dataclass
class _Leaf:
    """What the metadata says of the values at one path, in all row groups.

    Attributes:
        values: how many there are; a list has one for each item.
        size: their bytes after decompression, a repeated text counted once.
        has_dictionary: whether repeated values may be stored once.
    """

    values: int = 0
    size: int = 0
    has_dictionary: bool = False


class ParquetSizes:
    """The columns of a Parquet file, admitted one by one until they would take more memory than the limit."""

    def __init__(self, path: Path, metadata: Any, limit: Limits) -> None:
        """Look at the metadata alone.

        Raises:
            DataError: there are too many rows or columns, or cells are larger than the limit for cells.
        """
        self._path, self._limit, self._on_disk, self._needed = path, limit, path.stat().st_size, 0
        self._groups = metadata.num_row_groups
        check_count(metadata.num_rows, limit.rows, "rows", str(path))
        check_count(metadata.num_columns, limit.columns, "columns", str(path))
        self._leaves: dict[str, _Leaf] = defaultdict(_Leaf)
        for number in range(metadata.num_row_groups):
            group = metadata.row_group(number)
            for place in range(group.num_columns):
                self._add(group.column(place), group.num_rows)

    def admit(self, name: str) -> None:
        """Count a column that is read next.

        Raises:
            DataError: it would take more memory than the limit allows, together with those before it.
        """
        for path, leaf in self._leaves.items():
            if path != name and not path.startswith(f"{name}."):
                continue
            self._needed += max(leaf.size, _WIDTH * leaf.values)
            check_unpacked(self._needed, self._on_disk, self._limit, str(self._path))
            # At the worst every value is as large as all that is stored.
            if leaf.has_dictionary and leaf.values * leaf.size > self._limit.size:
                self._needed += self._repeated(path)
                check_unpacked(self._needed, self._on_disk, self._limit, str(self._path))

    def _add(self, chunk: Any, rows: int) -> None:
        leaf = self._leaves[chunk.path_in_schema]
        leaf.values += chunk.num_values
        leaf.size += chunk.total_uncompressed_size
        is_text = chunk.physical_type == "BYTE_ARRAY"
        leaf.has_dictionary |= is_text and chunk.has_dictionary_page
        if is_text and chunk.total_uncompressed_size > self._limit.cell * max(rows, 1):
            most = as_size(self._limit.cell)
            raise DataError(
                f"{self._path}: column {quoted(chunk.path_in_schema)} has cells larger than {most}, the limit; shorten "
                f"them, or raise the limit with `limit` cell={chunk.total_uncompressed_size}"
            )

    def _repeated(self, path: str) -> int:
        """Return the bytes of all texts at a path, each counted as often as it occurs; they are not written out.

        At most so many: if they are few even when every text is as long as the longest that is stored once.
        """
        from pyarrow import parquet

        total = 0
        with native_file(self._path) as source, parquet.ParquetFile(source, read_dictionary=[path]) as file:
            most = self._longest(file, path) * self._leaves[path].values
            if self._needed + most <= max(self._limit.size, self._on_disk):
                return most
            for number in range(self._groups):
                for chunk in _values(file.read_row_group(number, columns=[path])):
                    total += self._size_of(chunk, path)
                    if total > max(self._limit.size, self._on_disk):
                        return total
        return total

    def _longest(self, file: Any, path: str) -> int:
        """Return the bytes of the longest text at a path among those that are stored once.

        A group of rows stores them before its first row. Texts that it stores as often as they occur are not repeated.
        """
        import pyarrow.compute as pc
        from pyarrow import types

        longest = 0
        for number in range(self._groups):
            for first in file.iter_batches(1, row_groups=[number], columns=[path]):
                for texts in _values(_table(first)):
                    if types.is_dictionary(texts.type):
                        longest = max(longest, pc.max(pc.binary_length(texts.dictionary)).as_py() or 0)
                break
        return longest

    def _size_of(self, texts: Any, path: str) -> int:
        import pyarrow.compute as pc
        from pyarrow import types

        if not types.is_dictionary(texts.type):
            return int(texts.nbytes)
        lengths = pc.binary_length(texts.dictionary)
        most = pc.max(lengths).as_py() or 0
        if most > self._limit.cell:
            raise DataError(f"{self._path}: {large_cell(path, most, self._limit)}")
        return int(pc.sum(pc.take(lengths, texts.indices)).as_py() or 0)


def _table(batch: Any) -> Any:
    import pyarrow as pa

    return pa.Table.from_batches([batch])


def _values(table: Any) -> list[Any]:
    """Return the innermost values of a table of one column, chunk by chunk."""
    from pyarrow import types

    chunks = list(table.column(0).chunks) if table.num_columns else []
    while chunks and (types.is_list(chunks[0].type) or types.is_large_list(chunks[0].type)):
        chunks = [chunk.flatten() for chunk in chunks]
    return chunks
