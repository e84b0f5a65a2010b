"""A small session whose rounds are computed at once, and a client that speaks to its guarded application."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from types import SimpleNamespace

import httpx
import pytest
import torch

from graphmix.labeling import begin, rounds, session
from graphmix.labeling.guard import Guard
from graphmix.labeling.server import Api, make_app
from graphmix.limits import Limits
from graphmix.storage.files import write_tensors
from graphmix.storage.folders import LABELS
from graphmix.workflow.columns import Columns
from small_tables import write_edges, write_nodes

TOKEN, PORT = "t" * 43, 8123
HOST = f"127.0.0.1:{PORT}"
ORIGIN = f"http://{HOST}"


class Orders:
    """A trainer that only notes what is ordered."""

    def __init__(self, folder, report, **options):
        self.report, self.orders, self.step = report, [], None

    def order(self, what, **more):
        if self.step is not None:
            return False
        self.orders.append({"do": what, **more})
        self.step = "starting"
        return True

    def end(self):
        self.step = None

    close = end


@pytest.fixture
def begun(tmp_path, monkeypatch):
    """Begin labeling at tables: a function that opens the session, again and again."""
    monkeypatch.setattr(session, "Trainer", Orders)
    monkeypatch.setattr(session, "_WRITE_AFTER", 0.0)
    folder = tmp_path / "model"
    opened = []

    def start(nodes=None, columns=None, classes=(), edges=None, **options):
        if begin.stored(folder) is None:
            table = write_nodes(tmp_path / "nodes.csv", nodes)
            told = {"ignore_unknown": False, "target_accuracy": 0.9, "coverage": 0.9}
            first = begin.begin_with_tables(
                table, write_edges(tmp_path / "edges.csv", edges), columns or Columns(label="topic"), classes, **told
            )
            (folder / LABELS).mkdir(parents=True)
            begin.store(folder, first)
        matter = begin.read_matter(folder, begin.stored(folder), Limits())
        opened.append(session.Session(folder, matter, **options))
        return opened[-1]

    yield start
    for each in opened:
        each._trainer.close()


@pytest.fixture
def look(tmp_path):
    """Do what was ordered last without training: choose nodes."""

    def done(each, **changes):
        labels = list(each.answers.labels().values())
        result = rounds.look(each.matter, labels, len(each._log.records))
        path = tmp_path / "round.safetensors"
        write_tensors(path, {"probabilities": torch.from_numpy(result.probabilities).float()})
        record = json.loads(json.dumps(asdict(result.round) | changes))
        each._trainer.step = None
        each._trainer.report({"did": "round", "round": record, "file": str(path), "wrong": None})

    return done


class Client:
    """Sends requests as a browser on the page would, unless told otherwise."""

    def __init__(self, each, explain=None):
        self.app = Guard(make_app(Api(each, explain)), TOKEN, PORT)

    def send(self, method, path, *, token=TOKEN, headers=None, drop=(), client="127.0.0.1", **more):
        usual = {"Host": HOST} | ({"Origin": ORIGIN} if method == "POST" else {})
        wanted = {name: value for name, value in (usual | (headers or {})).items() if name not in drop}

        async def ask():
            transport = httpx.ASGITransport(app=self.app, client=(client, 1234))
            async with httpx.AsyncClient(transport=transport, base_url=ORIGIN) as sender:
                request = sender.build_request(method, f"/{token}/{path}", headers=wanted, **more)
                for name in drop:
                    request.headers.pop(name, None)
                return await sender.send(request)

        # In a thread of its own: tests in a browser keep a loop running in this one.
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(lambda: asyncio.run(ask())).result()

    def get(self, path, **more):
        return self.send("GET", path, **more)

    def post(self, path, body=None, **more):
        return self.send("POST", path, json={} if body is None else body, **more)


@pytest.fixture
def client(begun, look):
    each = begun()
    each.begin()
    look(each)
    return SimpleNamespace(session=each, **{name: getattr(Client(each), name) for name in ("get", "post", "send")})
