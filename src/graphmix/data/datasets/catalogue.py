"""What is known about every dataset without loading it, and where its files are. Needs no torch."""

import difflib
from dataclasses import dataclass
from pathlib import Path

from graphmix.data.datasets import file_sets, sources
from graphmix.data.datasets.file_sets import FileSet
from graphmix.data.datasets.sources import Report
from graphmix.data.split_names import PUBLIC, Sizes
from graphmix.errors import DataError

# How a dataset's files are read: keys of `loading.READERS`.
PLANETOID = "planetoid"
COAUTHOR = "coauthor"
CORA_FULL = "cora-full"
AMAZON = "amazon"
RATINGS = "ratings"
SYNTHETIC = "synthetic"


@dataclass(frozen=True)
class DatasetInfo:
    """What is known about a dataset without loading it.

    Attributes:
        title: its name in print.
        nodes: number of nodes; of links, where links are classified.
        edges: number of undirected edges, without self-loops and repeats.
        features: number of features of a node.
        classes: number of classes.
        source: who made it.
        description: what the nodes, edges and labels are, in one line.
        format: which reader builds the graph, a key of `loading.READERS`.
        files: the files it is read from; None for a generated graph.
        task: what is classified, "nodes" or "links"; links are the nodes of a dual graph.
        split: the usual split, a name that `make_split` knows.
        sizes: training, validation and test nodes of its public or random split, where they are fixed.
        class_names: one name per class, where they are known with certainty.
    """

    title: str
    nodes: int
    edges: int
    features: int
    classes: int
    source: str
    description: str
    format: str
    files: FileSet | None = None
    task: str = "nodes"
    split: str = PUBLIC
    sizes: Sizes | None = None
    class_names: tuple[str, ...] | None = None


# LINQS's names of the classes. Planetoid numbers them in an order of its own; the classes differ in size, and these are
# the names of the classes of that size in LINQS's files.
_CORA = (
    "Theory",
    "Reinforcement learning",
    "Genetic algorithms",
    "Neural networks",
    "Probabilistic methods",
    "Case based",
    "Rule learning",
)
_CITESEER = (
    "Artificial intelligence",
    "Machine learning",
    "Information retrieval",
    "Databases",
    "Agents",
    "Human-computer interaction",
)
_PUBMED = ("Experimental diabetes", "Type 2 diabetes", "Type 1 diabetes")

DATASETS: dict[str, DatasetInfo] = {
    "cora": DatasetInfo(
        title="Cora",
        nodes=2708,
        edges=5278,
        features=1433,
        classes=7,
        source="Planetoid (Yang et al., 2016)",
        description="Machine-learning papers, joined by citations; words as features, topics as classes.",
        format=PLANETOID,
        files=file_sets.CORA,
        sizes=(140, 500, 1000),
        class_names=_CORA,
    ),
    "citeseer": DatasetInfo(
        title="Citeseer",
        nodes=3327,
        edges=4552,
        features=3703,
        classes=6,
        source="Planetoid (Yang et al., 2016)",
        description="Computer-science papers, joined by citations; words as features, fields as classes.",
        format=PLANETOID,
        files=file_sets.CITESEER,
        sizes=(120, 500, 1000),
        class_names=_CITESEER,
    ),
    "pubmed": DatasetInfo(
        title="Pubmed",
        nodes=19717,
        edges=44324,
        features=500,
        classes=3,
        source="Planetoid (Yang et al., 2016)",
        description="Papers on diabetes, joined by citations; TF-IDF words as features, types as classes.",
        format=PLANETOID,
        files=file_sets.PUBMED,
        sizes=(60, 500, 1000),
        class_names=_PUBMED,
    ),
    "cora-full": DatasetInfo(
        title="Cora-Full",
        nodes=18703,
        edges=62421,
        features=8710,
        classes=67,
        source="Bojchevski and Günnemann (2018), cleaned as in Shchur et al. (2018)",
        description="Papers of computer science, joined by citations; words as features, topics as classes.",
        format=CORA_FULL,
        files=file_sets.CORA_FULL,
        split="benchmark",
    ),
    "coauthor-cs": DatasetInfo(
        title="Coauthor-CS",
        nodes=18333,
        edges=81894,
        features=6805,
        classes=15,
        source="Shchur et al. (2018)",
        description="Authors in computer science, joined by papers; their keywords as features, fields as classes.",
        format=COAUTHOR,
        files=file_sets.COAUTHOR_CS,
        split="benchmark",
    ),
    "coauthor-physics": DatasetInfo(
        title="Coauthor-Physics",
        nodes=34493,
        edges=247962,
        features=8415,
        classes=5,
        source="Shchur et al. (2018)",
        description="Authors in physics, joined by papers; their keywords as features, fields as classes.",
        format=COAUTHOR,
        files=file_sets.COAUTHOR_PHYSICS,
        split="benchmark",
    ),
    "amazon-photo": DatasetInfo(
        title="Amazon-Photo",
        nodes=7650,
        edges=119081,
        features=745,
        classes=8,
        source="McAuley et al. (2015), as in Shchur et al. (2018)",
        description="Goods for photography, joined if bought together; words of reviews as features, kinds as classes.",
        format=AMAZON,
        files=file_sets.AMAZON_PHOTO,
        split="benchmark",
    ),
    "bitcoin-alpha": DatasetInfo(
        title="Bitcoin Alpha",
        nodes=3821,
        edges=98161,
        features=3783,
        classes=2,
        source="SNAP (Kumar et al., 2016)",
        description="Strong ratings, joined by shared users; the two users as features, trust or distrust as classes.",
        format=RATINGS,
        files=file_sets.BITCOIN_ALPHA,
        task="links",
        split="random",
        sizes=(100, 500, 3221),
    ),
    "bitcoin-otc": DatasetInfo(
        title="Bitcoin OTC",
        nodes=6547,
        edges=226356,
        features=5881,
        classes=2,
        source="SNAP (Kumar et al., 2016)",
        description="Strong ratings, joined by shared users; the two users as features, trust or distrust as classes.",
        format=RATINGS,
        files=file_sets.BITCOIN_OTC,
        task="links",
        split="random",
        sizes=(100, 500, 5947),
    ),
    "synthetic": DatasetInfo(
        title="Synthetic",
        nodes=1000,
        edges=2482,
        features=500,
        classes=4,
        source="generated from seed 0",
        description="Communities with most links inside; words as features, communities as classes.",
        format=SYNTHETIC,
        sizes=(80, 306, 614),
    ),
}


def get(name: str, data_root: Path | str | None = None, report: Report | None = None) -> list[Path]:
    """Make sure that a dataset's files are on this machine, and return their paths.

    Files with a known SHA-256 are checked. Arguments and errors are those of `load`; a generated dataset has no files.
    """
    files = _files(name)
    return [] if files is None else sources.fetch(files, data_root, report)


def has_checksums(name: str) -> bool:
    """Return whether a SHA-256 is known for every file of a dataset."""
    files = _files(name)
    return files is None or all(file.sha256 is not None for file in files.files)


def where(name: str, data_root: Path | str | None = None) -> Path | None:
    """Return the folder of a dataset's files, unchecked; None if a file is missing or the dataset has no files."""
    files = _files(name)
    if files is None:
        return None
    paths = sources.locate(files, data_root)
    return None if paths[0] is None or None in paths else paths[0].parent


# Endings of the tables that fits read.
_TABLES = (".csv", ".tsv", ".txt", ".parquet")


def is_file(name: str) -> bool:
    """Return whether a name is the path of an .npz file, not the name of a dataset."""
    return name.endswith(".npz")


def resolve(name: str) -> str:
    """Return the key of `DATASETS` for a name in any spelling; the path of an .npz file is returned unchanged.

    Raises:
        DataError: there is no such dataset; the message names the nearest.
    """
    if is_file(name):
        return name
    wanted = name.strip().lower().replace("_", "-")
    keys = {key.replace("_", "-"): key for key in DATASETS}
    if wanted in keys:
        return keys[wanted]
    if name.lower().removesuffix(".gz").endswith(_TABLES):
        raise DataError(f"{name!r} is a table, not a dataset; `graphmix fit` takes a table of nodes and one of edges")
    near = difflib.get_close_matches(wanted, keys, n=1)
    hint = f"did you mean {keys[near[0]]!r}?" if near else f"there are {', '.join(DATASETS)};"
    raise DataError(f"unknown dataset {name!r}; {hint} `graphmix data list` shows all")


def _files(name: str) -> FileSet | None:
    if is_file(name):
        raise DataError(f"{name} is your own file; there is nothing to download")
    return DATASETS[resolve(name)].files
