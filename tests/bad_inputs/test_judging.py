"""The judge sees what it is there to see, and a case is the same whenever it is made."""

from random import Random

import pytest

from bad_inputs import judge as judging
from bad_inputs import oracle, snapshot
from bad_inputs.case import Case, Ids, Place
from bad_inputs.fits import fit_tables
from bad_inputs.oracle import Refusal
from bad_inputs.server import Ended
from bad_inputs.tables import Written

SENTENCE = b"graphmix: there is no file nodes.csv\n"
FILE = ("file", 0o644, "a")


def kinds(code=2, stdout=b"", stderr=SENTENCE, before=None, after=None, wrong=None, **changes):
    case = Case(what="", arguments=("fit",), writes=("out",), **changes)
    before = {"work/mine": FILE} if before is None else before
    ended = Ended(code, stdout, stderr, 0.1)
    return [
        fault.kind for fault in judging.judge(case, ended, before, before if after is None else after, lambda: wrong)
    ]


def test_a_refusal_in_one_sentence_is_fine():
    assert kinds() == []


@pytest.mark.parametrize(
    ("ended", "fault"),
    [
        ({"code": 1}, judging.WRONG_CODE),
        ({"code": 120}, judging.WRONG_CODE),
        ({"code": None}, judging.NO_END),
        ({"code": 70}, judging.INTERNAL),
        ({"stderr": b"Traceback (most recent call last):\n" + SENTENCE}, judging.TRACEBACK),
        ({"stderr": b""}, judging.NO_SENTENCE),
        ({"stderr": b"something else\n" + SENTENCE}, judging.NO_SENTENCE),
        ({"stderr": b"graphmix: " + b"x" * 5000}, judging.NO_SENTENCE),
        ({"stderr": b"graphmix: there is no file \x1b[31m\n"}, judging.CONTROL),
        ({"code": 0, "stdout": "\u202e".encode()}, judging.CONTROL),
        ({"code": 0, "wrong": "row 1"}, judging.WRONG_IDS),
        ({"after": {}}, judging.OVERWRITTEN),
        ({"after": {"work/mine": ("other", 0o644, "a")}}, judging.OVERWRITTEN),
        ({"code": 0, "after": {"work/mine": FILE, "work/.lock": FILE}}, judging.LEFTOVER),
        ({"code": 0, "after": {"work/mine": FILE, "work/out/.x.part": FILE}}, judging.LEFTOVER),
        ({"after": {"work/mine": FILE, "work/out": FILE}}, judging.LEFTOVER),
    ],
)  # fmt: skip
def test_every_fault_is_seen(ended, fault):
    assert fault in kinds(**ended)


def test_a_command_may_write_its_own_place():
    assert kinds(code=0, after={"work/mine": FILE, "work/out/model.json": FILE}) == []


def test_compilers_may_keep_what_they_made():
    kept = dict.fromkeys(("home/.cache", "home/.cache/numba/a/kernel.nbi", "tmp/torchinductor_root"), FILE)
    assert kinds(after={"work/mine": FILE, **kept}) == []
    assert kinds(after={"work/mine": FILE, "home/.cache/other": FILE}) == [judging.LEFTOVER]


@pytest.mark.parametrize("number", range(20))
def test_a_case_is_always_the_same(tmp_path, number):
    made = []
    for folder in (tmp_path / "a", tmp_path / "b"):
        folder.mkdir()
        made.append((fit_tables(Place(folder, folder, Random(number))), snapshot.take(folder)))
    assert made[0] == made[1]


def test_edges_are_joined_by_hand():
    ids = ["a", " a", "b ", "7", "8.0"]
    pairs = {"source": ["a", " a", "b", "7.0", "8"], "target": ["b ", "7", "8.0", "a", "7"]}
    assert oracle.joined(ids, pairs, ignore_unknown=False) == {(0, 2), (1, 3), (2, 4), (0, 3), (3, 4)}
    assert oracle.joined(ids, {"source": ["a "], "target": ["7"]}, ignore_unknown=False) is None
    assert oracle.joined(ids, {"source": ["c"], "target": ["7"]}, ignore_unknown=True) == set()
    with pytest.raises(Refusal, match="'c'"):
        oracle.joined(ids, {"source": ["c"], "target": ["7"]}, ignore_unknown=False)


def test_wrong_ids_are_seen(tmp_path):
    (tmp_path / "nodes.csv").write_text('id,y\n"=1,1",A\n 2,B\n')
    held = oracle.read(tmp_path, Written("nodes.csv", ",", "utf-8"))
    assert held is not None
    rows = oracle.node_rows(held)
    assert rows == [("=1,1",), (" 2",)]
    (tmp_path / "p.csv").write_text('id,label\n"=1,1",A\n 2,B\n')
    assert oracle.wrong_ids(tmp_path, Ids("p.csv", rows)) is None
    (tmp_path / "p.csv").write_text('id,label\n"=1,1",A\n2,B\n')
    assert "row 1" in (oracle.wrong_ids(tmp_path, Ids("p.csv", rows)) or "")
