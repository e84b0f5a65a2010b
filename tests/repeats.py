"""How often a test repeats what it draws at random."""

import os


def repeats(usual: int, thorough: int) -> int:
    """Few by default, many for `make slow`, which sets THOROUGH."""
    return thorough if os.environ.get("THOROUGH") else usual
