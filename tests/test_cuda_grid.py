"""Grids that CUDA can start, computed without CUDA."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmix.cuda_grid import MOST_X, MOST_Y_OR_Z, check_grid, flat_grid
from graphmix.errors import ConfigError


@given(st.integers(1, 40), st.integers(1, 3000), st.sampled_from([1, 7, 256]))
def test_every_entry_has_one_program(rows, columns, block):
    per_row, programs = flat_grid(rows, columns, block)
    # What the kernel computes from the number of its program.
    starts = [(program // per_row, program % per_row * block) for program in range(programs)]
    assert starts == [(row, start) for row in range(rows) for start in range(0, columns, block)]


@pytest.mark.parametrize("columns", [65_535 * 256, 65_535 * 256 + 1, 2**31, 2**33])
def test_a_row_of_any_length_fits(columns):
    per_row, programs = flat_grid(10, columns, 256)
    assert (per_row - 1) * 256 < columns <= per_row * 256
    assert programs == 10 * per_row <= MOST_X


@pytest.mark.parametrize("grid", [(MOST_X + 1,), (1, MOST_Y_OR_Z + 1), (1, 1, MOST_Y_OR_Z + 1)])
def test_what_cuda_cannot_start_is_refused(grid):
    check_grid(MOST_X, MOST_Y_OR_Z, MOST_Y_OR_Z)
    with pytest.raises(ConfigError, match="`chunk`"):
        check_grid(*grid)
    with pytest.raises(ConfigError, match="grid"):
        flat_grid(2**20, 2**20, 256)
