"""`data list`, `data get`, and commands that need a dataset whose files are missing or wrong."""

from pathlib import Path

from bad_inputs import stock
from bad_inputs.case import Case, Place
from bad_inputs.damage import damaged_bytes, replace_file
from bad_inputs.stock import QUICK
from bad_inputs.words import NAMES, odd_text

_NAMES = (
    "cora",
    "Cora",
    "CITESEER",
    "pubmed",
    "cora-full",
    "cora_full",
    "coauthor-cs",
    "bitcoin-alpha",
    "bitcoin-otc",
    "synthetic",
    "corra",
)


def datasets(place: Place) -> Case:
    """A dataset by a right or wrong name, in a folder with wrong files or none."""
    from graphmix.data.datasets.catalogue import DATASETS

    rng = place.rng
    name = rng.choice(_NAMES) if rng.random() < 0.7 else rng.choice([odd_text(rng), "x.npz", "graph.npz", "", ".", "/"])
    root = place.work / (rng.choice(NAMES) if rng.random() < 0.1 else "root")
    what = []
    info = DATASETS.get(name.lower().replace("_", "-"))
    style = rng.random()
    if info is not None and info.files is not None and style < 0.75:
        folder = root / info.files.folder
        folder.mkdir(parents=True)
        for file in info.files.files:
            how, content = damaged_bytes(rng, b"1,2,3,4\n" * 50)
            (folder / file.name).write_bytes(content)
            what.append(how)
        if rng.random() < 0.4:
            what.append(replace_file(rng, folder / rng.choice(info.files.files).name))
    elif style < 0.9:
        root.mkdir()
    stock.copy(place.stock, place.work, "graph.npz")
    given = rng.choice(
        [
            ("data", "list"),
            ("data", "get", name),
            ("data", "get", name),
            ("train", name, *QUICK, "--no-report", "--out", "out"),
        ]
    )
    path = (
        rng.choice([str(root), str(root.relative_to(place.work)), "nowhere", "graph.npz", "", "~nobody-of-that-name"])
        if style > 0.6
        else str(root)
    )
    return Case(
        what=f"{name[:40]!r}; {'; '.join(what[:3]) or Path(path).name!r}",
        arguments=(*given, "--data-root", path),
        writes=("out",),
    )
