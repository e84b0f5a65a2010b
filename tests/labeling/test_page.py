"""The page in Chromium: labels by keyboard and by mouse, a change of mind, a retrain meanwhile, a kill; and markup."""

import csv
import re
import signal
import threading

import pytest
import uvicorn

from graphmix.labeling.address import address, listen, new_token, redirect
from graphmix.labeling.guard import Guard
from graphmix.labeling.server import Api, make_app
from served_page import Served
from small_tables import pairs, rows

MARKUP = "<img src=x onerror=document.title=1>"
NODE = "document.querySelector('.node')?.getAttribute('aria-label').slice(5)"

# The next request for a path is answered, but the page does not get to know.
LOSE_A_REPLY = """path => {
  const real = window.fetch;
  window.fetch = async (url, options) => {
    const got = await real(url, options);
    if (url !== `api/${path}`) return got;
    window.fetch = real;
    throw new TypeError("lost");
  };
}"""


class Page:
    """The page, and everything that went wrong or out while it was open."""

    def __init__(self, browser, url, width=1440, scheme="light"):
        self.page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        self.problems, self.requests = [], []
        self.page.on("console", lambda message: self.problems.append(message.text))
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.url = url
        self.page.goto(url)
        self.page.wait_for_selector(".classes button", timeout=120_000)

    def node(self):
        return self.page.evaluate(NODE)

    def wait_beyond(self, node):
        self.page.wait_for_function(f"old => {NODE} !== old", arg=node)

    def state(self):
        return self.page.evaluate("fetch('api/state').then(answer => answer.json())")

    def overflow(self):
        return self.page.evaluate("document.documentElement.scrollWidth - innerWidth")


@pytest.fixture
def served(begun, look):
    """Serve a session from a thread; its rounds come from the test."""
    servers = []

    def start(each):
        each.begin()
        look(each)
        listening, token = listen(0), new_token()
        app = Guard(make_app(Api(each)), token, listening.getsockname()[1])
        server = uvicorn.Server(uvicorn.Config(app, log_level="critical", lifespan="off", ws="none"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        servers.append((server, thread))
        return address(listening, token)

    yield start
    for server, thread in servers:
        server.should_exit = True
        thread.join()


@pytest.mark.browser
def test_every_view_by_keyboard_with_markup_everywhere(browser, begun, served):
    odd = f"{MARKUP}1"
    nodes = [{**row, MARKUP: MARKUP, "topic": row["topic"] and MARKUP + row["topic"]} for row in rows()]
    nodes[1]["id"] = odd
    each = begun(nodes, edges=[tuple(odd if end == "p1" else end for end in pair) for pair in pairs()])
    shown = Page(browser, served(each), width=390)
    page = shown.page
    first = shown.node()
    page.keyboard.press("n")
    page.keyboard.type(f"{MARKUP}new")
    page.keyboard.press("Enter")
    shown.wait_beyond(first)
    assert each.answers.label_of(first) == f"{MARKUP}new"
    second = shown.node()
    for key in ("s", "d"):
        before = shown.node()
        page.keyboard.press(key)
        shown.wait_beyond(before)
    assert each.answers.of(second).act == "skip"
    for count in (2, 1):
        page.keyboard.press("u")
        page.wait_for_function(
            "count => document.querySelector('#said').textContent.startsWith('Taken back')", arg=count
        )
        page.wait_for_timeout(100)
    assert shown.node() == second
    page.keyboard.press("f")
    page.wait_for_selector("#search:focus")
    page.keyboard.type(odd[:12])
    page.wait_for_function("document.querySelectorAll('.lines tbody tr').length > 0")
    for key in ("Escape", "p", "c", "m", "l", "?"):
        page.keyboard.press(key)
        page.wait_for_timeout(150)
        assert shown.overflow() <= 0
    assert page.eval_on_selector("#help", "dialog => dialog.open")
    assert page.evaluate("document.querySelectorAll('main img').length") == 0
    assert page.title() != "1"
    assert shown.problems == []
    assert all(url.startswith(shown.url) for url in shown.requests)
    page.close()


@pytest.mark.browser
def test_what_is_sent_again_after_a_lost_acknowledgement_counts_once(browser, begun, served):
    each = begun()
    # As the command opens the page.
    shown = Page(browser, redirect(each.scratch, served(each)).as_uri())
    page, first = shown.page, shown.node()

    for path, key in (("answer", "1"), ("undo", "u")):
        page.evaluate(LOSE_A_REPLY, path)
        page.keyboard.press(key)
        page.wait_for_selector("#trouble:not([hidden])")
        records = len(each._log.records)
        page.keyboard.press(key)
        page.wait_for_function(f"old => {NODE} {'!==' if key == '1' else '==='} old", arg=first)
        assert len(each._log.records) == records
    assert records == 2
    assert each.answers.standing == []
    page.close()


@pytest.mark.browser
def test_an_answer_that_was_not_stored_is_said_until_something_else_is_done(browser, begun, served):
    each = begun()
    shown = Page(browser, served(each))
    page, first = shown.page, shown.node()
    page.route("**/api/answer", lambda route: route.fulfill(status=500, json={"error": "not stored"}), times=1)
    page.keyboard.press("1")
    page.wait_for_selector("#trouble:not([hidden])")
    page.wait_for_timeout(3500)
    assert page.text_content("#trouble") == "not stored"
    page.keyboard.press("1")
    shown.wait_beyond(first)
    assert page.is_hidden("#trouble")
    page.close()


@pytest.mark.browser
def test_an_answer_that_another_window_took_back_is_not_called_stored(browser, begun, served):
    each = begun()
    shown = Page(browser, served(each))
    page, first = shown.page, shown.node()

    page.evaluate(LOSE_A_REPLY, "answer")
    page.keyboard.press("1")
    page.wait_for_selector("#trouble:not([hidden])")
    each.undo(key="the other window's")
    page.keyboard.press("1")
    page.wait_for_selector("#said:has-text('taken back in another window')")
    assert each.answers.of(first) is None
    page.close()


@pytest.mark.browser
def test_another_page_gets_nothing_and_changes_nothing(browser, begun, served, tmp_path):
    each = begun()
    url = served(each)
    page = browser.new_page()
    (tmp_path / "evil.html").write_text("<title>evil</title>")
    page.goto((tmp_path / "evil.html").as_uri())
    script = """async ([url, options]) => {
      try { const got = await fetch(url, options); return got.type === "opaque" ? "opaque" : got.status; }
      catch { return "refused"; }
    }"""
    body = '{"node": 1, "act": "label", "label": "AI"}'
    for options in (
        {"method": "POST", "body": body, "headers": {"Content-Type": "application/json"}},
        {"method": "POST", "body": body, "mode": "no-cors"},
        {"method": "GET"},
    ):
        assert page.evaluate(script, [f"{url}api/answer", options]) in ("refused", "opaque")
    page.set_content(f'<iframe src="{url}"></iframe>')
    page.wait_for_timeout(300)
    assert [frame.query_selector(".brand") for frame in page.frames[1:]] == [None]
    assert each.answers.standing == []
    page.close()


def counties(data_root):
    folder = data_root / "Wild" / "counties"
    if not folder.is_dir():
        pytest.skip("needs the counties")
    with (folder / "counties.csv").open(newline="") as stream:
        return list(csv.DictReader(stream)), folder / "borders.csv"


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.data
def test_sixty_labels_on_the_counties_with_a_kill_in_the_middle(browser, data_root, tmp_path):
    table, borders = counties(data_root)
    label, truth = "winner_2016", {row["fips"]: row["winner_2016"] for row in table}
    with (tmp_path / "counties.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, table[0])
        writer.writeheader()
        writer.writerows(row | {label: ""} for row in table)
    options = ["--nodes", "counties.csv", "--edges", str(borders), "--label", label, "--ignore-unknown", "--out", "out"]
    first = Served(*options, "--classes", "Democrat,Republican", cwd=tmp_path)
    shown = Page(browser, first.address)
    said = {}

    def give(how):
        node = shown.node()
        said[node] = truth[node]
        if how == "key":
            shown.page.keyboard.press("1" if truth[node] == "Democrat" else "2")
        else:
            shown.page.click(f'.classes button[data-label="{truth[node]}"]')
        shown.wait_beyond(node)

    for _ in range(30):
        give("key")
    # A change of mind: back, the other class, back again, and the right one.
    last = next(reversed(said))
    shown.page.keyboard.press("u")
    shown.page.wait_for_function(
        "old => document.querySelector('.node').getAttribute('aria-label').slice(5) === old", arg=last
    )
    give("click")
    # A round is trained while labels are given.
    shown.page.wait_for_function("document.querySelector('#status').classList.contains('busy')", timeout=120_000)
    for _ in range(10):
        give("click")
    state, node = shown.state(), shown.node()
    first.end(signal.SIGKILL)
    second = Served("out", cwd=tmp_path)
    again = Page(browser, second.address)
    for name in ("answers", "labeled", "mine", "last", "counts", "classes"):
        assert again.state()[name] == state[name]
    assert again.node() == node or len(again.state()["rounds"]) != len(state["rounds"])
    shown.page.close()
    shown = again
    for _ in range(20):
        give("click")
    assert shown.state()["mine"] == 60 == len(said)
    second.wait(lambda state: any(each["right"] is not None for each in state["rounds"]), 300)
    assert shown.problems == []
    code, rest = second.end(signal.SIGINT)
    assert code == 0, rest
    with (tmp_path / "out" / "labels" / "labeled.csv").open(newline="") as stream:
        written = list(csv.DictReader(stream))
    assert {row["fips"]: row[label] for row in written if row[label]} == said
    assert [row | {label: ""} for row in written] == [row | {label: ""} for row in table]
    assert re.search(r"labeled\.csv", rest)
