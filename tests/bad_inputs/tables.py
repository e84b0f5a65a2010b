"""Tables of nodes, edges and links, sound and odd, as text and as Parquet."""

import codecs
import csv
import gzip
import io
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from bad_inputs import arrow_columns, forms
from bad_inputs.damage import damaged_bytes, replace_file
from bad_inputs.words import ODD, long_text, odd_text

Columns = dict[str, list[str]]

ENCODINGS = ("utf-8", "utf-8", "utf-8", "utf-16", "latin-1")
SEPARATORS = {"csv": ",;\t", "tsv": "\t", "tab": "\t", "txt": "\t,;"}
_ENDINGS = ("csv", "csv", "csv", "tsv", "txt", "tab", "csv.gz", "tsv.gz", "parquet", "parquet", "parquet")
_MISNAMED = ("csv", "tsv", "parquet", "csv.gz", "xlsx", "json", "CSV", "pq", "data", "zip", "csv.bz2", "feather", "npz")
_KINDS = ("number", "huge", "mixed", "category", "text", "tokens", "list", "empty", "constant", "garbage", "times")
_KINDS += ("form", "form", "form")
# Numbers, dates and words for truth as people write them.
WRITTEN = ("form",)


@dataclass
class Drawer:
    """Draws tables: `odds` is how often each thing that can be odd is odd, `kinds` what its columns hold."""

    rng: Random
    odds: float
    encoding: str = "utf-8"
    kinds: tuple[str, ...] = _KINDS
    oddities: list[str] = field(default_factory=list)

    def odd(self, what: str) -> bool:
        """Whether something is to be odd this time; remembers what."""
        drawn = self.rng.random() < self.odds
        if drawn:
            self.oddities.append(what)
        return drawn

    def nodes(self, count: int, prefix: str = "", label: bool = True) -> Columns:
        columns = {"id": self.ids(count, prefix)}
        columns |= {"y": self.labels(count)} if label else {}
        for place in range(self.rng.randint(0, 3)):
            columns[f"f{place}"] = self.cells(self.rng.choice(self.kinds), count)
        return columns

    def edges(self, ids: list[str], count: int, links: bool) -> Columns:
        known = [*ids, "elsewhere"] if self.odd("an unknown end") else ids
        columns = {"source": self.rng.choices(known, k=count), "target": self.rng.choices(known, k=count)}
        if self.odd("ends written otherwise"):
            columns["target"] = [self.rng.choice([f" {end}", f"{end}.0", f"{end} ", end]) for end in columns["target"]]
        if self.odd("an end without an id") and count:
            columns["source"][self.rng.randrange(count)] = ""
        if links:
            columns |= {"y": self.labels(count), "amount": self.cells("number", count)}
        elif self.rng.random() < 0.3:
            drawn = ["1", "2.5", "0", "1e-40", "1e29"]
            columns["weight"] = self.rng.choices(
                [*drawn, "nan", "-1", "x", ""] if self.odd("weights") else drawn, k=count
            )
        return columns

    def ids(self, count: int, prefix: str = "") -> list[str]:
        style = self.rng.choice(
            ["text", "text", "number", "number", "point", "padded", "odd", "large", "spaces", "cases"]
        )
        made = [f"{prefix}{number}" for number in range(count)]
        if style == "text":
            made = [f"{prefix}n{number}" for number in range(count)]
        elif style == "point":
            made = [f"{name}.0" if self.rng.random() < 0.5 else name for name in made]
        elif style == "padded":
            made = [name.zfill(self.rng.choice([4, 4, 4, 5])) for name in made]
        elif style == "odd":
            made = [f"{self.rng.choice(ODD)}{name}" if self.rng.random() < 0.3 else name for name in made]
        elif style == "large":
            first = self.rng.choice([2**53 - 3, 2**63 - 5, 2**64 - 3, 10**29])
            made = [f"{prefix}{first + number}" for number in range(count)]
        elif style == "spaces":
            made = [self.rng.choice(["a{}", " a{}", "a{} ", "a {}"]).format(name) for name in made]
        elif style == "cases":
            made = [
                self.rng.choice(["a{}", "A{}", "\u00e9{}", "e\u0301{}"]).format(number // 2) for number in range(count)
            ]
            made = [f"{name}-{number}" if made.index(name) < number else name for number, name in enumerate(made)]
        if count and self.odd("an id twice"):
            made[self.rng.randrange(count)] = made[0]
        if count and self.odd("an id that is empty or odd"):
            made[self.rng.randrange(count)] = odd_text(self.rng)
        if count and self.rng.random() < self.odds / 8:
            made[-1] = long_text(self.rng)
        return made

    def labels(self, count: int) -> list[str]:
        """Classes, of which some or all rows have one."""
        classes = self.rng.sample(["A", "B", "C", "10", "9"], self.rng.randint(2, 4))
        if self.odd("classes"):
            classes = self.rng.sample(["A", "B", *ODD], self.rng.randint(1, 5))
        if self.rng.random() < self.odds / 8:
            classes[0] = long_text(self.rng)
        share = self.rng.choice([0.5, 0.8, 1.0])
        return [classes[number % len(classes)] if self.rng.random() < share else "" for number in range(count)]

    def cells(self, kind: str, count: int) -> list[str]:
        rng = self.rng
        if kind == "form":
            drawn = forms.draw(rng, count, self.odds).cells if count else []
            return [odd_text(rng) if rng.random() < self.odds / 8 else cell for cell in drawn]
        draw = {
            "number": lambda: f"{rng.gauss(0, 3):.3f}",
            "huge": lambda: rng.choice(["1e308", "-1e308", "1e-320", "inf", "0", "7", "nan", "1e31", "", "9" * 400]),
            "mixed": lambda: rng.choice(["1", "2.5", *ODD]),
            "category": lambda: rng.choice("abc"),
            "text": lambda: " ".join(rng.choices(["graph", "node", "\u00e9t\u00e9", "mix", "--"], k=rng.randint(0, 6))),
            "tokens": lambda: rng.choice(["|", ";"]).join(rng.choices("abcde", k=rng.randint(0, 4))),
            "list": lambda: str([round(rng.gauss(0, 1), 2) for _ in range(rng.choice([3, 3, 3, 2]))]),
            "empty": lambda: "",
            "constant": lambda: "same",
            "garbage": lambda: "".join(chr(rng.randrange(1, 0x2FF)) for _ in range(rng.randint(0, 6))),
            "times": lambda: f"20{rng.randrange(10, 30)}-{rng.randrange(1, 13):02d}-{rng.randrange(1, 32):02d}",
        }[kind]  # fmt: skip
        return ["" if rng.random() < self.odds else draw() for _ in range(count)]

    def write(self, columns: Columns, folder: Path, stem: str) -> "Written":
        """Write a table in a form that its name tells, or, where that is odd, in another."""
        ending = self.rng.choice(_ENDINGS)
        name = f"{stem}.{self.rng.choice(_MISNAMED) if self.odd('a misleading name') else ending}"
        path = folder / name
        if ending == "parquet":
            written = Written(name, None, None)
            arrow_columns.write(self, columns, path)
        else:
            written = self._write_text(columns, path, ending)
        if self.odds and self.rng.random() < self.odds / 3:
            how, content = damaged_bytes(self.rng, path.read_bytes())
            path.write_bytes(content)
            self.oddities.append(f"{name}: {how}")
        if self.odds and self.rng.random() < self.odds / 6:
            self.oddities.append(f"{name}: {replace_file(self.rng, path)}")
        return written

    def _write_text(self, columns: Columns, path: Path, ending: str) -> "Written":
        rng = self.rng
        separator, ends = rng.choice(SEPARATORS[ending.removesuffix(".gz")]), rng.choice(["\n", "\n", "\r\n"])
        text = io.StringIO()
        # The writer quotes only the line ends that it writes itself.
        bare = any("\r" in cell for cells in columns.values() for cell in cells)
        quoting = csv.QUOTE_ALL if bare else rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
        writer = csv.writer(text, delimiter=separator, lineterminator=ends, quoting=quoting)
        self._write_header(writer, list(columns))
        ragged = rng.randrange(30) if self.odd("a ragged row") else -1
        for number, row in enumerate(zip(*columns.values(), strict=True)):
            writer.writerow(row[:-1] if number == ragged else row)
            if rng.random() < self.odds / 5:
                text.write(rng.choice([ends, ends, '"', "#c" + ends, separator * 3 + ends]))
        encoding = rng.choice(ENCODINGS) if self.odd("another encoding") else self.encoding
        content = text.getvalue().encode(encoding, errors="replace")
        if encoding == "utf-8" and rng.random() < 0.2:
            content = codecs.BOM_UTF8 + content
        path.write_bytes(gzip.compress(content, mtime=0) if ending.endswith(".gz") else content)
        return Written(path.name, separator, encoding)

    def _write_header(self, writer: Any, names: list[str]) -> None:
        if self.odd("no header"):
            return
        if self.odd("odd names of columns"):
            names = list(names)
            names[self.rng.randrange(len(names))] = self.rng.choice([names[0], "x" * 100_000, odd_text(self.rng)])
        writer.writerow(names)


@dataclass(frozen=True)
class Written:
    """A table's file name, and what its text is separated by and encoded in; None for Parquet."""

    name: str
    separator: str | None
    encoding: str | None
