"""Generated tables in the forms that people use: every cell is read as what it means, there and in other tables."""

import csv
import json
from random import Random

import numpy as np
import pytest

from bad_inputs import forms
from graphmix.tables.choosing import choose_columns, used_kinds
from graphmix.tables.dates import as_dates
from graphmix.tables.encoders import Encoders
from graphmix.tables.files import read_table
from graphmix.tables.numbers import as_numbers


def write(path, columns):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*(column.cells for column in columns.values()), strict=True))
    return read_table(path)


def check_table(path, seed):
    """Draw a table, read it, and compare every cell; then encode its second half as a new table."""
    rng = Random(seed)
    rows = rng.randint(4, 60)
    drawn = {f"c{place}": forms.draw(rng, rows, rng.choice([0, 0.1, 0.5])) for place in range(rng.randint(1, 6))}
    table = write(path, drawn)
    # Blank rows at the end are left out.
    rows = table.rows
    assert not any(cell.strip() for column in drawn.values() for cell in column.cells[rows:])
    drawn = {name: forms.Column(each.kind, each.cells[:rows], each.values[:rows]) for name, each in drawn.items()}
    choices = choose_columns(table)
    for name, column in drawn.items():
        expected = np.array([np.nan if value is None else value for value in column.values])
        if not choices[name].why_not:
            assert choices[name].kind == column.kind, (seed, name, column.cells)
        found = as_numbers(table, name).values if column.kind == "number" else as_dates(table, name).days
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-8, err_msg=f"{seed} {name} {column.cells}")
    encoders = Encoders.fit(table, used_kinds(choices))
    again = Encoders.from_json(json.loads(json.dumps(encoders.to_json())))
    x = encoders.encode(table).x.toarray()
    assert np.isfinite(x).all()
    half = {name: forms.Column(column.kind, column.cells[rows // 2 :], []) for name, column in drawn.items()}
    part = write(path, half)
    np.testing.assert_array_equal(again.encode(part).x.toarray(), x[rows // 2 :])


@pytest.mark.parametrize("seed", range(25))
def test_generated_tables(tmp_path, seed):
    check_table(tmp_path / "t.csv", seed)


@pytest.mark.slow
def test_five_hundred_generated_tables(tmp_path):
    for seed in range(1000, 1500):
        check_table(tmp_path / "t.csv", seed)
