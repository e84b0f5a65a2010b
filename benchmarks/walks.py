"""The tutorials, with a clock: run every block of a page in an empty folder, and show what was printed.

    python benchmarks/walks.py own-tables pyg-model reproduce-a-table    # run the pages, keep what they print
    python benchmarks/walks.py                                           # write the kept output into the pages again

What a block prints is kept in benchmarks/results/walks.json, with its seconds, the machine and the commit. A ```text
block on the next line shows that. After `<!-- shown: "Percent" to "Model" -->` a ```text block shows lines of what the
last block printed, from the first that begins with "Percent" to the next that begins with "Model"; without `to`, all
that follow. A block after `<!-- not run: REASON -->` is not run.
"""

import contextlib
import io
import json
import os
import platform
import re
import shlex
import subprocess
import sys
import tempfile
import textwrap
import time
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

PROJECT = Path(__file__).parents[1]
TUTORIALS = PROJECT / "docs" / "tutorials"
RESULTS = PROJECT / "benchmarks" / "results" / "walks.json"
_WIDTH = 100

# A block, and what a comment right before it says of it.
_FENCED = re.compile(
    r"(?:^<!-- (?P<mark>[^\n]*?) -->\n)?^```(?P<language>\S+)[^\n]*\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE
)
_SHOWN = re.compile(r'shown: "(?P<first>[^"]*)"(?: to "(?P<last>[^"]*)")?')


class Block(NamedTuple):
    """A block of a page: its language, its text, what the page says it prints, and what a comment says of it."""

    language: str
    text: str
    output: str | None
    mark: str

    @property
    def lines(self) -> list[list[str]]:
        """The words of every `$ …` line of a console block; comments are left out."""
        lines = re.sub(r"\\\n\s*", " ", self.text).splitlines()
        return [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("$ ")]


def blocks(text: str) -> list[Block]:
    """Find the Python and console blocks of a page."""
    found = list(_FENCED.finditer(text))
    return [
        Block(each["language"], each["text"], _output(each, after), each["mark"] or "")
        for each, after in zip_longest(found, found[1:])
        if each["language"] in ("python", "console")
    ]


def _output(block: re.Match[str], after: re.Match[str] | None) -> str | None:
    """What the page says that a block prints: a ```text block on the next line."""
    follows = after is not None and after.start() == block.end() + 1 and after["language"] == "text"
    return after["text"] if after is not None and follows else None


def walk(page: Path) -> list[dict[str, Any]]:
    """Run a page in an empty folder; return what each block printed, and its seconds."""
    names: dict[str, Any] = {}
    walked = []
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for block in blocks(page.read_text()):
            if block.mark.startswith("not run"):
                continue
            began = time.monotonic()
            printed = _run_python(block.text, names) if block.language == "python" else _run_console(block)
            seconds = round(time.monotonic() - began, 1)
            sys.stderr.write(f"{seconds:7.1f} s  {block.text.splitlines()[0]}\n")
            walked.append({"text": block.text, "printed": printed, "seconds": seconds})
    return walked


def _run_python(text: str, names: dict[str, Any]) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as stream:
        exec(compile(text, "page", "exec"), names)
    return stream.getvalue()


def _run_console(block: Block) -> str:
    printed = []
    for program, *words in block.lines:
        command = [sys.executable, "-m", "graphmix", *words] if program == "graphmix" else [program, *words]
        done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"COLUMNS": "80"})
        if done.returncode:
            sys.exit(f"{shlex.join(command)}\n{done.stderr}")
        printed.append(done.stdout)
    return "".join(printed)


def render(text: str, results: dict[str, Any]) -> str:
    """Put what the blocks of a page printed into its ```text blocks, and the machine and the commit below."""
    printed = {each["text"]: each["printed"] for each in results["blocks"]}
    made = ", ".join(results[name] for name in ("machine", "torch", "commit"))
    seconds = sum(each["seconds"] for each in results["blocks"])
    line = f"All blocks together took {_duration(seconds)}. {made}; `python benchmarks/walks.py`.\n"
    text = re.sub(r"(?<=<!-- walked -->\n).*?(?=<!-- end -->)", lambda _: line, text, flags=re.DOTALL)
    parts, place, last = [], 0, None
    for block in _FENCED.finditer(text):
        if block["text"] in printed:
            last = block
        elif block["language"] == "text" and last is not None:
            shown = _SHOWN.match(block["mark"] or "")
            if shown or block.start() == last.end() + 1:
                wrapped = last["text"].startswith("$ graphmix")
                parts += [text[place : block.start("text")], _excerpt(printed[last["text"]], shown, wrapped)]
                place = block.end("text")
    return "".join([*parts, text[place:]])


def _excerpt(printed: str, shown: re.Match[str] | None, wrapped: bool) -> str:
    lines = [line.rstrip() for line in printed.rstrip("\n").splitlines()]
    if shown:
        first = next(i for i, line in enumerate(lines) if line.startswith(shown["first"]))
        ends = (i for i, line in enumerate(lines) if shown["last"] and i > first and line.startswith(shown["last"]))
        lines = lines[first : next(ends, len(lines) - 1) + 1]
    if wrapped:
        lines = [part for line in lines for part in textwrap.wrap(line, _WIDTH) or [""]]
    return "".join(f"{line}\n" for line in lines)


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} seconds" if seconds < 100 else f"{seconds / 60:.0f} minutes"


def _machine() -> dict[str, str]:
    import torch

    git = ["git", "-C", str(PROJECT), "rev-parse", "--short=12", "HEAD"]
    commit = subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
    machine = f"{platform.machine()} CPU, {os.cpu_count()} cores, OMP_NUM_THREADS={torch.get_num_threads()}"
    return {"machine": machine, "torch": f"torch {torch.__version__}", "commit": f"commit {commit}"}


def main() -> None:
    """Run the pages that are named, and write what they printed into all pages."""
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name in sys.argv[1:]:
        results[name] = {"blocks": walk(TUTORIALS / f"{name}.md"), **_machine()}
        RESULTS.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    for name, kept in results.items():
        page = TUTORIALS / f"{name}.md"
        page.write_text(render(page.read_text(), kept))


if __name__ == "__main__":
    main()
