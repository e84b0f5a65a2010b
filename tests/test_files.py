"""Which files may be read and written."""

import fcntl
import os
import socket
import stat
import threading
from pathlib import Path

import pytest

from graphmix.errors import ConfigError, DataError
from graphmix.files import check_output, remove_temporary_files, require_plain, write_whole


def test_pipes_devices_and_folders_are_not_read(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        for path, kind in (("pipe.csv", "pipe"), ("socket", "socket"), ("/dev/zero", "device"), (".", "folder")):
            with pytest.raises(DataError, match=kind):
                require_plain(tmp_path / path)


def test_plain_files_links_to_them_and_missing_files_pass(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to("file")
    for name in ("file", "link", "missing"):
        require_plain(tmp_path / name)


def test_an_output_is_never_an_input(tmp_path):
    table = tmp_path / "nodes.csv"
    table.write_text("id")
    (tmp_path / "link.csv").symlink_to(table)
    os.link(table, tmp_path / "hard.csv")
    for name in ("nodes.csv", "link.csv", "hard.csv", "sub/../nodes.csv"):
        (tmp_path / "sub").mkdir(exist_ok=True)
        with pytest.raises(ConfigError, match="read by this command"):
            check_output(tmp_path / name, inputs=[table], force=True)
    check_output(tmp_path / "other.csv", inputs=[table, tmp_path / "missing.csv"])
    with pytest.raises(ConfigError, match="read by this command"):
        check_output(tmp_path / "missing.csv", inputs=[tmp_path / "missing.csv"])


def test_an_existing_file_needs_force(tmp_path):
    (tmp_path / "page.html").write_text("mine")
    with pytest.raises(ConfigError, match="`force`"):
        check_output(tmp_path / "page.html")
    check_output(tmp_path / "page.html", force=True)


def test_the_folder_of_an_output_must_exist(tmp_path):
    with pytest.raises(ConfigError, match="does not exist"):
        check_output(tmp_path / "nowhere" / "page.html")


def test_only_plain_files_are_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    for name in ("pipe", "link"):
        with pytest.raises(ConfigError, match="pipe"):
            check_output(tmp_path / name, force=True)
        with pytest.raises(OSError, match="never replaced"):
            write_whole(tmp_path / name, b"content")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "pipe"]
    assert (tmp_path / "pipe").is_fifo()


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "file").write_text("old")
    (tmp_path / "link").symlink_to("file")
    write_whole(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_bytes() == b"new"


def test_what_a_killed_write_left_is_removed_by_the_next_and_what_another_writes_is_kept(tmp_path):
    abandoned, other = tmp_path / ".out.csv.abc.graphmix.part", tmp_path / ".other.csv.abc.graphmix.part"
    held = tmp_path / ".out.csv.def.graphmix.part"
    for path in (abandoned, other, held):
        path.write_text("half")
    with held.open("rb") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        write_whole(tmp_path / "out.csv", b"whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        ".other.csv.abc.graphmix.part",
        ".out.csv.def.graphmix.part",
        "out.csv",
    ]


def test_temporary_files_of_others_and_pipes_in_their_place_stay(tmp_path):
    (tmp_path / ".out.csv.backup.part").write_text("mine")
    os.mkfifo(tmp_path / ".out.csv.abc.graphmix.part")
    write_whole(tmp_path / "out.csv", b"whole")
    remove_temporary_files(tmp_path / "nowhere")
    assert len(list(tmp_path.iterdir())) == 3
    remove_temporary_files(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".out.csv.backup.part", "out.csv"]


def test_a_temporary_file_that_was_taken_for_abandoned_is_made_again(tmp_path, monkeypatch):
    make, made = os.open, []

    def taken_at_first(name, *options):
        handle = make(name, *options)
        if not made:
            Path(name).unlink()
        made.append(name)
        return handle

    monkeypatch.setattr(os, "open", taken_at_first)
    write_whole(tmp_path / "out.csv", b"whole")
    assert (tmp_path / "out.csv").read_bytes() == b"whole"
    assert len(made) == 2


def test_writers_of_one_file_do_not_take_each_other_for_abandoned(tmp_path):
    path, errors = tmp_path / "out.csv", []

    def write(content):
        try:
            for _ in range(100):
                write_whole(path, content)
        except OSError as error:
            errors.append(error)

    contents = [bytes([letter]) * 1000 for letter in b"abc"]
    threads = [threading.Thread(target=write, args=(content,)) for content in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert path.read_bytes() in contents
    assert [each.name for each in tmp_path.iterdir()] == ["out.csv"]


def test_a_file_has_the_rights_of_the_umask_which_nobody_sets(tmp_path, monkeypatch):
    before = os.umask(0o027)
    try:
        with monkeypatch.context() as patched:
            # To read the mask is to set it, and other threads would make their files with it.
            patched.setattr(os, "umask", lambda mask: pytest.fail("the umask was set"))
            write_whole(tmp_path / "out.csv", b"whole")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "out.csv").stat().st_mode) == 0o640


@pytest.mark.parametrize("rights", [0o600, 0o664, 0o444])
def test_a_file_that_is_replaced_keeps_its_rights_and_never_has_more(tmp_path, rights):
    path, seen = tmp_path / "out.csv", []
    path.write_text("old")
    path.chmod(rights)

    def content():
        seen.extend(stat.S_IMODE(part.stat().st_mode) for part in tmp_path.glob("*.part"))
        yield b"new"

    (tmp_path / "link.csv").symlink_to(path)
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "link.csv", content())
    finally:
        os.umask(before)
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == rights
    assert seen == [rights]
