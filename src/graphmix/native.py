"""Whether kernels compiled by numba are available; numba is imported on first use, which takes half a second."""

import functools
import importlib
from types import ModuleType


@functools.cache
def native(name: str) -> ModuleType | None:
    """Import one of our modules that needs numba; None if numba is missing or its compiler is turned off."""
    try:
        import numba
    except ImportError:
        return None
    # NUMBA_DISABLE_JIT: kernels would run as Python, and those with vectors not at all.
    return None if numba.config.DISABLE_JIT else importlib.import_module(name)
