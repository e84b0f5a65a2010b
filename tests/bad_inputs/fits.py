"""`fit` and `predict` on tables as people have them, and worse."""

from dataclasses import replace
from pathlib import Path

from bad_inputs import oracle, stock
from bad_inputs.case import Case, Ids, Place
from bad_inputs.oracle import Refusal
from bad_inputs.tables import WRITTEN, Drawer, Written

_METHODS = ("graphmix", "supervised", "label-propagation", "supervised", "graphmix,label-propagation")
_RARE = (
    ["--escape-formulas"],
    ["--no-weight"],
    ["--no-header", "nodes"],
    ["--no-header", "edges"],
    ["--limit", "rows=5"],
    ["--limit", "size=100"],
    ["--limit", "cell=3"],
    ["--balanced"],
    ["--json"],
    ["--feature", "f0"],
    ["--ignore", "f0"],
    ["--keep", "f0"],
    ["--keep", "f0=date"],
    ["--keep", "f0=number"],
)
_QUICK = ("--trials", "1", "--epochs", "2", "--hidden", "4", "--device", "cpu")


def fit_tables(place: Place) -> Case:
    """Fit on tables, of which two in five are sound."""
    encoding = place.rng.choice(["utf-8", "utf-8", "utf-8", "utf-16", "latin-1"])
    return _fit(place, Drawer(place.rng, place.rng.choice([0.0, 0.0, 0.03, 0.1, 0.3]), encoding))


def fit_written(place: Place) -> Case:
    """Fit on tables whose numbers and dates are as people write them, of which two in five are sound."""
    return _fit(place, Drawer(place.rng, place.rng.choice([0.0, 0.0, 0.03, 0.1, 0.3]), kinds=WRITTEN))


def _fit(place: Place, drawer: Drawer) -> Case:
    rng = place.rng
    links = rng.random() < 0.15
    nodes = drawer.nodes(rng.randint(0, 3) if drawer.odd("few nodes") else rng.randint(10, 20), label=not links)
    if rng.random() < 0.15 and not links:
        nodes["part"] = rng.choices(["train", "val", "test", "Valid"], k=len(nodes["id"]))
    count = rng.randint(0, 3) if drawer.odd("few edges") else rng.randint(15, 30)
    edges = drawer.edges(nodes["id"], count if nodes["id"] else 0, links)
    node_file, edge_file = drawer.write(nodes, place.work, "nodes"), drawer.write(edges, place.work, "edges")
    with_nodes = not links or rng.random() < 0.5
    options = ["--edges", edge_file.name, "--link-label" if links else "--label", "y"]
    options += ["--nodes", node_file.name] if with_nodes else []
    options += ["--split", "part"] if "part" in nodes else []
    options += ["--encoding", drawer.encoding] if drawer.encoding != "utf-8" else []
    ignore = not links and rng.random() < 0.3
    options += ["--ignore-unknown"] if ignore else []
    options += [] if rng.random() < 0.05 else ["--no-report"]
    options += rng.choice(_RARE) if rng.random() < 0.1 else []
    predictions = "model/predictions.csv"
    if rng.random() < 0.3:
        predictions = f"p.{rng.choice(['csv', 'tsv', 'parquet'])}"
        options += ["--predictions", predictions]
    arguments = ("fit", *options, *_QUICK, "--methods", rng.choice(_METHODS), "--out", "model")
    ids, wrong = _expected(place.work, node_file, edge_file, links, ignore, predictions)
    if "--escape-formulas" in options or "--no-header" in options:
        # Other ids than those in the file, or other columns.
        ids = wrong = None
    if ids is not None:
        ids = replace(ids, weighted="weight" in edges)
    return Case(
        what=_what(drawer),
        arguments=arguments,
        writes=("model", *([predictions] if "/" not in predictions else [])),
        ids=ids,
        ids_error=wrong,
    )


def predict_tables(place: Place) -> Case:
    """Predict new nodes or links with a sound model."""
    rng = place.rng
    model = rng.choice(["model", "model", "model-links"])
    stock.copy(place.stock, place.work, model)
    drawer = Drawer(rng, rng.choice([0.0, 0.0, 0.05, 0.3]))
    links = model == "model-links"
    nodes = {"id": drawer.ids(rng.randint(1, 6), prefix="new")}
    for name, kind in (("year", "number"), ("venue", "category"), ("title", "text"), ("topic", "category")):
        if name != "topic" or rng.random() < 0.3:
            nodes[name] = drawer.cells("mixed" if drawer.odd("cells") else kind, len(nodes["id"]))
    if drawer.odd("a column less"):
        nodes.pop(rng.choice([name for name in nodes if name != "id"]))
    known = [f"p{number}" for number in range(24)]
    edges = drawer.edges([*nodes["id"], *known], rng.randint(1, 8), links=False)
    node_file, edge_file = drawer.write(nodes, place.work, "new"), drawer.write(edges, place.work, "edges")
    out = f"out.{rng.choice(['csv', 'tsv', 'parquet', 'csv'])}"
    ignore, everything = not links and rng.random() < 0.3, rng.random() < 0.3
    options = ["--edges", edge_file.name] if links or rng.random() < 0.8 else []
    options += [] if links else ["--nodes", node_file.name]
    options += ["--ignore-unknown"] if ignore else []
    options += ["--all"] if everything else []
    return Case(
        what=_what(drawer),
        arguments=("predict", model, *options, "--out", out),
        writes=(out,),
        ids=None if links or drawer.odds else _grown(place.work, node_file, known if everything else [], out),
    )


def _what(drawer: Drawer) -> str:
    return "; ".join(drawer.oddities[:6]) or "sound tables"


def _expected(
    work: Path, node_file: Written, edge_file: Written, links: bool, ignore: bool, predictions: str
) -> tuple[Ids | None, str | None]:
    """What the predictions must name, and why the tables must be refused; None where nobody can know."""
    edges = oracle.read(work, edge_file)
    if edges is None or not {"source", "target"} <= edges.keys():
        return None, None
    if links:
        rows = list(zip(edges["source"], edges["target"], strict=True))
        return (Ids(predictions, rows), None) if all(map(all, rows)) else (None, "a link has an end without an id")
    nodes = oracle.read(work, node_file)
    if nodes is None or "id" not in nodes:
        return None, None
    try:
        rows = oracle.node_rows(nodes)
        pairs = oracle.joined(nodes["id"], edges, ignore)
    except Refusal as refusal:
        return None, str(refusal)
    return Ids(predictions, rows, "model", pairs), None


def _grown(work: Path, node_file: Written, known: list[str], out: str) -> Ids | None:
    nodes = oracle.read(work, node_file)
    if nodes is None or "id" not in nodes:
        return None
    return Ids(out, [(name,) for name in [*known, *nodes["id"]]])
