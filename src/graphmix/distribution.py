"""The installed package: its name, its version, its extras.

The import is `graphmix`; on the package index that name belongs to another project. The version is written here and not
looked up, so a source tree that was never installed has one too.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from graphmix.errors import RunError

NAME = "graphmix-learn"
__version__ = "0.2.0"
# The packages of each extra.
EXTRAS = {
    "report": ("plotly", "jinja2"),
    "pyg": ("torch-geometric",),
    "pandas": ("pandas",),
    "fast": ("numba",),
    "tune": ("optuna",),
    "ray": ("ray",),
    "label": ("starlette", "uvicorn"),
}


def needs(what: str, extra: str) -> str:
    """Say which packages something needs, and how to install them.

    Example:
        >>> needs("a report", "report")
        "a report needs plotly and jinja2: pip install 'graphmix-learn[report]'"
    """
    return f"{what} needs {' and '.join(EXTRAS[extra])}: pip install '{NAME}[{extra}]'"


@contextmanager
def importing(what: str, extra: str) -> Iterator[None]:
    """Turn a failed import into the sentence that names the extra.

    Raises:
        RunError: an import inside the block failed.
    """
    try:
        yield
    except ImportError as error:
        raise RunError(needs(what, extra)) from error
