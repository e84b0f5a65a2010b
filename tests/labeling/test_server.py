"""Who is let in, and what the page gets: each attack of docs/threat-model.md is a test here."""

import json
import re
from pathlib import Path

import pytest

import graphmix.labeling
from graphmix.labeling.answers import LONGEST_KEY
from graphmix.labeling.guard import LARGEST
from graphmix.labeling.server import FILES
from small_tables import pairs, rows

from .conftest import HOST, ORIGIN, PORT, TOKEN, Client

PAGE = Path(graphmix.labeling.__file__).parent / "page"
LABEL = {"node": 1, "act": "label", "label": "AI", "key": "k"}
MARKUP = "<img src=x onerror=alert(1)>"


def stored(client):
    return (client.session.folder / "labels" / "answers.jsonl").read_text()


def test_the_page_its_parts_and_an_answer(client):
    for name in FILES:
        assert client.get(name).status_code == 200
    got = client.post("api/answer", LABEL).json()
    assert got["state"]["last"] == {"act": "label", "id": "p1", "label": "AI"}
    assert got["next"]["node"] != 1
    assert json.loads(stored(client))["label"] == "AI"
    assert client.post("api/undo", {"key": "z"}).json()["next"]["id"] == "p1"


def test_what_is_sent_again_is_said_as_it_is(client):
    """Two windows: what one sent without an acknowledgement the other takes back."""
    assert client.post("api/answer", LABEL).json()["stands"]
    assert client.post("api/answer", LABEL).json()["stands"]
    other = {"node": 3, "act": "label", "label": "ML", "key": "other"}
    client.post("api/answer", other)
    # The last answer of all, whoever gave it; asked for again, nothing more is taken back.
    for _ in range(2):
        got = client.post("api/undo", {"key": "back"}).json()
        assert got["taken"] == {"act": "label", "id": "p3", "label": "ML"}
        assert got["next"]["id"] == "p3"
        assert got["state"]["last"]["id"] == "p1"
    assert not client.post("api/answer", other).json()["stands"]
    assert client.post("api/answer", LABEL).json()["stands"]
    client.post("api/undo", {"key": "more"})
    got = client.post("api/undo", {"key": "none"}).json()
    assert (got["taken"], got["state"]["answers"]) == (None, 0)


@pytest.mark.parametrize("path", ["", "api/state", "table", "label.js"])
@pytest.mark.parametrize("token", ["", "x", TOKEN[:-1], TOKEN + "x", TOKEN.upper(), "x/" + TOKEN])
def test_a_request_without_the_token_is_refused(client, path, token):
    assert client.get(path, token=token).status_code == 403


@pytest.mark.parametrize(
    "host", ["evil.example", f"evil.example:{PORT}", "127.0.0.1", "127.0.0.1:1", f"{HOST}.evil.example", ""]
)
def test_a_forged_host_is_refused(client, host):
    assert client.get("api/state", headers={"Host": host}).status_code == 403
    assert client.post("api/answer", LABEL, headers={"Host": host, "Origin": f"http://{host}"}).status_code == 403
    assert stored(client) == ""


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", f"https://{HOST}", "http://127.0.0.1", f"http://localhost:{PORT}", ""]
)
def test_a_request_from_another_origin_is_refused(client, origin):
    assert client.post("api/answer", LABEL, headers={"Origin": origin}).status_code == 403
    assert client.get("api/state", headers={"Origin": origin or "x"}).status_code == 403
    assert stored(client) == ""


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_request_that_a_browser_calls_foreign_is_refused(client, site):
    assert client.get("", headers={"Sec-Fetch-Site": site}).status_code == 403
    assert client.post("api/answer", LABEL, headers={"Sec-Fetch-Site": site}).status_code == 403
    assert client.get("", headers={"Sec-Fetch-Site": "none"}).status_code == 200
    # A link may lead to the page in a window of its own, as that of the file which opens the browser, and nowhere else.
    link = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    assert client.get("", headers=link).status_code == 200
    assert client.get("", token="x", headers=link).status_code == 403
    assert client.get("", headers=link | {"Sec-Fetch-Dest": "iframe"}).status_code == 403
    assert client.get("api/state", headers=link).status_code == 403
    assert client.get("table", headers=link).status_code == 403


def test_an_answer_names_its_node(client):
    for path in ("node", "explain?"):
        assert client.get(f"api/{path}").status_code == 400
    answer = client.post("api/answer", {"act": "label", "label": "AI"})
    assert (answer.status_code, answer.json()["error"]) == (400, "`node` must be a number")
    assert stored(client) == ""


def test_a_table_that_cannot_be_written_is_one_sentence(client, tmp_path):
    (tmp_path / "nodes.csv").unlink()
    assert "put it back" in client.get("table").text
    assert "put it back" in client.post("api/write").json()["error"]


def test_an_answer_without_an_origin_or_as_a_form_is_refused(client):
    assert client.post("api/answer", LABEL, drop=("Origin",)).status_code == 403
    plain = {"content": json.dumps(LABEL), "headers": {"Content-Type": "text/plain"}}
    assert client.send("POST", "api/answer", **plain).status_code == 415
    assert client.send("POST", "api/answer", data={"node": "1"}).status_code == 415
    assert stored(client) == ""


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "PATCH"])
def test_other_methods_are_refused_and_nobody_is_invited(client, method):
    answer = client.send(method, "api/state", headers={"Origin": ORIGIN})
    assert answer.status_code == 405
    assert not [name for name in answer.headers if name.startswith("access-control")]


def test_another_machine_is_refused(client):
    assert client.get("", client="192.168.1.7").status_code == 403


def test_an_answer_of_ten_megabytes_is_refused(client):
    large = {**LABEL, "label": "x" * 10_000_000}
    assert client.post("api/answer", large).status_code == 413

    async def chunks():
        for _ in range(200):
            yield b" " * LARGEST

    headers = {"Content-Type": "application/json"}
    # Without a length, or with a false one.
    assert client.send("POST", "api/answer", content=chunks(), headers=headers).status_code == 413
    headers["Content-Length"] = "10"
    assert client.send("POST", "api/answer", content=chunks(), headers=headers).status_code == 413
    assert stored(client) == ""


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{",
        b"[" * 30_000,
        b'{"node": 1e999, "act": "label", "label": "AI"}',
        b'{"node": true, "act": "skip"}',
        b'{"node": "1; rm", "act": "skip"}',
        b'{"node": 1, "act": "label", "label": {"a": 1}}',
        b'{"node": 1, "act": "undo"}',
        b'{"node": 1, "act": "skip", "key": 7}',
        b'{"node": 1, "act": "skip", "key": "' + b"k" * (LONGEST_KEY + 1) + b'"}',
        b'{"node": 1, "act": "skip", "mode": "eat"}',
    ],
)
def test_nonsense_is_one_sentence(client, body):
    answer = client.send("POST", "api/answer", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400
    assert set(answer.json()) == {"error"}


def test_an_answer_with_nonsense_is_not_stored(client):
    before = client.get("api/state").json()["answers"]
    answer = client.post("api/answer", {"node": 1, "act": "skip", "mode": "eat"})
    assert answer.status_code == 400
    assert client.get("api/state").json()["answers"] == before


@pytest.mark.parametrize("key", [["x"], {"x": 1}, 7, "k" * (LONGEST_KEY + 1)])
def test_a_key_of_another_kind_takes_nothing_back(client, key):
    client.post("api/answer", LABEL)
    answer = client.post("api/undo", {"key": key})
    assert answer.status_code == 400
    assert client.get("api/state").json()["answers"] == 1


@pytest.mark.parametrize(
    "path",
    [
        "api/nothing",
        "api/__class__",
        "session.json",
        "..%2f..%2fetc%2fpasswd",
        "page/label.js",
        "/etc/passwd",
        "x" * 5000,
    ],
)
def test_there_is_nothing_else(client, path):
    assert client.get(path).status_code == 404


@pytest.mark.parametrize(
    "path", ["api/node?node=-1", "api/node?node=99", "api/list?page=-1", "api/list?order=x", "api/next?mode=x"]
)
def test_what_does_not_exist_is_one_sentence(client, path):
    assert client.get(path).status_code == 400


def test_every_response_carries_the_policy(client):
    for answer in (client.get(""), client.get("api/state"), client.get("", token="x"), client.get("table")):
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cache-control"] == "no-store"
    assert client.get("api/state").headers["content-type"] == "application/json"
    assert client.get("table").headers["content-disposition"].startswith("attachment")


def test_markup_stays_text_in_everything_the_page_gets(begun, look):
    odd = f"{MARKUP}1"
    nodes = [{**row, "id": odd if row["id"] == "p1" else row["id"], f"<b>{MARKUP}": MARKUP} for row in rows()]
    each = begun(nodes, edges=[tuple(odd if end == "p1" else end for end in pair) for pair in pairs()])
    look(each)
    client = Client(each)
    got = client.post("api/answer", {"node": 1, "act": "label", "label": f"<script>{MARKUP}"}).json()
    assert got["state"]["classes"][-1] == f"<script>{MARKUP}"
    assert client.get("api/node?node=1").headers["content-type"] == "application/json"
    assert [f"<b>{MARKUP}", MARKUP] in client.get("api/node?node=1").json()["columns"]


def test_the_page_never_writes_markup_and_loads_nothing_from_outside():
    for path in PAGE.iterdir():
        text = path.read_text()
        assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|new Function", text), path.name
        assert not re.search(r"(src|href)=\"(https?:)?//", text), path.name
        if path.suffix == ".html":
            # Nothing inline, which the policy would refuse.
            assert not re.search(r"<script>|<style|style=|\son\w+=", text)


def test_searching_and_listing(client):
    assert [line["id"] for line in client.get("api/find?text=p3").json()["lines"]][:2] == ["p3", "p30"]
    found = client.get("api/find?text=WORD2").json()
    assert found["total"] == 12
    assert client.get("api/find?text=").json()["total"] == 0
    assert client.get("api/find?text=%5B%28.*").json()["total"] == 0  # no pattern, plain text
    assert client.get("api/find?text=" + "x" * 500).status_code == 400
    assert client.get("api/list?which=labeled&order=table").json()["total"] == 18
    client.post("api/answer", LABEL)
    client.post("api/answer", {**LABEL, "node": 3, "act": "unsure", "key": "l"})
    assert [line["id"] for line in client.get("api/list?which=mine").json()["lines"]] == ["p1"]
    assert [line["id"] for line in client.get("api/list?which=unsure").json()["lines"]] == ["p3"]


def test_a_card_has_neighbours_and_columns_as_the_table_has_them(client):
    card = client.get("api/node?node=0").json()
    assert card["label"] == "AI"
    assert dict(card["columns"])["title"] == rows()[0]["title"]
    assert "topic" not in dict(card["columns"])
    assert card["title"] == rows()[0]["title"]
    beside = client.session.matter.problem.graph.structure.neighbours_of(0)
    assert {line["node"] for line in card["neighbours"]} == set(beside.tolist())
    assert card["neighbour_count"] == len(beside)
    labels = [line["label"] is None for line in card["neighbours"]]
    assert labels == sorted(labels)


def test_explanations_have_a_place(begun, look):
    each = begun()
    look(each)
    asked = []

    def explain(node):
        asked.append(node)
        return {"words": ["because"], "head": ["what"], "rows": [["title"]]}

    client = Client(each, explain)
    assert client.get("api/state").json()["explains"]
    assert client.get("api/explain?node=2").json()["words"] == ["because"]
    assert asked == ["p2"]
    assert Client(each).get("api/explain?node=2").status_code == 400
