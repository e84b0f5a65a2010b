"""Descriptions and the files that they name."""

import stat

from graphmix.storage.parts import write_parts


def test_files_that_are_written_beside_those_they_replace_have_their_rights(tmp_path):
    path = tmp_path / "model.json"
    write_parts(path, {}, {"weights.bin": b"one", "more.bin": b"same"})
    for file in tmp_path.iterdir():
        file.chmod(0o600)
    for content in (b"two", b"three"):
        write_parts(path, {}, {"weights.bin": content, "more.bin": b"same"})
        assert {stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()} == {0o600}
        assert len(list(tmp_path.iterdir())) == 3
