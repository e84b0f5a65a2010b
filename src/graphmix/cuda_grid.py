"""Grid sizes of CUDA kernels, as pure functions. CUDA limits every dimension of a grid."""

from graphmix.errors import ConfigError

MOST_X = 2**31 - 1
MOST_Y_OR_Z = 65_535


def flat_grid(rows: int, columns: int, block: int) -> tuple[int, int]:
    """Cover `[rows, columns]` with programs of `block` columns each, all in the grid's first dimension.

    The other dimensions end at 65,535, which a single large row exceeds.

    Returns:
        Programs per row, and in total. Program p works on row `p // per_row`, from column `p % per_row * block` on.

    Raises:
        ConfigError: there are more programs than a grid can have.
    """
    per_row = -(-columns // block)
    check_grid(rows * per_row)
    return per_row, rows * per_row


def check_grid(x: int, y: int = 1, z: int = 1) -> None:
    """Raise ConfigError unless CUDA can start a grid of x * y * z programs."""
    if x > MOST_X or max(y, z) > MOST_Y_OR_Z:
        raise ConfigError(
            f"a CUDA kernel would need a grid of {x:,} x {y:,} x {z:,} programs, and at most {MOST_X:,} x "
            f"{MOST_Y_OR_Z:,} x {MOST_Y_OR_Z:,} are possible; train fewer trials at once (`chunk`)"
        )
