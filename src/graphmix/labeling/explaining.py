"""Why a node is predicted as it is, for the page: by the model of the last round."""

import threading
from pathlib import Path
from typing import Any

from graphmix.errors import DataError
from graphmix.labeling.begin import Matter, own_model
from graphmix.labeling.places import one_thread
from graphmix.storage.folders import MODEL
from graphmix.storage.found import is_model
from graphmix.tables.ids import typed
from graphmix.text import signed
from graphmix.workflow.model import TableModel, load_model

HEAD = ("what", "name", "class", "points")
_MOST_ROWS = 15


class Reasons:
    """Explains predictions; keeps the model until a round has written another."""

    def __init__(self, folder: Path, matter: Matter) -> None:
        self._folder, self._matter = folder, matter
        self._held: tuple[int, TableModel] | None = None
        self._guard = threading.Lock()

    def __call__(self, node: str) -> dict[str, Any]:
        """Return the reasons for the prediction of a node: sentences, and a table of texts.

        Raises:
            DataError: there is no model yet.
        """
        with self._guard, one_thread():
            model = self._model()
            (kind,) = model.problem.id_columns.values()
            found = model.explain(typed([node], kind))
        columns = found.table.columns
        lines = list(zip(columns["part"], columns["name"], columns["class"], columns["effect"], strict=True))
        # Steps have no effect of their own, and that of a label is a share; the sentences tell both.
        felt = sorted((line for line in lines if line[3] and line[0] != "label"), key=lambda line: -abs(line[3]))
        rows = [[part, str(name), str(label or ""), signed(100 * effect, 1)] for part, name, label, effect in felt]
        return {"words": list(found[0].sentences), "head": HEAD, "rows": rows[:_MOST_ROWS]}

    def _model(self) -> TableModel:
        trained = own_model(self._folder, self._matter.begun)
        folder = trained if is_model(trained) else self._folder
        if not is_model(folder):
            raise DataError("there is no model yet")
        changed = (folder / MODEL).stat().st_mtime_ns
        if self._held is None or self._held[0] != changed:
            self._held = changed, load_model(folder)
        return self._held[1]
