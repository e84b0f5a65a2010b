"""A session: what is asked, what is stored, what comes back after it was closed or killed."""

import json
import threading

import pandas as pd
import pyarrow as pa
import pytest

from graphmix.errors import DataError, RunError
from graphmix.labeling import begin, cards, session
from graphmix.labeling.answers import Answers
from graphmix.labeling.asking import to_check, to_label
from graphmix.labeling.behind import Behind
from graphmix.labeling.cells import Cells
from graphmix.labeling.log import AnswerLog
from graphmix.labeling.round import Ask, Round
from graphmix.labeling.written import read_labeled
from graphmix.limits import Limits
from graphmix.tables.files import checksum
from graphmix.tables.nodes import read_nodes
from graphmix.tables.table import Table
from graphmix.workflow.columns import Columns
from graphmix.workflow.nodes import NodeProblem
from small_tables import rows


def unlabeled():
    return [{**row, "topic": ""} for row in rows()]


def made(queue=(), suspects=None, answers=0):
    asks = None if suspects is None else tuple(Ask(node=node, reason="", suggested="x") for node in suspects)
    return Round(
        stage="look",
        answers=answers,
        labels=0,
        classes=("x",),
        queue=tuple(Ask(node=node, reason="") for node in queue),
        suspects=asks,
    )


def said(given, *records):
    answers = Answers(given)
    answers.replay([{"n": number, **record} for number, record in enumerate(records, 1)])
    return answers


def test_the_queue_comes_first_then_the_rest_then_what_was_skipped():
    given = dict.fromkeys("abcde") | {"f": "x"}
    answers = said(
        given,
        {"act": "skip", "node": "c"},
        {"act": "label", "node": "b", "label": "x"},
        {"act": "unsure", "node": "a"},
    )
    assert [ask.node for ask in to_label([made("cbe")], answers)] == ["e", "d", "c"]
    assert list(to_label([], answers)) == []


def test_a_suspect_is_settled_by_any_answer_since_its_round():
    given = {"a": "x", "b": "x", "c": "x"}
    confirm = {"act": "label", "node": "a", "label": "x"}
    assert [ask.node for ask in to_check([made(suspects="abc")], said(given, confirm))] == ["b", "c"]
    # A thorough round that knew the answer and still doubts it asks again.
    assert [ask.node for ask in to_check([made(suspects="a", answers=1)], said(given, confirm))] == ["a"]
    assert to_check([made(suspects="a"), made()], said(given, {"act": "unsure", "node": "a"})) == []


def test_answers_are_on_the_disk_and_come_back(begun, look):
    first = begun(unlabeled(), classes=("AI", "DB"))
    first.begin()
    look(first)
    node, ask = first.next()
    assert ask.reason.startswith("its label informs")
    first.answer(node, "label", "AI", key="k1")
    assert json.loads((first.folder / "labels" / "answers.jsonl").read_text())["node"] == first.matter.problem.ids[node]
    other = first.next()[0]
    first.answer(other, "skip", key="k2")
    # Nothing is closed: as after a kill.
    second = begun()
    assert second.next()[0] == first.next()[0] not in (node, other)
    assert second.answers.labels() == first.answers.labels()
    assert [each.queue for each in second.rounds] == [each.queue for each in first.rounds]
    assert (second.view.probabilities == first.view.probabilities).all()
    assert second.number[second.undo().node] == other
    assert second.number[second.undo().node] == node
    assert second.undo() is None
    assert second.answers.changed() == {}


def test_an_answer_that_is_sent_twice_counts_once(begun):
    each = begun()
    assert each.answer(1, "label", "DB", key="same") is not None
    assert each.answer(1, "label", "DB", key="same") is None
    assert len(each.answers.standing) == 1
    taken = each.undo(key="back")
    assert each.number[taken.node] == 1
    # Also by a session that reads it from the disk, and after another answer.
    again = begun()
    again.answer(2, "label", "AI", key="other")
    assert again.undo(key="back") == taken
    assert [answer.key for answer in again.answers.standing] == ["other"]


def test_classes_are_offered_in_the_order_in_which_they_were_named(begun):
    assert begun(classes=("Theory", "ML")).classes == ["Theory", "ML", "AI", "DB"]


def test_a_new_class_is_offered_from_then_on(begun):
    each = begun()
    assert each.classes == ["AI", "DB", "ML"]
    each.answer(1, "label", " Theory ")
    assert each.classes == ["AI", "DB", "ML", "Theory"]
    each.undo()
    assert each.classes == ["AI", "DB", "ML"]


@pytest.mark.parametrize("bad", [(99, "label", "AI"), (-1, "skip", None), (1, "label", ""), (1, "burn", "AI")])
def test_other_answers_are_refused_and_not_stored(begun, bad):
    each = begun()
    with pytest.raises(DataError):
        each.answer(*bad)
    assert (each.folder / "labels" / "answers.jsonl").read_bytes() == b""


def test_rounds_are_ordered_after_every_few_labels(begun, look):
    each = begun(unlabeled(), classes=("AI", "DB"), every=3)
    each.begin()
    orders = each._trainer.orders
    assert [order["stage"] for order in orders] == ["look"]
    look(each)
    for node in range(2):
        each.answer(node, "label", "AI")
    each.answer(2, "skip")
    assert len(orders) == 1
    each.answer(3, "label", "DB")
    assert orders[-1] == {
        "do": "round",
        "stage": "quick",
        "answers": 4,
        "labels": {"p0": "AI", "p1": "AI", "p3": "DB"},
    }
    # While it trains, more labels come; they make another quick round before the thorough one.
    for node in range(4, 7):
        each.answer(node, "label", "DB")
    assert len(orders) == 2
    look(each, stage="quick", needs=None, answers=4)
    assert orders[-1]["stage"] == "quick"
    assert orders[-1]["answers"] == 7
    look(each, stage="quick", needs=None, answers=7)
    assert orders[-1]["stage"] == "thorough"
    look(each, stage="thorough", needs=None, answers=7)
    assert len(orders) == 4


def test_answers_that_come_from_an_older_copy_count_from_there(begun, look):
    """As after "restore the file": the last round knew more answers than there are."""
    first = begun()
    first.begin()
    look(first)
    for node in (1, 3, 4, 5):
        first.answer(node, "label", "DB")
    look(first, stage="thorough", needs=None, answers=4, suspects=[{"node": "p0", "reason": "", "suggested": "DB"}])
    answers = first.folder / "labels" / "answers.jsonl"
    answers.write_bytes(b"".join(answers.read_bytes().splitlines(keepends=True)[:1]))
    second = begun(every=2)
    assert [ask.node for ask in second.suspects()] == ["p0"]
    second.answer(0, "label", "AI")
    assert second.suspects() == []
    assert second._trainer.orders == []
    second.answer(3, "label", "DB")
    assert second._trainer.orders[-1]["answers"] == 3


def test_a_failed_round_is_told_and_the_next_may_begin(begun, look):
    each = begun()
    each.begin()
    each._trainer.step = None
    each._trainer.report({"did": "failed", "why": "there is not enough memory"})
    assert each.trouble == "there is not enough memory"
    assert each.retrain()
    look(each)
    assert each.trouble is None


def test_a_table_that_cannot_be_written_is_told_until_it_can(begun, monkeypatch):
    each = begun()
    each.answer(1, "label", "DB")
    with monkeypatch.context() as broken:
        broken.setattr(session, "write_bytes", lambda path, content: 1 / 0)
        each._written = -1
        each._write_quietly()
        assert "division by zero" in cards.state(each)["trouble"]
    each._write_quietly()
    assert cards.state(each)["trouble"] is None


def test_the_map_is_drawn_once_and_not_again_and_again_after_a_failure(begun):
    each = begun()
    assert each.draw_map()
    assert not each.draw_map()
    each._painter.step = None
    each._painter.report({"did": "failed", "why": "no memory"})
    assert each.trouble == "the map cannot be drawn: no memory"
    assert not each.draw_map()
    assert each.draw_map(again=True)
    assert len(each._painter.orders) == 2


def test_the_map_is_told_of_no_more_labels_than_it_shows(begun, monkeypatch):
    monkeypatch.setattr(session, "MOST_POINTS", 5)
    each = begun()
    each.map = [0], [[0.0, 0.0]]
    assert each.draw_map(again=True)
    assert each.map is None
    assert len(each._painter.orders[-1]["keep"]) == 5


def test_an_answer_waits_while_the_page_reads(begun, monkeypatch):
    each = begun()
    each.answer(1, "label", "DB")
    look_up, others = each.answers.label_of, []

    def answers_meanwhile(name):
        if not others:
            others.append(threading.Thread(target=each.answer, args=(3, "label", "AI")))
            others[0].start()
            others[0].join(0.2)
        return look_up(name)

    monkeypatch.setattr(each.answers, "label_of", answers_meanwhile)
    assert cards.state(each)["mine"] == 1
    others[0].join()
    assert cards.state(each)["mine"] == 2


def test_a_round_that_cannot_be_read_is_not_noted(begun, look):
    each = begun()
    each.begin()
    (each.folder / "labels" / "rounds.jsonl").write_text("")
    with pytest.raises(RunError):
        look(each, stage=7)
    assert each.rounds == each._past.records == []


def test_temporary_files_of_a_killed_session_go_with_the_next(begun):
    first = begun()
    (first.scratch / "tried-2").mkdir()
    assert first.scratch.stat().st_mode & 0o077 == 0
    second = begun()
    assert list(second.scratch.iterdir()) == []
    second.close()
    assert not second.scratch.exists()


def test_an_undo_that_found_nothing_takes_nothing_back_when_it_is_sent_again(begun):
    each = begun()
    assert each.undo("u") is None
    each.answer(1, "label", "DB", "a")
    assert each.undo("u") is None
    assert len(each.answers.standing) == 1
    assert each.undo("v").number == each.undo("v").number
    assert not each.answers.standing


def test_a_table_that_cannot_be_written_at_the_end_closes_the_logs(begun, monkeypatch):
    each = begun()
    # Nothing is written behind, or the table could be there before its source is gone.
    monkeypatch.setattr(each, "_behind", Behind(lambda: None, 0.0))
    each.answer(1, "label", "DB")
    closed = []
    for log in (each._log, each._past):
        monkeypatch.setattr(log, "close", lambda log=log, close=log.close: (closed.append(log), close()))
    (each.folder.parent / "nodes.csv").unlink()
    with pytest.raises(DataError, match="put it back"):
        each.close()
    assert len(closed) == 2
    assert not each.scratch.exists()


def test_what_is_asked_for_while_it_is_done_is_done_again():
    begun, may, done = threading.Event(), threading.Event(), threading.Semaphore(0)

    def work():
        begun.set()
        may.wait(60)
        done.release()

    behind = Behind(work, 0.0)
    behind.soon()
    assert begun.wait(60)
    behind.soon()
    may.set()
    assert all(done.acquire(timeout=60) for _ in range(2))


def test_an_answer_is_stored_where_no_thread_is_left_to_write_the_table(begun, monkeypatch):
    each = begun()

    def start(timer):
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Timer, "start", start)
        assert each.answer(1, "label", "DB") is not None
    assert "can't start new thread" in each.unwritten
    each.answer(3, "label", "DB")
    for _ in range(6000):
        if each.unwritten is None:
            break
        threading.Event().wait(0.01)
    assert each.table_path.read_bytes() == each.table()


def test_labels_are_counted_as_if_all_were(begun):
    each = begun()
    for node, label in ((0, "DB"), (1, "DB"), (2, "New"), (0, "AI")):
        each.answer(node, "label", label)
    each.answer(4, "unsure")
    each.undo()
    each.answer(6, "unsure")
    every = [label for label in each.answers.labels().values() if label is not None]
    assert each.answers.counts() == {label: every.count(label) for label in set(every)}


def test_the_labeled_table_is_written_behind_and_at_any_time(begun):
    each = begun()
    each.answer(1, "label", "DB")
    each.answer(0, "unsure")
    content, count = read_labeled(each.folder, each.matter)
    assert each.table() == content
    each.close()
    assert each.table_path.read_bytes() == content
    found = read_nodes(each.table_path, id="id", label="topic")
    assert found.labels[:4] == [None, "DB", "ML", None]
    assert count == sum(label is not None for label in found.labels) == 18


def test_a_changed_table_is_named(begun, tmp_path):
    begun()
    (tmp_path / "nodes.csv").write_text("id,topic\np0,\n")
    with pytest.raises(DataError, match="was changed since labeling"):
        begun()


def test_no_labels_are_written_into_a_table_that_was_changed_meanwhile(begun, tmp_path):
    each = begun()
    each.answer(1, "label", "DB")
    table = tmp_path / "nodes.csv"
    table.write_text(table.read_text().replace("word", "WORD"))
    with pytest.raises(DataError, match="was changed since labeling"):
        each.table()


def test_answers_about_other_nodes_are_refused(begun):
    each = begun()
    log = AnswerLog(each.folder / "labels" / "answers.jsonl")
    log.append({"act": "skip", "node": "elsewhere"})
    log.close()
    with pytest.raises(RunError, match="'elsewhere'"):
        begun()


@pytest.mark.parametrize("label", [None, 7, ["AI"]])
def test_an_answer_without_a_class_is_named(label):
    with pytest.raises(DataError, match="answer 1 has no class"):
        said({"a": "x"}, {"act": "label", "node": "a", "label": label})
    assert said({"a": "x"}, {"act": "unsure", "node": "a", "label": label}).label_of("a") is None


def test_a_damaged_session_is_named(begun):
    each = begun()
    path = each.folder / "labels" / "session.json"
    path.write_text(path.read_text().replace('"target_accuracy": 0.9', '"target_accuracy": "much"'))
    with pytest.raises(RunError, match="target_accuracy"):
        begin.stored(each.folder)
    damaged = path.read_text().replace('"much"', "0.9").replace('"label": "topic"', '"label": 7')
    path.write_text(damaged)
    with pytest.raises(RunError, match=r"session\.json"):
        begin.stored(each.folder)
    path.write_text('{"format": 2}')
    with pytest.raises(RunError, match="another version"):
        begin.stored(each.folder)


def test_without_classes_and_labels_nobody_knows_what_to_choose(begun):
    with pytest.raises(DataError, match="`classes`"):
        begun(unlabeled())


def test_a_column_that_is_missing_is_added(begun):
    each = begun([{key: value for key, value in row.items() if key != "topic"} for row in rows()], classes=("AI", "DB"))
    each.answer(1, "label", "AI")
    lines = each.table().decode().splitlines()
    assert lines[0] == "id,year,venue,title,topic"
    assert lines[1].endswith(",")
    assert lines[2].endswith(",AI")


def test_a_split_or_links_are_not_labeled(tmp_path):
    with pytest.raises(DataError, match="split"):
        begin.begin_with_tables(
            tmp_path,
            tmp_path,
            Columns(label="a", split="b"),
            (),
            ignore_unknown=False,
            target_accuracy=0.9,
            coverage=0.9,
        )


def test_relabeled_equals_a_fit_of_the_labeled_table(begun):
    each = begun()
    each.answer(1, "label", "Zoo")
    each.answer(0, "unsure")
    each.close()
    again = begin.NodeProblem.read(
        each.table_path, each.folder.parent / "edges.csv", Columns(label="topic"), stage=lambda name: None
    )
    ours = begin.relabeled(each.matter.problem, list(each.answers.labels().values()))
    assert ours.classes == again.classes == ("AI", "DB", "ML", "Zoo")
    assert (ours.graph.y == again.graph.y).all()
    assert ours.graph.x.shape == again.graph.x.shape
    assert begin.read_matter(each.folder, each.matter.begun, Limits()).problem.ids == again.ids


def test_dates_are_no_classes_here_either():
    nodes = pd.DataFrame({"id": [1, 2], "size": [1.0, 2.0], "seen": pd.to_datetime(["2020-01-01", None])})
    edges = pd.DataFrame({"source": [1], "target": [2]})
    with pytest.raises(DataError, match="'seen' holds dates or times"):
        NodeProblem.read_to_label(nodes, edges, Columns(label="seen"))


def test_a_table_that_a_fit_noted_is_found_while_it_is_the_same(tmp_path):
    nodes = tmp_path / "nodes.csv"
    nodes.write_text("id\n1\n")
    for sums, found in (([checksum(nodes), None], nodes), (["other"], None), ([], None), (None, None)):
        (tmp_path / "config.json").write_text(json.dumps({"files": {"nodes": str(nodes)}, "tables": sums}))
        assert begin._noted_table(tmp_path) == found


@pytest.mark.parametrize(
    ("names", "title"),
    [
        (["Anna Karenina", "Emma", "Ulysses"], "name"),
        (["Анна Каренина", "Идиот", "Нос"], "name"),
        (["紅樓夢", "西遊記", "水滸傳"], "name"),
        (["Öä", "Ünü", "Éa"], "name"),
        (["a1", "b2", "c3"], None),
        (["1.5", "2", "3"], None),
    ],
)
def test_a_column_of_names_is_found_in_every_script(names, title):
    columns = {"id": pa.chunked_array([["1", "2", "3"]]), "name": pa.chunked_array([names])}
    assert Cells(Table("nodes", columns, 3), [0, 1, 2], {"id"}).title == title
