"""Behind: work that is done a moment after it was asked for, in a thread."""

import threading
from collections.abc import Callable


class Behind:
    """Calls a function a moment after it was asked for; once for all that asked in this moment.

    Args:
        does: the function; whoever asks while it runs has it called again.
        after: the moment in seconds.
    """

    def __init__(self, does: Callable[[], None], after: float) -> None:
        self._does, self._after = does, after
        self._guard = threading.Lock()
        self._waiting: threading.Timer | None = None

    def soon(self) -> None:
        """Ask for it.

        Raises:
            RuntimeError: there is no thread for it; it may be asked for again.
        """
        with self._guard:
            if self._waiting is None:
                waiting = threading.Timer(self._after, self._call)
                waiting.daemon = True
                waiting.start()
                self._waiting = waiting

    def cancel(self) -> None:
        """Forget what was asked for, unless it has begun."""
        with self._guard:
            if self._waiting is not None:
                self._waiting.cancel()
                self._waiting = None

    def _call(self) -> None:
        with self._guard:
            self._waiting = None
        self._does()
