"""Sound tables, models, runs and records, made once, for the cases to copy and to spoil."""

import shutil
from pathlib import Path

from bad_inputs.server import preload
from command_line import save
from small_tables import pairs, rows, write_edges, write_nodes

OLD_FILES = Path(__file__).parent.parent / "old_files"
RESULTS = Path(__file__).parents[2] / "results"
QUICK = ("--trials", "2", "--epochs", "2", "--device", "cpu")
FIT = (*QUICK, "--hidden", "4")
SEARCH = (*QUICK, "--space", "space.toml")
NODES = ("--nodes", "nodes.csv", "--edges", "edges.csv", "--label", "topic")
LINKS = ("--edges", "links.csv", "--link-label", "trust")
COMMANDS = (
    ("fit", *NODES, *FIT, "--methods", "graphmix", "--out", "model"),
    ("fit", *NODES, *FIT, "--methods", "supervised,label-propagation", "--split", "part", "--out", "model-split"),
    ("fit", *LINKS, *FIT, "--methods", "supervised", "--no-report", "--out", "model-links"),
    ("train", "graph.npz", *QUICK, "--out", "run"),
    ("train", "graph.npz", *QUICK, "--method", "label-propagation", "--out", "run-baseline"),
    ("demo", *QUICK, "--no-report", "--out", "demo"),
    ("select", "graph.npz", *QUICK, "--alphas", "1", "--gammas", "1,2", "--no-report", "--out", "select"),
    ("reproduce", "joint-optimisation", "--only", "GCN/Cora", *QUICK, "--no-report", "--out", "reproduction"),
    ("tune", "graph.npz", *SEARCH, "--points", "3", "--check-trials", "2", "--out", "search"),
    ("predict", "model", "--nodes", "new.csv", "--edges", "new-edges.csv", "--out", "predictions.parquet"),
    ("explain", "model", "p1", "--out", "reasons.html"),
    ("advise", "model", "--device", "cpu"),
    ("report", "model", "--out", "page.html"),
    ("data", "list"),
)
# Sound hyperparameters to try, for searches.
SPACE = "[space]\nhidden = [4, 8]\n"
MODELS = (
    "model",
    "model",
    "model-split",
    "model-links",
    "old/model-folds",
    "old/model-links",
    "old/model-split",
    "old/model2-networks",
    "old/model2-links",
    "old/model2-classifier",
    "old/classifier",
)
RUNS = ("run", "run-baseline", "demo", "old/run", "old/run-baseline", "demo/graphmix")


def make(folder: Path) -> None:
    """Make the stock in a new folder."""
    folder.mkdir(parents=True)
    nodes = rows(24)
    for number, row in enumerate(nodes):
        row["part"] = ("train", "val", "test")[number // 2 % 3] if row["topic"] else ""
    write_nodes(folder / "nodes.csv", nodes)
    write_edges(folder / "edges.csv", pairs(24))
    new = [{**row, "id": f"new{number}"} for number, row in enumerate(rows(5, seed=3))]
    write_nodes(folder / "new.csv", [{name: cell for name, cell in row.items() if name != "topic"} for row in new])
    write_edges(folder / "new-edges.csv", [(f"new{number}", f"p{2 * number}") for number in range(5)])
    links = [(a, b, ("yes", "no", "")[number % 3]) for number, (a, b) in enumerate(pairs(24))]
    (folder / "links.csv").write_text("source,target,trust\n" + "".join(",".join(row) + "\n" for row in links))
    (folder / "new-links.csv").write_text("source,target\np1,p2\nq1,p3\nq1,q2\n")
    save(folder / "graph.npz")
    (folder / "space.toml").write_text(SPACE)
    preload([list(command) for command in COMMANDS], folder)
    shutil.copytree(OLD_FILES, folder / "old")
    shutil.copytree(RESULTS, folder / "results")
    left = [
        name
        for name in ("model", "model-split", "model-links", "run", "demo", "select", "search")
        if not (folder / name).is_dir()
    ]
    if left:
        raise RuntimeError(f"the stock is not whole: {left}")


def copy(stock: Path, work: Path, *names: str) -> None:
    """Copy files and folders of the stock into the folder of a case, under their last names."""
    for name in names:
        source, target = stock / name, work / Path(name).name
        shutil.copytree(source, target) if source.is_dir() else shutil.copyfile(source, target)
