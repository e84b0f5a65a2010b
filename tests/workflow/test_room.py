"""What is looked at before a fit begins."""

from types import SimpleNamespace

from graphmix.tables.estimates import Estimate, TableSize
from graphmix.workflow import room
from graphmix.workflow.columns import Columns
from graphmix.workflow.watching import Watcher


def test_room_is_looked_for_where_the_folder_is_or_will_be(tmp_path, monkeypatch):
    asked = []

    def usage(path):
        asked.append(path)
        return SimpleNamespace(free=2**50)

    monkeypatch.setattr(room.shutil, "disk_usage", usage)
    size = Estimate(TableSize(1_000_000, 10), TableSize(1_000_000, 2))
    monkeypatch.setattr(room, "estimate", lambda *tables: size)
    for folder in (tmp_path, tmp_path / "new" / "model"):
        room.expect((tmp_path / "n.csv", tmp_path / "e.csv"), Columns(label="y"), folder, Watcher())
    assert asked == [tmp_path, tmp_path]
