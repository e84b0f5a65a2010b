"""graphmix fit as people meet it: it works on odd tables, or says in one sentence what is wrong and leaves nothing."""

import csv
import errno
import gzip
import json
import os
import resource
import signal

import numpy as np
import pyarrow as pa
import pytest
import safetensors.torch
from pyarrow import parquet

from command_line import graphmix, graphmix_signalled, refused
from graphmix.storage.lock import locked
from graphmix.tables import estimates
from graphmix.training.methods import fit_methods
from graphmix.workflow import fitting, room
from graphmix.workflow.model import load_model
from small_tables import lines, pairs, rows, tree, write_edges, write_nodes

QUICK = ["--trials", "2", "--epochs", "2", "--hidden", "4", "--device", "cpu", "--no-report"]
TWO = ["--methods", "graphmix,label-propagation"]
FILES = {
    "config.json", "encoders.json", "graph.safetensors", "heldout.safetensors", "ids.json", "metrics.json",
    "model.json", "predictions.csv", "weights.safetensors",
}  # fmt: skip


def fit(folder, *options, nodes="nodes.csv", edges="edges.csv", label="topic", out="model"):
    tables = [] if nodes is None else ["--nodes", folder / nodes, "--label", label]
    return graphmix("fit", *tables, "--edges", folder / edges, "--out", folder / out, *QUICK, *options)


def predictions(folder, name="model/predictions.csv"):
    with (folder / name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def fitted(folder, *options, **tables):
    """Fit, and hold what comes out to what was promised: every id once, in order, probabilities, a whole folder."""
    result = fit(folder, *(options or TWO), **tables)
    assert result.returncode == 0, result.stderr
    assert set(tree(folder / "model")) >= FILES
    stored = load_model(folder / "model")
    probabilities = stored.mixture.probabilities(stored.problem.learned)
    assert np.isfinite(probabilities).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert len(predictions(folder)) == len(probabilities)
    return stored, result


@pytest.fixture
def tables(tmp_path):
    write_nodes(tmp_path / "nodes.csv")
    write_edges(tmp_path / "edges.csv")
    return tmp_path


def one_sentence(folder, result, *parts):
    """Exit code 2, one line that begins with the program's name, and no folder."""
    refused_after_a_look(result, *parts)
    assert not (folder / "model").exists()
    assert not list(folder.rglob(".*"))


def refused_after_a_look(result, *parts):
    """What it understood of the tables may have been shown by then, but nothing else."""
    if result.stdout.startswith("What nodes holds"):
        assert "Model written" not in result.stdout
        result.stdout = ""
    refused(result, *parts)
    assert result.stderr.startswith("graphmix: ")


def test_from_two_tables_to_a_model_and_a_page(tmp_path, monkeypatch):
    split = ["train", "train", "val", "test"]
    held = [row | {"topic": "ABC"[n % 3], "part": split[n // 3 % 4]} for n, row in enumerate(rows())]
    (tmp_path / "papers.tsv.gz").write_bytes(
        gzip.compress(lines(held[0], (row.values() for row in held), "\t").encode())
    )
    sources, targets = zip(*pairs(), strict=True)
    weights = np.linspace(1, 2, len(sources))
    parquet.write_table(pa.table({"citing": sources, "cited": targets, "weight": weights}), tmp_path / "cites.parquet")
    options = ["--nodes", "papers.tsv.gz", "--edges", "cites.parquet", "--label", "topic", "--split", "part"]
    options += ["--trials", "2", "--epochs", "3", "--hidden", "4", "--device", "cpu", "--feature", "year"]
    options += ["--feature", "title=text", "--predictions", "all.parquet", "--json", "--out", "model"]
    result = graphmix("fit", *options, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    answer = json.loads(result.stdout)
    assert answer.pop("out") == "model"
    assert answer == json.loads((tmp_path / "model" / "metrics.json").read_text())
    assert set(tree(tmp_path / "model")) >= (FILES | {"report.html"}) - {"predictions.csv"}
    assert answer["judged_on"] == "validation nodes"
    assert (answer["held"], answer["test"]["nodes"]) == (9, 9)
    assert answer["candidates"][0]["method"] == answer["chosen"] == "mixture"
    assert {place["method"] for place in answer["candidates"][1:]} == set(fit_methods())
    made = parquet.read_table(tmp_path / "all.parquet").to_pydict()
    assert made["id"] == [row["id"] for row in held]
    assert made["label"] == [row["topic"] for row in held]
    page = (tmp_path / "model" / "report.html").read_text()
    assert "<html" in page
    assert "papers" in page
    # Finished: a second run is refused whatever it asks for, and going on takes the same wishes.
    before = tree(tmp_path / "model")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "all.parquet").rename(tmp_path / "first.parquet")
    refused(graphmix("fit", *options), "model", "finished", "--out")
    refused(graphmix("fit", *options, "--resume", "--seed", "1"), "model", "another fit", "hyperparameters")
    refused(graphmix("fit", *options, "--resume", "--coverage", "0.8"), "model", "another fit")
    assert tree(tmp_path / "model") == before


def test_ctrl_c_says_how_to_go_on_and_that_works(tables):
    options = ["fit", "--nodes", "nodes.csv", "--edges", "edges.csv", "--label", "topic", *QUICK]
    options += ["--json", "--out", "model", "--methods", "fcn,graphmix"]
    # The first file of the second candidate.
    moment = {"send": signal.SIGINT, "files": 1, "folder": "graphmix-gpr"}
    ended = graphmix_signalled(*options, cwd=tables, **moment)
    assert ended.returncode == 130, ended.stderr
    assert ended.stdout == ""
    *_, last = ended.stderr.strip().splitlines()
    for part in ("interrupted", "--resume", "model"):
        assert part in last
    assert (tables / "model" / "candidates" / "fcn" / "heldout.safetensors").exists()
    refused(graphmix(*options, cwd=tables), "model", "unfinished", "--resume")
    done = graphmix(*options, "--resume", cwd=tables)
    assert done.returncode == 0, done.stderr
    # GraphMix is tried with two networks.
    tried = [place["method"] for place in json.loads(done.stdout)["candidates"]]
    assert sorted(tried) == ["fcn", "graphmix", "graphmix", "mixture"]


def test_a_file_that_may_not_grow_is_a_full_disk(tables):
    """The kernel itself refuses to write on, in the middle of a file."""
    before = tree(tables)
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200, usual[1]))
    try:
        result = fit(tables, *TWO)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
    one_sentence(tables, result, "config.json", "File too large")
    assert tree(tables) == before


def test_a_disk_that_fills_at_any_moment_leaves_whole_files(tables, monkeypatch):
    real, calls, allowed = os.fsync, [], []

    def limited(handle):
        calls.append(handle)
        if allowed and len(calls) > allowed[0]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(handle)

    monkeypatch.setattr(os, "fsync", limited)
    methods = ["--methods", "fcn,label-propagation"]
    fitted(tables, *methods)
    whole, total = tree(tables / "model"), len(calls)
    for moment in (0, 2, total - 3, total - 1):
        out = f"at{moment}"
        calls.clear()
        allowed[:] = [moment]
        refused_at = fit(tables, *methods, out=out)
        assert refused_at.returncode == 2
        assert "No space left on device" in refused_at.stderr.splitlines()[-1]
        assert not list((tables / out).rglob("*.part"))
        allowed.clear()
        # Where networks were trained one can go on, elsewhere begin anew; both come to the same.
        again = fit(tables, *methods, *(["--resume"] if (tables / out).exists() else []), out=out)
        assert again.returncode == 0, again.stderr
        assert without_seconds(tree(tables / out)) == without_seconds(whole)


def without_seconds(files):
    """The contents of files by name, but for how long anything took."""
    kept = {
        name: content
        for name, content in files.items()
        if name.endswith((".safetensors", ".csv")) or name in ("encoders.json", "ids.json", "config.json", "model.json")
    }
    for name in kept:
        if name.startswith("candidates/") and name.endswith("heldout.safetensors"):
            tensors = safetensors.torch.load(kept[name])
            kept[name] = {key: tensor.tolist() for key, tensor in tensors.items() if key != "seconds"}
            assert set(kept[name]) >= {"points", "nodes", "probabilities"}
    return kept


def test_another_process_in_the_same_folder(tables):
    (tables / "model").mkdir()
    with locked(tables / "model"):
        refused_after_a_look(fit(tables, *TWO), "model", "another process")


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        (["--trials", "0"], ["trials", "at least 1"]),
        (["--target-accuracy", "0"], ["target", "accuracy", "above 0 and below 1"]),
        (["--target-accuracy", "2"], ["target", "accuracy", "above 0 and below 1", "2"]),
        (["--target-accuracy", "nan"], ["target", "accuracy", "above 0 and below 1", "nan"]),
        (["--coverage", "1.5"], ["coverage", "above 0 and below 1", "1.5"]),
        (["--coverage", "-1"], ["coverage", "above 0 and below 1", "-1"]),
        (["--methods", "magic"], ["'magic'", "label-propagation", "random-forest", "graphmix"]),
        (["--methods", ""], ["method", "''"]),
        (["--backbone", "mlp"], ["backbone", "gcn", "mlp"]),
        (["--device", "abacus"], ["device", "'abacus'"]),
        (["--id", "nothing"], ["nodes.csv", "'nothing'", "'id', 'topic'"]),
        (["--id", "topic"], ["'topic'", "ids", "labels"]),
        (["--split", "year"], ["'2000", "'year'", "train, val"]),
        (["--source", "nothing"], ["edges.csv", "'nothing'"]),
        (["--source", "target", "--target", "target"], ["'target'"]),
        (["--weight", "nothing"], ["edges.csv", "'nothing'"]),
        (["--weight", "target"], ["edges.csv"]),
        (["--feature", "nothing"], ["nodes.csv", "'nothing'"]),
        (["--feature", "title=number"], ["line 2", "'on word0", "'title'", "number"]),
        (["--feature", "year=embedding"], ["'year'", "list of numbers"]),
        (["--feature", "year=colour"], ["'year=colour'", "number, date, category"]),
        (["--feature", "year", "--feature", "year=number"], ["feature", "year", "twice"]),
        (["--feature", "topic"], ["'topic'", "labels"]),
        (["--ignore", "nothing"], ["'nothing'"]),
        (["--encoding", "klingon"], ["encoding", "'klingon'"]),
        (["--predictions", "out.xlsx"], ["out.xlsx", ".csv"]),
        (["--predictions", "/nowhere/at/all.csv"], ["/nowhere/at"]),
        (["--link-label", "target"], ["nodes", "links"]),
        (["--hidden", "2000000000"], ["GiB"]),
        (["--learning-rate", "-1"], ["learning", "rate", "-1"]),
        (["--epochs", "many"], ["--epochs"]),
        (["--batch-nodes", "1"], ["--batch-nodes must be at least 2"]),
        (["--batch-nodes", "-1"], ["--batch-nodes must be at least 0", "-1"]),
        (["--batch-nodes", "8", "--batch-fanout", "0"], ["--batch-fanout must be at least 1"]),
        (["--batch-nodes", "8", "--backbone", "unet"], ["--batch-nodes must be 0 for the network unet"]),
    ],
)  # fmt: skip
def test_options_that_cannot_be(tables, options, parts):
    one_sentence(tables, fit(tables, *options), *parts)


def test_tables_that_cannot_fit_are_refused_before_they_are_read(tables, monkeypatch):
    monkeypatch.setattr(
        estimates, "size_of", lambda path, reading: estimates.TableSize(50_000_000, 40 - len(reading.ignore))
    )
    monkeypatch.setattr(estimates, "available_memory", lambda: 2**33)
    monkeypatch.setattr(fitting, "read_problem", None)
    result = fit(tables)
    assert result.returncode == 2
    assert "about 50,000,000 nodes and 50,000,000 edges: reading them takes about" in result.stderr
    assert "but only 8 GiB of memory are free; not even the nodes fit" in result.stderr
    assert "leave columns out with --ignore" in result.stderr
    assert not (tables / "model").exists()
    # Columns that are left out take no room.
    told = [fit(tables, *options).stderr.partition(" of memory and")[0] for options in ((), ("--ignore", "year"))]
    assert told[0] != told[1]


def test_a_fit_in_mini_batches_says_so(tables):
    stored, result = fitted(tables, "--methods", "supervised", "--batch-nodes", "8", "--batch-fanout", "2")
    assert "a step draws 8 nodes and 2 neighbours of each" in result.stdout
    assert (stored.mixture.config.batch_nodes, stored.mixture.config.batch_fanout) == (8, 2)


def test_files_that_cannot_be(tables):
    one_sentence(tables, fit(tables, nodes="nowhere.csv"), "nowhere.csv")
    one_sentence(tables, fit(tables, edges="nowhere.csv"), "nowhere.csv")
    (tables / "folder.csv").mkdir()
    one_sentence(tables, fit(tables, nodes="folder.csv"), "folder.csv", "folder")
    (tables / "nodes.xlsx").write_text("")
    one_sentence(tables, fit(tables, nodes="nodes.xlsx"), "nodes.xlsx", ".csv")
    (tables / "fake.parquet").write_text("id,topic\n")
    one_sentence(tables, fit(tables, nodes="fake.parquet"), "fake.parquet", "Parquet")
    (tables / "half.csv.gz").write_bytes(gzip.compress(b"id,topic\na,b\n")[:-9])
    one_sentence(tables, fit(tables, nodes="half.csv.gz"), "half.csv.gz", "gzip")
    one_sentence(tables, fit(tables, nodes="x" * 300 + ".csv"), "File name too long")


def test_a_file_that_may_not_be_read(tables, monkeypatch):
    # These tests may run as root, who may read everything.
    real = type(tables).open

    def forbidden(path, *arguments, **options):
        if path.name == "nodes.csv":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return real(path, *arguments, **options)

    monkeypatch.setattr(type(tables), "open", forbidden)
    one_sentence(tables, fit(tables), "nodes.csv", "Permission denied")


HEAD = "id,topic,size\n"
ENOUGH = "".join(f"n{n},{'AB'[n % 2]},{n * n % 7}\n" for n in range(20))
CYCLE = "source,target\n" + "".join(f"n{n},n{(n + 2) % 20}\n" for n in range(20))


@pytest.mark.parametrize(
    ("nodes", "edges", "parts"),
    [
        ("", CYCLE, ["nodes.csv", "empty"]),
        (HEAD, CYCLE, ["nodes.csv", "header", "rows"]),
        (HEAD + ENOUGH, "", ["edges.csv", "empty"]),
        (HEAD + ENOUGH, "source,target\n", ["edges.csv", "header", "rows"]),
        (HEAD + ENOUGH, "source\nn1\n", ["edges.csv", "two columns"]),
        (HEAD + ENOUGH + "n3,A,1\n", CYCLE, ["nodes.csv line 22", "'n3'", "'id'", "line 5"]),
        (HEAD + ENOUGH + ",A,1\n", CYCLE, ["nodes.csv line 22", "id"]),
        (HEAD + ENOUGH + "n99,A\n", CYCLE, ["nodes.csv line 22", "2 cells", "3"]),
        (HEAD + ENOUGH.replace(",B,", ",A,"), CYCLE, ["'topic'", "one class", "'A'"]),
        (HEAD + ENOUGH.replace(",B,", ",,").replace(",A,", ",,"), CYCLE, ["'topic'", "no label"]),
        (HEAD + "".join(f"n{n},c{n},1\n" for n in range(20)), CYCLE, ["20 classes", "20 labeled rows"]),
        ("id,size\n" + "n1,2\nn2,3\n", CYCLE, ["nodes.csv", "'topic'"]),
        (HEAD + "n0,A,1\nn1,B,2\nn2,,3\nn3,,3\n", "a,b\nn0,n1\n", ["too few labels"]),
        (HEAD + ENOUGH, CYCLE + "n1,x9\n", ["1 edge", "'x9'", "edges.csv line 22"]),
        (HEAD + ENOUGH, CYCLE + "n1,\n", ["edges.csv line 22", "id"]),
        (HEAD + ENOUGH, "a,b,weight\nn0,n1,nan\n", ["edges.csv line 2", "'nan'", "'weight'", "missing"]),
        (HEAD + ENOUGH, "a,b,weight\nn0,n1,inf\n", ["edges.csv line 2", "'inf'", "'weight'", "too large"]),
        (HEAD + ENOUGH, "a,b,weight\nn0,n1,-1\n", ["'-1'", "'weight'", "negative"]),
        (HEAD + ENOUGH, "a,b,weight\nn0,n1,heavy\n", ["'heavy'", "'weight'", "number"]),
        (HEAD + ENOUGH, "a,b,weight\nn0,n1,1e308\n", ["'1e308'", "'weight'", "too large"]),
        (HEAD + ENOUGH, "a,b,weight\nn0,n1,0\n", ["weigh", "0"]),
        (HEAD + ENOUGH + 'n99,A,"1\n', CYCLE, ["quote"]),
        ("id,topic,id\na,b,c\n", CYCLE, ["two columns", "'id'"]),
        ("id,topic,\na,b,c\n", CYCLE, ["column 3", "name"]),
    ],
)  # fmt: skip
def test_tables_that_cannot_be(tmp_path, nodes, edges, parts):
    (tmp_path / "nodes.csv").write_text(nodes)
    (tmp_path / "edges.csv").write_text(edges)
    one_sentence(tmp_path, fit(tmp_path), *parts)


def test_edges_that_all_lead_elsewhere(tmp_path):
    (tmp_path / "nodes.csv").write_text(HEAD + ENOUGH)
    (tmp_path / "edges.csv").write_text("source,target\nx1,x2\nx3,n1\n")
    one_sentence(tmp_path, fit(tmp_path), "2 edges", "'x1'")
    one_sentence(tmp_path, fit(tmp_path, "--ignore-unknown"), "no edge", "edges.csv", "nodes.csv")


def test_bytes_that_are_no_text(tables):
    (tables / "nodes.csv").write_bytes("id,topic\nn1,caf\u00e9\n".encode("latin-1"))
    one_sentence(tables, fit(tables), "nodes.csv line 2", "utf-8", "--encoding")
    (tables / "nodes.csv").write_bytes(b"id,topic\nn1,\0\n")
    one_sentence(tables, fit(tables), "nodes.csv line 2", "NUL")


def test_weights_that_the_network_would_not_heed(tables):
    write_edges(tables / "edges.csv", [(*pair, 2) for pair in pairs()])
    for backbone in ("gat", "unet"):
        one_sentence(tables, fit(tables, "--backbone", backbone), "gcn", "weights", backbone)


def test_out_folders_that_cannot_be(tables):
    (tables / "file").write_text("mine")
    refused(fit(tables, out="file"), "file is a file", "--out")
    refused(fit(tables, out="file/model"), "file is a file", "--out")
    refused(fit(tables, out="x" * 300), "File name too long", "--out")
    (tables / "full").mkdir()
    (tables / "full" / "thesis.doc").write_text("mine")
    refused(fit(tables, out="full"), "full", "other files")
    assert set(tree(tables)) == {"nodes.csv", "edges.csv", "file", "full/thesis.doc"}


def test_a_place_that_may_not_be_written(tables, monkeypatch):
    def forbidden(path, *arguments, **options):
        raise PermissionError(errno.EROFS, os.strerror(errno.EROFS), str(path))

    monkeypatch.setattr(type(tables), "mkdir", forbidden)
    one_sentence(tables, fit(tables, *TWO), "model", "Read-only file system")


def test_predictions_never_replace_a_file(tables):
    one_sentence(tables, fit(tables, "--predictions", tables / "nodes.csv"), "nodes.csv", "also read")
    assert (tables / "nodes.csv").read_text().startswith("id,topic")


def test_a_place_for_predictions_is_looked_for_before_training(tables):
    for options in ([], ["--resume"]):
        one_sentence(tables, fit(tables, *options, "--predictions", tables / "no" / "p.csv"), "p.csv", "does not exist")


def test_predictions_beside_the_model_or_in_it(tables):
    stored, _ = fitted_elsewhere(tables, "out.tsv")
    assert (tables / "out.tsv").read_text().startswith("id\tlabel\t")
    (tables / "model").rename(tables / "first")
    fitted_elsewhere(tables, "model/mine.parquet")
    assert parquet.read_table(tables / "model" / "mine.parquet")["id"].to_pylist() == stored.problem.ids


def fitted_elsewhere(folder, name):
    result = fit(folder, *TWO, "--predictions", folder / name)
    assert result.returncode == 0, result.stderr
    assert str(folder / name) in result.stdout
    return load_model(folder / "model"), result


# What is odd and works.


def test_a_mark_windows_lines_and_another_separator(tmp_path):
    (tmp_path / "nodes.csv").write_bytes(
        b"\xef\xbb\xbf" + (HEAD + ENOUGH).replace("\n", "\r\n").replace(",", ";").encode()
    )
    (tmp_path / "edges.csv").write_bytes(CYCLE.replace("\n", "\r\n").encode())
    stored, _ = fitted(tmp_path)
    assert stored.problem.ids == [f"n{n}" for n in range(20)]
    assert stored.mixture.classes == ("A", "B")


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_other_encodings(tmp_path, encoding):
    (tmp_path / "nodes.csv").write_bytes((HEAD + ENOUGH).replace("A", "\u00c4").encode(encoding))
    (tmp_path / "edges.csv").write_bytes(CYCLE.encode(encoding))
    stored, _ = fitted(tmp_path, *TWO, "--encoding", encoding)
    assert stored.mixture.classes == ("B", "\u00c4")
    assert predictions(tmp_path)[0]["label"] == "\u00c4"


def test_numbers_beyond_measure_and_columns_of_everything(tmp_path):
    cells = ["1e308", "-1e308", "inf", "nan", "", "1e-320", "0", "-0", "7", "x"]
    mixed = ["3", "three", "", "[1, 2]", "=1+1", "true", "1e5", "2020-01-01", "\u00e9", "NA"]
    held = "id,topic,size,mixed\n"
    held += "".join(f'n{n},{"AB"[n % 2]},{cells[n % 10]},"{mixed[(n * 7) % 10]}"\n' for n in range(60))
    (tmp_path / "nodes.csv").write_text(held)
    (tmp_path / "edges.csv").write_text(CYCLE)
    stored, _ = fitted(tmp_path)
    x = stored.problem.graph.x
    assert np.isfinite(x.numpy() if hasattr(x, "numpy") else x.to_scipy().toarray()).all()


@pytest.mark.parametrize("escaped", [False, True])
def test_formulas_are_left_as_they_are_and_counted_or_made_harmless(tmp_path, escaped):
    ids = ["=cmd|' /C calc'!A0", "+1+1", "@SUM(A1)", "-2", "-x", "plain"] + [f"n{n}" for n in range(14)]
    topics = ["=HYPERLINK(1)", "-B"]
    held = lines(("id", "topic"), [(f'"{name}"', topics[n % 2] if n < 18 else "") for n, name in enumerate(ids)])
    (tmp_path / "nodes.csv").write_text(held)
    (tmp_path / "edges.csv").write_text(lines(("a", "b"), [(f'"{ids[0]}"', f'"{ids[1]}"'), ("plain", "-2")]))
    result = fitted(tmp_path, *["--escape-formulas"] * escaped)[1]
    made, mark = predictions(tmp_path), "'" * escaped
    risky = [f"{mark}=cmd|' /C calc'!A0", f"{mark}+1+1", f"{mark}@SUM(A1)", "-2", f"{mark}-x", "plain"]
    assert [row["id"] for row in made[:6]] == risky
    assert {row["label"] for row in made} == {f"{mark}=HYPERLINK(1)", f"{mark}-B", ""}
    for row in made:
        # Every class is a formula.
        (held,) = csv.reader([row["set"]], delimiter=";")
        assert {name.removeprefix(mark) for name in held} <= set(topics)
        assert all(name.startswith(mark) for name in held)
    # Four ids, 18 labels; in each of 20 rows two classes and the set.
    said = "82 cells begin like a formula and would run in a spreadsheet; --escape-formulas"
    assert (said in result.stdout) is not escaped
    notes = json.loads((tmp_path / "model" / "metrics.json").read_text())["notes"]
    assert any("82 cells begin like a formula" in note for note in notes) is not escaped


def test_ids_and_classes_of_any_name(tmp_path):
    long = "x" * 5000
    ids = [
        "NA",
        "nan",
        "None",
        "1",
        "01",
        "1.5",
        " 2",
        "\u00e9\u4e2d\u6587",
        "\U0001f600",
        long,
        'a "b"',
        "a,b",
        "null",
        "-",
    ]
    quoted = ['"' + name.replace('"', '""') + '"' for name in ids]
    classes = ["\U0001f600", long, "true"]
    held = lines(("id", "topic"), [(name, classes[n % 3] if n < 12 else "") for n, name in enumerate(quoted)])
    (tmp_path / "nodes.csv").write_text(held, encoding="utf-8")
    edges = [(quoted[n], quoted[(n + 3) % len(ids)]) for n in range(len(ids))]
    (tmp_path / "edges.csv").write_text(lines(("from", "to"), edges), encoding="utf-8")
    stored, _ = fitted(tmp_path)
    assert [row["id"] for row in predictions(tmp_path)] == ids
    assert set(stored.mixture.classes) == set(classes)


def test_names_that_mean_something_to_the_screen(tmp_path):
    held = lines(("id", "topic", "[i]size"), [(f"n{n}", ("[/b]", "[red]x")[n % 2], n % 7) for n in range(20)])
    (tmp_path / "[b]nodes.csv").write_text(held)
    (tmp_path / "edges.csv").write_text(CYCLE)
    _, result = fitted(tmp_path, nodes="[b]nodes.csv")
    for part in ("What [b]nodes holds", "[/b] 10, [red]x 10", "[i]size │ number"):
        assert part in " ".join(result.stdout.split())


def test_ids_that_differ_by_a_space_are_two_nodes(tmp_path):
    (tmp_path / "nodes.csv").write_text(HEAD + ENOUGH + "1,A,2\n 1,B,2\n")
    (tmp_path / "edges.csv").write_text(CYCLE)
    _, result = fitted(tmp_path)
    assert [row["id"] for row in predictions(tmp_path)][-2:] == ["1", " 1"]
    assert "1 id differs from another by outer spaces or '.0' only, such as ' 1' and '1'" in result.stdout


def test_classes_that_programs_write_for_nothing_are_unlabeled(tmp_path):
    names = ["nan", "None", "", "NULL", "A", "B"]
    held = lines(("id", "topic"), [(f"n{n}", names[n % 6]) for n in range(30)])
    (tmp_path / "nodes.csv").write_text(held)
    (tmp_path / "edges.csv").write_text(CYCLE)
    stored, _ = fitted(tmp_path)
    assert stored.mixture.classes == ("A", "B")
    assert int((stored.problem.graph.y >= 0).sum()) == 10


def test_columns_with_an_equals_sign_in_their_names(tmp_path):
    held = HEAD.replace("size", "a=b,c=text") + "".join(
        f"n{n},{'AB'[n % 2]},{n * n % 7},{n % 3}.5\n" for n in range(20)
    )
    (tmp_path / "nodes.csv").write_text(held)
    (tmp_path / "edges.csv").write_text(CYCLE)
    options = [*TWO, "--feature", "a=b", "--feature", "c=text=number"]
    stored, _ = fitted(tmp_path, *options)
    assert [(each.name, each.kind) for each in stored.problem.encoders.columns] == [
        ("a=b", "number"),
        ("c=text", "number"),
    ]


@pytest.mark.parametrize(
    ("edges", "options"),
    [
        (CYCLE.splitlines()[0] + "\nx1,x2\nn3,n1\n", ["--ignore-unknown"]),
        ("source,target\n" + "".join(f"n{n},n{n}\n" for n in range(20)), []),
        ("source,target,weight\nn0,n1,1e-30\nn1,n2,1e30\n", []),
        ("source,target\nn0,n1\n" * 1, ["--trials", "1"]),
        (CYCLE, ["--backbone", "gat"]),
        (CYCLE, ["--balanced"]),
    ],
    ids=["one of them unknown", "loops alone", "weights far apart", "one trial", "gat", "balanced"],
)
def test_graphs_with_little_in_them(tmp_path, edges, options):
    (tmp_path / "nodes.csv").write_text(HEAD + ENOUGH)
    (tmp_path / "edges.csv").write_text(edges)
    fitted(tmp_path, "--methods", "graphmix,supervised,label-propagation,fcn", *options)


def test_many_classes_fit_or_are_refused_at_once(tmp_path, monkeypatch):
    def write(nodes, classes):
        held = lines(("id", "topic", "size"), [(f"n{n}", f"c{n % classes}", n % 7) for n in range(nodes)])
        (tmp_path / "nodes.csv").write_text(held)

    (tmp_path / "edges.csv").write_text(CYCLE)
    write(30_000, 10_000)
    # As on a machine of 16 GiB, whatever this one is.
    monkeypatch.setattr(room, "free_memory", lambda device: 2**34)
    one_sentence(tmp_path, fit(tmp_path), "30,000 nodes", "10,000 classes", "GiB")
    write(600, 200)
    stored, _ = fitted(tmp_path)
    assert len(stored.mixture.classes) == 200


@pytest.mark.parametrize(
    ("labels", "told"),
    [
        ("AB" * 10, "20 of 20 nodes"),
        ("AABBAB" + "." * 14, "A (3), B (3)"),
        ("AAABBBBC" + "." * 12, "1 class has"),
    ],
)
def test_labels_of_all_nodes_or_few(tmp_path, labels, told):
    (tmp_path / "nodes.csv").write_text(
        lines(("id", "topic"), [(f"n{n}", "" if label == "." else label) for n, label in enumerate(labels)])
    )
    (tmp_path / "edges.csv").write_text(CYCLE)
    _, result = fitted(tmp_path)
    assert told in " ".join(result.stdout.split())


def test_links_with_signs(tmp_path):
    links = [(f"u{n % 7}", f"u{n * n % 6}", "+-"[n % 2] if n % 3 else "") for n in range(40)]
    (tmp_path / "edges.csv").write_text(lines(("who", "whom", "sign"), links))
    stored, result = fitted(tmp_path, "--link-label", "sign", *TWO, nodes=None)
    assert stored.mixture.classes == ("+", "-")
    made = predictions(tmp_path)
    assert [(row["who"], row["whom"], row["label"]) for row in made] == links
    assert "What edges holds" in result.stdout
    one = lines(("who", "whom", "sign"), [(*link[:2], "+") for link in links])
    (tmp_path / "edges.csv").write_text(one)
    refused(fit(tmp_path, "--link-label", "sign", nodes=None, out="two"), "edges.csv", "'sign'", "one class")
    refused(fit(tmp_path, "--link-label", "trust", nodes=None, out="two"), "edges.csv", "'trust'")
    refused(fit(tmp_path, nodes=None, out="two"), "--nodes", "--label")


def test_what_is_understood_is_said_first(tables):
    write_nodes(tables / "nodes.csv", rows(labeled=1))
    write_edges(tables / "edges.csv", [*pairs(), ("p0", "p0")])
    _, result = fitted(tables)
    shown = " ".join(result.stdout.split())
    for part in (
        "36, 36 of them labeled",
        "AI 12, DB 12, ML 12",
        "neighbours on average",
        "edges between labels join one class",
    ):
        assert part in shown
    assert "1 edge from a node to itself" in shown
    for part in ("id │ id", "topic │ label", "year │ number │ 1", "venue │ category │ 3", "title │ text"):
        assert f"│ {part} │" in shown
    # Of five folds two trials hold out two, of 8 and 7 labels.
    places = ["What nodes holds", "Percent of 15 held-out labels", "The model ", "Alone, ", "Model written"]
    found = [result.stdout.find(part) for part in places]
    assert min(found) >= 0
    assert found == sorted(found)
    # GraphMix with two networks, label propagation, and what is chosen of them.
    steps = [line.partition(" · ")[0] for line in result.stderr.splitlines()]
    assert steps[:4] == ["1 of 4", "2 of 4", "3 of 4", "4 of 4"]


def test_the_page_survives_any_name(tmp_path):
    evil = "</script><script>alert(1)</script>"
    held = lines(("id", "topic"), [(f"n{n}", (evil, "B\U0001f600")[n % 2]) for n in range(20)])
    (tmp_path / "nodes.csv").write_text(held, encoding="utf-8")
    (tmp_path / "edges.csv").write_text(CYCLE)
    result = fit(tmp_path, *TWO, "--report")
    assert result.returncode == 0, result.stderr
    assert "no report" not in result.stderr
    assert evil not in (tmp_path / "model" / "report.html").read_text(encoding="utf-8")
