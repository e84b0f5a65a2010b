"""Two small tables, and the whole way from them to a model, for the tests of it."""

import numpy as np

from command_line import graphmix

command = graphmix  # its old name here
TOPICS = ("AI", "DB", "ML")


def rows(count=36, labeled=2, seed=0):
    """Nodes `p0` … with a topic, a number, a category and a title; every second one is labeled."""
    rng = np.random.default_rng(seed)
    topics = [number % 3 for number in range(count)]
    return [
        {
            "id": f"p{number}",
            "topic": TOPICS[topic] if number % labeled == 0 else "",
            "year": f"{2000 + topic + rng.normal():.2f}",
            "venue": f"venue{(topic + int(rng.integers(2))) % 3}",
            "title": f"on word{topic} and thing{number % 4} with graph {number}",
        }
        for number, topic in enumerate(topics)
    ]


def pairs(count=36, seed=1):
    """A ring within every topic and a few edges between them, so that the graph is connected."""
    rng = np.random.default_rng(seed)
    ring = [(number, (number + 3) % count) for number in range(count)]
    return [(f"p{a}", f"p{b}") for a, b in [*ring, *rng.integers(0, count, (count // 3, 2)).tolist()]]


def lines(header, cells, separator=","):
    return "".join(separator.join(map(str, line)) + "\n" for line in [header, *cells])


def write_nodes(path, nodes=None, separator=","):
    nodes = rows() if nodes is None else nodes
    path.write_text(lines(nodes[0], (row.values() for row in nodes), separator))
    return path


def write_edges(path, edges=None, separator=","):
    edges = pairs() if edges is None else edges
    header = ("source", "target", "weight")[: len(edges[0])] if edges else ("source", "target")
    path.write_text(lines(header, edges, separator))
    return path


def fit_tables(folder, nodes, edges, *, out="model", columns=None, methods=("graphmix", "label-propagation"), **chosen):
    """Fit as the command does, but small; `chosen` are options of a fit and hyperparameters."""
    from graphmix.workflow.columns import Columns
    from graphmix.workflow.fitting import fit_tables
    from graphmix.workflow.options import FitOptions

    names = ("target_accuracy", "coverage", "ignore_unknown", "predictions", "resume")
    options = FitOptions(methods=methods, device="cpu", **{name: chosen.pop(name) for name in names if name in chosen})
    settings = {"trials": 3, "epochs": 3, "hidden": 4} | chosen
    return fit_tables(
        nodes, edges, out=folder / out, columns=columns or Columns(label="topic"), options=options, **settings
    )


def tree(folder):
    """Every file under a folder and what it holds."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
