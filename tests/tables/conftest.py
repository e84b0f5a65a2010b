"""Tables written for one test."""

import pytest

from graphmix.tables.files import read_table


@pytest.fixture
def write(tmp_path):
    """Write a file of text or bytes, and return its path."""

    def write(content, name="table.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.fixture
def table(write):
    """Write a table and read it back."""

    def table(content, name="table.csv"):
        return read_table(write(content, name))

    return table


@pytest.fixture
def column(table):
    """A table with ids and one more column, called `it`, of the given cells."""

    def column(*cells):
        return table("id\tit\n" + "".join(f"n{row}\t{cell}\n" for row, cell in enumerate(cells)), "table.tsv")

    return column
