"""Text is text: names, labels, ids, paths and messages on the terminal."""

import csv

import pytest
from rich.console import Console

from command_line import graphmix, refused
from graphmix.cli import screen
from graphmix.training import Progress
from graphmix.training.history import Best
from small_tables import fit_tables, pairs, rows, write_edges

EVIL = "\x1b]0;owned\x07[/red] :smile: \x9b2J\r\u202e"
LONG = "L" * 1_000_000


@pytest.fixture
def shown(capfd, monkeypatch):
    """What the consoles print, on either stream."""
    for console in (screen.output, screen.errors):
        monkeypatch.setattr(console, "_width", 100)
    return lambda: "".join(capfd.readouterr())


def write_table(path, nodes):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, nodes[0])
        writer.writeheader()
        writer.writerows(nodes)
    return path


def harmless(text):
    hidden = [letter for letter in text if not letter.isprintable() and letter != "\n"]
    assert hidden == []


@pytest.mark.parametrize("show", [screen.say, screen.tell, screen.output.print])
def test_messages_show_what_a_terminal_would_obey(shown, show):
    show(f"label {EVIL} and {LONG}")
    text = shown()
    harmless(text)
    assert "\\x1b]0;owned\\x07[/red] :smile:" in text
    assert len(text) < 2000
    assert "1,000,000 characters" in text


@pytest.mark.parametrize("show", [screen.say, screen.tell])
def test_a_message_is_one_line(shown, show):
    show("first\nsecond\r")
    assert shown() == "first\\nsecond\\r\n"


def test_a_label_of_a_megabyte_is_cut_before_it_is_laid_out(shown, monkeypatch):
    widest = []
    lay_out = Console.render_str

    def watched(self, text, **options):
        widest.append(len(text))
        return lay_out(self, text, **options)

    monkeypatch.setattr(Console, "render_str", watched)
    table = screen.Table(title=LONG)
    table.add_column(LONG)
    table.add_row(LONG)
    screen.output.print(table)
    assert max(widest) < 10_000
    assert len(shown()) < 10_000


def test_a_bar_shows_names_as_they_are(shown, monkeypatch):
    monkeypatch.setattr(type(screen.errors), "is_terminal", property(lambda self: True))
    with screen.Bar(f"graphmix on [bold]{EVIL}", 1, 1) as bar:
        bar._progress.refresh()
    text = shown()
    assert "[bold]\\x1b]0;owned\\x07[/red]" in text
    assert "\x07" not in text


@pytest.mark.parametrize(("val", "said"), [(0.5, "epoch 2/2 · 50.0 %"), (float("nan"), "epoch 2/2 0:00")])
def test_a_bar_shows_validation_accuracy_where_there_is_one(shown, monkeypatch, val, said):
    monkeypatch.setattr(type(screen.errors), "is_terminal", property(lambda self: True))
    best = Best.none(1)
    best.val.fill_(val)
    with screen.Bar("graphmix", 1, 2) as bar:
        bar.watch(Progress(todo=1, first=0, trials=1, epoch=2, best=best))
        bar._progress.refresh()
    text = shown()
    assert said in text
    assert "nan" not in text


def test_a_fit_whose_labels_ids_and_columns_are_hostile(tmp_path):
    nodes = [
        {f"id{EVIL}": f"{row['id']}{EVIL}", "topic": row["topic"] and row["topic"] + EVIL, f"f{EVIL}": row["year"]}
        for row in rows()
    ]
    nodes[0]["topic"] += LONG
    nodes[3]["topic"] += LONG
    write_table(tmp_path / "[x]\x1b[2J.csv", nodes)
    write_edges(tmp_path / "e.csv", [(f'"{a}{EVIL}"', f'"{b}{EVIL}"') for a, b in pairs()])
    options = ["--label", "topic", "--id", f"id{EVIL}", "--trials", 3, "--epochs", 2, "--methods", "supervised,fcn"]
    result = graphmix("fit", "--nodes", "[x]\x1b[2J.csv", "--edges", "e.csv", *options, "-o", "m\x1b[2J", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    harmless(result.stdout + result.stderr)
    assert len(result.stdout) < 20_000
    advice = graphmix("advise", "m\x1b[2J", cwd=tmp_path)
    assert advice.returncode == 0, advice.stderr
    harmless(advice.stdout + advice.stderr)
    assert "\\x1b]0;owned\\x07" in advice.stdout
    page = (tmp_path / "m\x1b[2J" / "report.html").read_text(encoding="utf-8")
    assert "L" * 1000 not in page
    assert "\x1b" not in page


def test_a_column_name_of_100000_characters_in_a_refusal(tmp_path):
    (tmp_path / "n.csv").write_text("id,topic\na,x\nb,y\n")
    (tmp_path / "e.csv").write_text("source,target\na,b\n")
    name = "c" * 100_000
    result = graphmix("fit", "--nodes", "n.csv", "--edges", "e.csv", "--label", name, "-o", "m", cwd=tmp_path)
    refused(result, "100,00", "characters")
    assert len(result.stderr) < 5000


def test_a_folder_whose_name_is_markup(tmp_path):
    tables = tmp_path / "n.csv", tmp_path / "e.csv"
    write_table(tables[0], rows())
    write_edges(tables[1])
    fit_tables(tmp_path, *tables, out="[bold]", methods=("label-propagation",))
    result = graphmix("report", "[bold]", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "[bold]/report.html" in result.stdout
