"""The log of answers: what was acknowledged is there, whenever the process was killed."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest

from graphmix.errors import DataError, RunError
from graphmix.labeling.answers import Answers, check_class
from graphmix.labeling.log import AnswerLog, read_log

GIVEN = {"a": None, "b": "x", "c": None}


def said(*records):
    answers = Answers(GIVEN)
    answers.replay([{"n": number, **record} for number, record in enumerate(records, 1)])
    return answers


def test_records_come_back_in_order_with_their_numbers(tmp_path):
    log = AnswerLog(tmp_path / "answers.jsonl")
    log.append({"act": "label", "node": "a", "label": "Ü\n\u2028"})
    log.append({"act": "skip", "node": "b"})
    log.close()
    again = AnswerLog(tmp_path / "answers.jsonl")
    assert again.records == [
        {"n": 1, "act": "label", "node": "a", "label": "Ü\n\u2028"},
        {"n": 2, "act": "skip", "node": "b"},
    ]
    assert again.append({"act": "skip", "node": "c"})["n"] == 3
    assert not again.dropped
    again.close()


def test_a_cut_line_is_removed_wherever_it_was_cut(tmp_path):
    path = tmp_path / "answers.jsonl"
    first, second = (json.dumps({"n": n, "act": "skip", "node": "a"}).encode() + b"\n" for n in (1, 2))
    for cut in range(1, len(second) - 1):
        path.write_bytes(first + second[:cut])
        log = AnswerLog(path)
        assert log.dropped
        assert len(log.records) == 1
        log.append({"act": "skip", "node": "b"})
        log.close()
        assert [record["node"] for record in read_log(path).records] == ["a", "b"]


@pytest.mark.parametrize("end", [b"", b"\r", b"  "])
def test_a_whole_last_line_without_its_line_break_is_kept(tmp_path, end):
    path = tmp_path / "answers.jsonl"
    first, second = (json.dumps({"n": n, "act": "skip", "node": "a}"}).encode() for n in (1, 2))
    path.write_bytes(first + b"\n" + second + end)
    assert len(read_log(path).records) == 2
    log = AnswerLog(path)
    assert not log.dropped
    log.append({"act": "skip", "node": "b"})
    log.close()
    assert [record["node"] for record in read_log(path).records] == ["a}", "a}", "b"]
    assert path.stat().st_size == log._size


def test_a_whole_last_line_that_is_another_answer_is_damage(tmp_path):
    path = tmp_path / "answers.jsonl"
    path.write_bytes(b'{"n": 1, "act": "skip", "node": "a"}\n{"n": 3, "act": "skip", "node": "a"}')
    with pytest.raises(RunError, match="line 2"):
        AnswerLog(path)


@pytest.mark.parametrize("damage", [b"{}\n", b"not json\n", b'{"n": 3}\n', b"[]\n"])
def test_a_damaged_line_is_named_and_nothing_is_changed(tmp_path, damage):
    path = tmp_path / "answers.jsonl"
    content = b'{"n": 1, "act": "skip", "node": "a"}\n' + damage + b'{"n": 3, "act": "skip", "node": "a"}\n'
    path.write_bytes(content)
    with pytest.raises(RunError, match="line 2"):
        AnswerLog(path)
    assert path.read_bytes() == content


def test_a_carriage_return_within_the_log_is_damage_and_not_a_cut_line(tmp_path):
    path = tmp_path / "answers.jsonl"
    lines = [json.dumps({"n": n, "act": "skip", "node": "a"}).encode() + b"\n" for n in (1, 2, 3)]
    content = lines[0] + lines[1].replace(b"skip", b"sk\rp") + lines[2]
    path.write_bytes(content)
    with pytest.raises(RunError, match="line 2"):
        AnswerLog(path)
    assert path.read_bytes() == content
    path.write_bytes(b"".join(lines).replace(b"\n", b"\r\n"))
    assert len(read_log(path).records) == 3


def test_a_full_disk_leaves_the_log_as_it_was(tmp_path, monkeypatch):
    log = AnswerLog(tmp_path / "answers.jsonl")
    log.append({"act": "skip", "node": "a"})
    before, write = log.path.read_bytes(), os.write

    def full(file, content):
        if len(content) > 5:
            return write(file, content[:5])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(RunError, match="No space"):
        log.append({"act": "skip", "node": "b"})
    monkeypatch.undo()
    assert log.path.read_bytes() == before
    assert log.append({"act": "skip", "node": "c"})["n"] == 2
    log.close()


WRITER = """
import sys
from pathlib import Path
from graphmix.labeling.log import AnswerLog
log = AnswerLog(Path(sys.argv[1]))
while True:
    record = log.append({"act": "skip", "node": "a" * 300})
    print(record["n"], flush=True)
"""


def test_what_was_acknowledged_outlives_kills(tmp_path):
    path, draw, least = tmp_path / "answers.jsonl", random.Random(0), 0
    for _ in range(4):
        process = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE)
        process.stdout.readline()
        time.sleep(draw.uniform(0, 0.03))
        process.send_signal(signal.SIGKILL)
        lines = process.communicate()[0].splitlines(keepends=True)
        whole = [int(line) for line in lines if line.endswith(b"\n")]
        least = max(whole, default=least + 1)
        records = read_log(path).records
        assert [record["n"] for record in records] == list(range(1, len(records) + 1))
        assert len(records) >= least


def test_the_last_answer_about_a_node_holds():
    label = {"act": "label", "node": "a", "label": "x"}
    assert said(label, {**label, "label": "y"}).label_of("a") == "y"
    assert said(label, {"act": "skip", "node": "a"}).label_of("a") == "x"
    assert said(label, {"act": "unsure", "node": "a"}).label_of("a") is None
    assert said({"act": "unsure", "node": "b"}).changed() == {"b": None}
    assert said({"act": "label", "node": "b", "label": "x"}).changed() == {}


def test_undo_takes_back_the_last_answer_that_stands():
    steps = [
        {"act": "label", "node": "a", "label": "x"},
        {"act": "label", "node": "a", "label": "y"},
        {"act": "undo", "of": 2},
    ]
    assert said(*steps).label_of("a") == "x"
    back = said(*steps, {"act": "undo", "of": 1})
    assert back.label_of("a") is None
    assert back.last is None
    with pytest.raises(DataError, match="not the last"):
        said(*steps, {"act": "undo", "of": 2})


@pytest.mark.parametrize(
    "record", [{"act": "label", "node": "z", "label": "x"}, {"act": "eat", "node": "a"}, {"node": "a"}]
)
def test_other_records_are_refused(record):
    with pytest.raises(DataError, match="answer 1"):
        said(record)


@pytest.mark.parametrize("name", ["", "  ", None, 7, "x" * 201, "a\nb", "a\x1b[31m", "NA", "\ud800", "nan"])
def test_names_that_cannot_be_classes(name):
    with pytest.raises(DataError):
        check_class(name)


def test_a_class_must_fit_the_encoding_of_the_table():
    assert check_class(" Grün ", "latin-1") == "Grün"
    assert check_class("True") == "true"
    with pytest.raises(DataError, match="latin-1"):
        check_class("日本", "latin-1")
