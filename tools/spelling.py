"""Check the spelling of the documentation, the README and every docstring.

    python tools/spelling.py [FILE …]

Without arguments all Markdown files and the docstrings of src, benchmarks, examples and tools are read. Code, links,
formulas and names in code are left out. A word must be in the English dictionary of pyspellchecker, or in
tools/words.txt, the one place for the project's own words. Prints each unknown word with its place, and ends with exit
code 1 if there is any. Works offline.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from spellchecker import SpellChecker

ROOT = Path(__file__).parents[1]
OWN_WORDS = Path(__file__).with_name("words.txt")
PYTHON = ("src", "benchmarks", "examples", "tools")
# Patterns of Markdown that are not prose. Each is replaced by spaces, so that lines keep their numbers.
NOT_PROSE = (
    re.compile(r"^(`{3,}|~{3,}).*?^\1", re.DOTALL | re.MULTILINE),  # fenced code
    re.compile(r"<!--.*?-->", re.DOTALL),
    re.compile(r"``.+?``|`[^`]*`", re.DOTALL),
    re.compile(r"\$\$.+?\$\$|\$[^$\n]+(?:\n[^$\n]+)?\$", re.DOTALL),
    re.compile(r"\{[a-z:]+\}"),  # roles
    re.compile(r"(?<=\])\([^)\s]*\)"),  # where links lead
    re.compile(r"\[\^[^\]]+\]"),  # footnotes
    re.compile(r"<[^>\s][^>]*>"),
    re.compile(r"(?:https?://|www\.)\S+|[\w.+-]+@[\w.-]+"),
    re.compile(r"^ {4,}\S.*$", re.MULTILINE),  # indented code
)
DOCTEST = re.compile(r"^[ \t]*(?:>>>|\.\.\.).*(?:\n(?!\s*$).*)*", re.MULTILINE)
# A run of letters that is no part of a name in code, a path, a number or an abbreviation.
WORD = re.compile(r"(?<![\w./\\@#=])(?<!--)[A-Za-zÀ-ɏ]+(?:['’][A-Za-zÀ-ɏ]+)*(?![\w/\\@(=]|\.\w)")
INNER_CAPITAL = re.compile(r".[A-Z]")


def main() -> int:
    """Check the files that are named, or all; return the exit code."""
    files = [Path(name).resolve() for name in sys.argv[1:]] or all_files()
    found = [(file, line, word) for file in files for line, word in misspelled(file)]
    for file, line, word in found:
        place = file.relative_to(ROOT) if file.is_relative_to(ROOT) else file
        print(f"{place}:{line}: {word}")
    if found:
        print("correct these words; add those that are right to tools/words.txt")
    else:
        print(f"no unknown words in {len(files)} files")
    return 1 if found else 0


def all_files() -> list[Path]:
    """Return the files that git tracks or would add and that hold prose."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    paths = [Path(name) for name in sorted(set(listed.split("\0"))) if name]
    wanted = [path for path in paths if path.suffix == ".md" or (path.suffix == ".py" and path.parts[0] in PYTHON)]
    return [ROOT / path for path in wanted if (ROOT / path).is_file()]


def misspelled(file: Path) -> Iterator[tuple[int, str]]:
    """Yield the line and the word of everything that is not in a dictionary."""
    known = dictionary()
    for line, word in words(file):
        plain = word.replace("’", "'")
        if plain not in known and plain.lower() not in known:
            yield line, word


def words(file: Path) -> Iterator[tuple[int, str]]:
    """Yield the words of a file's prose, each with its line; names with capitals inside are left out."""
    parts = docstrings(file) if file.suffix == ".py" else [(1, file.read_text(encoding="utf-8"))]
    for start, text in parts:
        prose = text
        for pattern in NOT_PROSE if file.suffix == ".md" else (DOCTEST, *NOT_PROSE[2:-1]):
            prose = pattern.sub(blank, prose)
        for found in WORD.finditer(prose):
            if not INNER_CAPITAL.search(found[0]) and len(found[0]) > 2:
                yield start + prose.count("\n", 0, found.start()), found[0]


def docstrings(file: Path) -> Iterator[tuple[int, str]]:
    """Yield every docstring of a Python file with its first line."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) or not node.body:
            continue
        first = node.body[0]
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
            # Not cleaned, so that its lines are those of the file.
            yield first.lineno, first.value.value


def blank(found: re.Match[str]) -> str:
    """Return as many lines as were found, all empty; a word on each side stays a word of its own."""
    return " " + "\n" * found[0].count("\n")


def dictionary() -> frozenset[str]:
    """Return every known word with its possessive: in lower case, and names as they are written."""
    if not _KNOWN:
        own = own_words(OWN_WORDS.read_text(encoding="utf-8"))
        plain = {*SpellChecker(language="en").word_frequency.words(), *own}
        _KNOWN.append(frozenset(plain | {f"{word}'s" for word in plain} | {f"{word}'" for word in plain}))
    return _KNOWN[0]


def own_words(text: str) -> list[str]:
    """Return the words of a list, one a line; what follows a # is a comment."""
    lines = (line.partition("#")[0].strip() for line in text.splitlines())
    return [line for line in lines if line]


_KNOWN: list[frozenset[str]] = []

if __name__ == "__main__":
    sys.exit(main())
