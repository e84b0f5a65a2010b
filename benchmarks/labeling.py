"""Measure graphmix label: answers lost in kills, waiting times, and what its order of asking gains.

    python benchmarks/labeling.py --out benchmarks/results/labeling-cpu.json
    python benchmarks/labeling.py --parts kills,waiting,retrain --out …

kills: a server on the counties is sent answers as fast as it takes them, and killed by SIGKILL at a random moment; then
the answers are read back. Every answer that was acknowledged must be there, and the labeled table must have it. The
server is a process that is forked from one that has read the tables already: 200 starts would take half an hour.

waiting: the time from an answer to the next node in the client, over HTTP, with the answer on the disk.

retrain: a quick and a thorough round on 40 labels of the counties.

person: a simulated person answers from the hidden labels; see labeling_person.py.

Parts that are in the file already are not measured again; of `person`, starts that are missing are added.
"""

import argparse
import json
import os
import random
import signal
import socket
import sys
import tempfile
import threading
import time
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

import numpy as np
import torch

from bench import device_name
from graphmix.experiments.records import source_commit
from graphmix.labeling.address import HOST, listen, new_token
from graphmix.labeling.begin import Matter, begin_with_tables, read_matter, relabeled, store
from graphmix.labeling.log import read_log
from graphmix.labeling.round import QUICK, THOROUGH
from graphmix.labeling.rounds import look, train
from graphmix.labeling.server import serve
from graphmix.labeling.session import Session
from graphmix.labeling.trainer import spared
from graphmix.labeling.written import read_labeled
from graphmix.limits import Limits
from graphmix.results.describe import versions
from graphmix.storage.files import write_json, write_tensors
from graphmix.storage.folders import LABELS
from graphmix.tables.nodes import read_nodes
from graphmix.workflow.columns import Columns
from labeling_person import measure_person
from wild_graphs import COUNTIES_LABEL, hidden_table, load_case

PARTS = ("kills", "waiting", "retrain", "person")
KILLS, ANSWERS, LABELED = 200, 2000, 40
CLASSES = ("Democrat", "Republican")


def main() -> None:
    """Measure what is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("GRAPHMIX_DATA", ".")))
    parser.add_argument("--graphs", default="counties,cora,citeseer")
    parser.add_argument("--starts", type=int, default=3)
    parser.add_argument("--commit", help="commit of the code, if git does not know it")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    record: dict[str, Any] = json.loads(options.out.read_text()) if options.out.exists() else {}
    record.setdefault("command", "python benchmarks/labeling.py")
    record |= {"commit": options.commit or source_commit(), "versions": versions(), "machine": device_name("cpu")}
    for part in options.parts.split(","):
        if part == "person":
            measure_person(options.data, options.graphs.split(","), options.starts, record, options.out)
        elif part not in record:
            record[part] = MEASURED[part](options.data)
            record[part]["load"] = round(os.getloadavg()[0], 1)
            write_json(options.out, record)
            print(part, record[part])


def begin(data: Path, folder: Path, labeled: int = 0) -> Matter:
    """Begin labeling the counties, with so many labels drawn at random."""
    case = load_case("counties", data)
    known = np.random.default_rng(0).permutation(len(case.y))[:labeled]
    nodes = folder / "counties.csv"
    nodes.write_text(hidden_table(case, known))
    begun = begin_with_tables(
        nodes,
        data / "Wild" / "counties" / "borders.csv",
        Columns(label=COUNTIES_LABEL),
        CLASSES,
        ignore_unknown=True,
        target_accuracy=0.9,
        coverage=0.9,
    )
    (folder / "model" / LABELS).mkdir(parents=True)
    store(folder / "model", begun)
    return read_matter(folder / "model", begun, Limits())


class Served:
    """A server in a process of its own, without training, and a client."""

    def __init__(self, matter: Matter, folder: Path) -> None:
        self.listening, self.token = listen(0), new_token()
        self.process = os.fork()
        if self.process == 0:
            session = Session(folder, matter, every=sys.maxsize)
            serve(session, self.listening, self.token)
            os._exit(0)
        port = self.listening.getsockname()[1]
        self.listening.close()
        self._client = HTTPConnection(HOST, port, timeout=20)
        self._client.connect()
        # The client sends head and body by themselves; the body must not wait for the head's acknowledgement.
        self._client.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._headers = {"Content-Type": "application/json", "Origin": f"http://{HOST}:{port}"}

    def ask(self, path: str, body: dict[str, Any] | None = None) -> Any:
        """Ask for something; raises OSError or HTTPException once the server is killed."""
        sent = None if body is None else json.dumps(body)
        address = f"/{self.token}/api/{path}"
        self._client.request("GET" if body is None else "POST", address, sent, self._headers if body else {})
        answer = self._client.getresponse()
        text = answer.read()
        if answer.status != 200:
            raise HTTPException(text.decode())
        return json.loads(text)

    def kill(self) -> None:
        """Kill the process, and wait until it is gone."""
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)


def choose_first(matter: Matter, folder: Path) -> None:
    """Store a first round, so that servers have nodes to ask about."""
    session = Session(folder, matter)
    result = look(matter, matter.problem.labels, 0)
    path = folder.parent / "view.safetensors"
    write_tensors(path, {"probabilities": torch.from_numpy(result.probabilities).float()})
    session._take({"round": json.loads(json.dumps(vars(result.round), default=vars)), "file": str(path)})
    session.close()


def measure_kills(data: Path, kills: int = KILLS) -> dict[str, Any]:
    """Kill a server again and again, and count the answers that are lost."""
    draw, lost, extra, acknowledged = random.Random(0), 0, 0, []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "model"
        matter = begin(data, Path(place))
        choose_first(matter, folder)
        for number in range(kills):
            served = Served(matter, folder)
            served.ask("next?mode=label")
            stop = threading.Timer(draw.uniform(0, 0.25), served.kill)
            stop.start()
            acknowledged += _answer_until_killed(served, len(matter.problem.ids), number, draw)
            stop.join()
            keys = [record["key"] for record in read_log(folder / LABELS / "answers.jsonl").records]
            lost += len(set(acknowledged) - set(keys))
            # At most the one answer that was being sent may be there without an acknowledgement.
            extra = max(extra, len(keys) - len(acknowledged) - number - 1)
        content, _ = read_labeled(folder, matter)
        (Path(place) / "labeled.csv").write_bytes(content)
        written = read_nodes(Path(place) / "labeled.csv", id="fips", label=COUNTIES_LABEL)
        final = Session(folder, matter)
        same = written.labels == list(final.answers.labels().values())
        final.close()
    return {"kills": kills, "acknowledged": len(acknowledged), "lost": lost, "too_many": max(extra, 0), "table": same}


def _answer_until_killed(served: Served, nodes: int, number: int, draw: random.Random) -> list[str]:
    """Answer, change one's mind, skip and take back until the server is gone; return what it acknowledged."""
    told: list[str] = []
    node = draw.randrange(nodes)
    try:
        while True:
            key = f"{number}-{len(told)}"
            if draw.random() < 0.1 and told:
                got = served.ask("undo", {"key": key})
            else:
                act = draw.choice(("label", "label", "label", "skip", "unsure"))
                said = {"node": node, "act": act, "label": draw.choice(CLASSES), "key": key}
                got = served.ask("answer", said)
            told.append(key)
            # Once all nodes have an answer, minds are changed.
            node = draw.randrange(nodes) if got["next"] is None else got["next"]["node"]
    except (OSError, HTTPException):
        return told


def measure_waiting(data: Path, answers: int = ANSWERS) -> dict[str, Any]:
    """Time answers one after the other."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "model"
        matter = begin(data, Path(place))
        choose_first(matter, folder)
        served = Served(matter, folder)
        node, times = served.ask("next?mode=label")["node"], []
        for number in range(answers):
            began = time.perf_counter()
            got = served.ask("answer", {"node": node, "act": "label", "label": CLASSES[0], "key": str(number)})
            times.append(1000 * (time.perf_counter() - began))
            node = got["next"]["node"]
        served.kill()
    quantiles = np.quantile(times, [0.5, 0.95, 0.99, 1.0]).round(1).tolist()
    named = dict(zip(("median_ms", "p95_ms", "p99_ms", "most_ms"), quantiles, strict=True))
    return {"answers": answers, **named, "over_100_ms": sum(each > 100 for each in times)}


def measure_retrain(data: Path) -> dict[str, Any]:
    """Time a quick and a thorough round: seconds by the clock, and of the processor."""
    # As many as the command's process takes, so that a core is left to the server and the browser.
    torch.set_num_threads(int(spared({})["OMP_NUM_THREADS"]))
    found: dict[str, Any] = {"labels": LABELED, "threads": torch.get_num_threads()}
    with tempfile.TemporaryDirectory() as place:
        matter = begin(data, Path(place), LABELED)
        labels = relabeled(matter.problem, matter.problem.labels).labels
        for stage in (QUICK, THOROUGH):
            clock, processor = time.perf_counter(), time.process_time()
            train(matter, labels, stage, 0, folder=Path(place) / "tried")
            found[stage] = {
                "seconds": round(time.perf_counter() - clock, 2),
                "processor_seconds": round(time.process_time() - processor, 2),
            }
    return found


MEASURED = {"kills": measure_kills, "waiting": measure_waiting, "retrain": measure_retrain}


if __name__ == "__main__":
    socket.setdefaulttimeout(30)
    main()
