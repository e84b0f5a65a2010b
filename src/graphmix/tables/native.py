"""Files as pyarrow opens them."""

import os
from pathlib import Path
from typing import Any


def native_file(path: Path) -> Any:
    """Open a file for pyarrow. By its bytes: from text, pyarrow cannot make a name that is not UTF-8."""
    import pyarrow as pa

    return pa.OSFile(os.fsencode(path))
