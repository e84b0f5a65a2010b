"""Whether kernels compiled by numba are available; numba is imported on first use, which takes half a second."""

import functools
import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

# Kernels release Python's lock, and follow numpy where a number is divided by zero.
_OPTIONS = {"nogil": True, "error_model": "numpy"}


@functools.cache
def native(name: str) -> ModuleType | None:
    """Import one of our modules that needs numba; None if numba is missing or its compiler is turned off."""
    try:
        import numba
    except ImportError:
        return None
    # NUMBA_DISABLE_JIT: kernels would run as Python, and those with vectors not at all.
    return None if numba.config.DISABLE_JIT else importlib.import_module(name)


class Kernel:
    """A function that numba compiles when it is first called, and keeps in its cache if that can be written."""

    def __init__(self, function: Callable[..., None]):
        import numba

        self._function = function
        try:
            self._compiled = numba.njit(function, cache=True, **_OPTIONS)
        except RuntimeError:  # neither the package's folder nor the user's cache can be written
            self._compiled = numba.njit(function, **_OPTIONS)

    def __call__(self, *arguments: Any) -> None:
        """Run it."""
        try:
            self._compiled(*arguments)
        except OSError:
            # The cache is written, on a disk that may be full, before the function runs.
            import numba

            self._compiled = numba.njit(self._function, **_OPTIONS)
            self._compiled(*arguments)
