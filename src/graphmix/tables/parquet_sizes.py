"""How much memory a Parquet file takes when it is read, from its metadata and its dictionaries."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphmix.errors import DataError
from graphmix.limits import Excess, Limits, as_size, refuse, too_large, too_many
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

    def __init__(self, path: Path, metadata: Any, limit: Limits, wanted: Iterable[str]) -> None:
        """Look at the metadata alone.

        Args:
            path: the file.
            metadata: what pyarrow says of it.
            limit: how large it may be.
            wanted: the columns that are surely read; others may be admitted too.

        Raises:
            DataError: there are too many rows or columns, or cells or the wanted columns are larger than the limit.
        """
        self._path, self._limit, self._on_disk, self._needed = path, limit, path.stat().st_size, 0
        self._groups = metadata.num_row_groups
        self._leaves: dict[str, _Leaf] = defaultdict(_Leaf)
        # The paths in each column: its own, and those below it.
        self._paths: dict[str, set[str]] = defaultdict(set)
        cells: list[Excess] = []
        for number in range(metadata.num_row_groups):
            group = metadata.row_group(number)
            for place in range(group.num_columns):
                cells += self._add(group.column(place), group.num_rows)
        self._wanted = dict.fromkeys(wanted)
        self._needed = sum(map(self._least, self._wanted))
        found = too_many(metadata.num_rows, limit.rows, "rows")
        found += too_many(metadata.num_columns, limit.columns, "columns")
        found += sorted(cells, key=lambda each: -int(each.value))[:1]
        refuse(str(path), [*found, *self._too_large()])

    def admit(self, name: str) -> None:
        """Count a column that is read next.

        Raises:
            DataError: it would take more memory than the limit allows, together with those before it and those wanted.
        """
        if name in self._wanted:
            del self._wanted[name]
        else:
            self._needed += self._least(name)
        self._needed += self._more(name)
        if self._too_large():
            # So that the limit need not be raised again for the next column.
            self._needed += sum(map(self._more, self._wanted))
            refuse(str(self._path), self._too_large())

    def _too_large(self) -> list[Excess]:
        return too_large(self._needed, self._on_disk, self._limit)

    def _least(self, name: str) -> int:
        """Return the bytes of a column that stores repeated texts once."""
        leaves = [self._leaves[path] for path in self._paths.get(name, ())]
        return sum(max(leaf.size, _WIDTH * leaf.values) for leaf in leaves)

    def _more(self, name: str) -> int:
        """Return what repeated texts of a column add if that could matter."""
        leaves = {path: self._leaves[path] for path in self._paths.get(name, ())}
        # At the worst every value is as large as all that is stored.
        large = [path for path, leaf in leaves.items() if leaf.values * leaf.size > self._limit.size]
        return sum(self._repeated(path) for path in large if leaves[path].has_dictionary)

    def _add(self, chunk: Any, rows: int) -> list[Excess]:
        """Count the values of a group of rows at a path; return an excess if they have too large cells."""
        path = chunk.path_in_schema
        leaf, parts = self._leaves[path], path.split(".")
        self._paths[path].add(path)
        for number in range(1, len(parts)):
            self._paths[".".join(parts[:number])].add(path)
        leaf.values += chunk.num_values
        leaf.size += chunk.total_uncompressed_size
        is_text = chunk.physical_type == "BYTE_ARRAY"
        leaf.has_dictionary |= is_text and chunk.has_dictionary_page
        if not is_text or chunk.total_uncompressed_size <= self._limit.cell * max(rows, 1):
            return []
        how = f"has cells larger than {as_size(self._limit.cell)}, the limit, in column {quoted(path)}"
        return [Excess(how, "cell", chunk.total_uncompressed_size)]

    def _repeated(self, path: str) -> int:
        """Return the bytes of all texts at a path, each counted as often as it occurs; they are not written out.

        At most so many: if they are few even when every text is as long as the longest that is stored once. About so
        many, if those of the first rows are too many already.
        """
        from pyarrow import parquet

        total = seen = 0
        with native_file(self._path) as source, parquet.ParquetFile(source, read_dictionary=[path]) as file:
            most = self._longest(file, path) * self._leaves[path].values
            if self._needed + most <= max(self._limit.size, self._on_disk):
                return most
            for number in range(self._groups):
                for chunk in _values(file.read_row_group(number, columns=[path])):
                    total, seen = total + self._size_of(chunk, path), seen + len(chunk)
                    if total > max(self._limit.size, self._on_disk):
                        return total * self._leaves[path].values // max(seen, 1)
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
