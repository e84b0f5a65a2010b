"""The memory that a process may still take."""

import subprocess
import sys
from pathlib import Path

import pytest

from graphmix import machine


def groups(monkeypatch, tmp_path, line):
    monkeypatch.setattr(machine, "_CGROUPS", tmp_path)
    read = machine._lines
    monkeypatch.setattr(
        machine, "_lines", lambda path: iter([line]) if path == Path("/proc/self/cgroup") else read(path)
    )
    return sorted(machine._of_groups())


def test_a_container_of_the_new_kind_limits_memory(monkeypatch, tmp_path):
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/b/memory.max").write_text("max\n")
    (tmp_path / "a/b/memory.current").write_text("70\n")
    (tmp_path / "a/memory.max").write_text("1000\n")
    (tmp_path / "a/memory.current").write_text("300\n")
    # Files that are only cached are given back.
    (tmp_path / "a/memory.stat").write_text("anon 100\ninactive_file 200\n")
    assert groups(monkeypatch, tmp_path, "0::/a/b") == [900]


def test_a_container_of_the_old_kind_limits_memory(monkeypatch, tmp_path):
    folder = tmp_path / "memory/a"
    folder.mkdir(parents=True)
    (folder / "memory.limit_in_bytes").write_text("1000")
    (folder / "memory.usage_in_bytes").write_text("400")
    assert groups(monkeypatch, tmp_path, "4:memory:/a") == [600]
    assert groups(monkeypatch, tmp_path, "1:cpu,cpuacct:/a") == []


@pytest.mark.parametrize("line", ["", "nothing", "0::/elsewhere", "0::"])
def test_groups_that_cannot_be_seen_do_not_limit(monkeypatch, tmp_path, line):
    assert groups(monkeypatch, tmp_path, line) == []


def test_a_machine_without_any_limit_gives_what_it_has(monkeypatch):
    monkeypatch.setattr(machine, "_of_groups", lambda: iter(()))
    monkeypatch.setattr(machine, "_of_limit", lambda: iter(()))
    monkeypatch.setattr(machine, "_physical", lambda: 12345)
    assert machine.available_memory() == 12345


def test_there_is_memory_and_a_limit_of_the_process_counts():
    assert machine.available_memory() > 2**20
    code = "import resource as r; r.setrlimit(r.RLIMIT_AS, (2**29, 2**29)); from graphmix import machine as m; "
    done = subprocess.run(
        [sys.executable, "-c", code + "print(m.available_memory())"], capture_output=True, text=True, check=True
    )
    assert 0 < int(done.stdout) < 2**29
