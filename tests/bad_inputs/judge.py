"""Whether a command did what is promised for bad input."""

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

from bad_inputs.case import EVERYWHERE, KEPT, REFUSED, Case
from bad_inputs.server import Ended
from bad_inputs.snapshot import Snapshot

# What can be wrong with the end of a command; each is counted.
TRACEBACK = "traceback"
WRONG_CODE = "wrong exit code"
NO_END = "no end in 60 s"
OVERWRITTEN = "overwritten file"
WRONG_IDS = "silent wrong ids"
LEFTOVER = "leftover"
INTERNAL = "internal error"
NO_SENTENCE = "not one sentence"
CONTROL = "control characters"
FAULTS = (TRACEBACK, WRONG_CODE, NO_END, OVERWRITTEN, WRONG_IDS, LEFTOVER, INTERNAL, NO_SENTENCE, CONTROL)

_INTERNAL_CODE, _LONGEST = 70, 2000
# Signs that Python itself spoke.
_PYTHON = re.compile(
    r"Traceback \(most recent|Exception ignored|Fatal Python error|^\w+Warning:|: \w+Warning: ", re.MULTILINE
)
# What a command may say before it finds out that it must refuse.
_NOTE = re.compile(
    r"graphmix: (with --epochs|no report was written|the loss of )|training |· |! |\[\d+/\d+\]|.*built-in synthetic"
)
# A folder that torch makes for itself when its compiler is imported, and numba's kernels where those beside the package
# cannot be written.
_OF_COMPILERS = re.compile(r"tmp/torchinductor_\w+|home/\.cache(/numba(/.*)?)?")
# Files that nobody asked for.
_TEMPORARY = re.compile(r"(^|/)(\..*\.part|\.lock|core(\.\d+)?|tmp\w+)$")


@dataclass(frozen=True)
class Fault:
    """What was wrong, one of `FAULTS`, and the details."""

    kind: str
    details: str


def judge(
    case: Case, ended: Ended, before: Snapshot, after: Snapshot, wrong_ids: Callable[[], str | None]
) -> list[Fault]:
    """Return the faults of an ended command; `wrong_ids` reads its predictions if it succeeded."""
    if ended.code is None:
        return [Fault(NO_END, "killed"), *_files(case, ended, before, after)]
    found = [*_code(case, ended), *_said(case, ended), *_files(case, ended, before, after)]
    if ended.code == 0 and (details := wrong_ids()):
        found.append(Fault(WRONG_IDS, details))
    return found


def _code(case: Case, ended: Ended) -> list[Fault]:
    if ended.code == _INTERNAL_CODE:
        return [Fault(INTERNAL, _text(ended.stderr)[-300:])]
    if ended.code not in case.codes:
        return [Fault(WRONG_CODE, f"{ended.code}, not one of {sorted(case.codes)}")]
    return []


def _said(case: Case, ended: Ended) -> list[Fault]:
    found = []
    encoding = (case.environment.get("PYTHONIOENCODING") or "utf-8").partition(":")[0]
    shown, told = _text(ended.stdout, encoding), _text(ended.stderr, encoding)
    for text in (shown, told):
        if sign := _PYTHON.search(text):
            found.append(Fault(TRACEBACK, text[sign.start() : sign.start() + 300]))
            break
    if odd := next((letter for text in (shown, told) for letter in text if _is_control(letter)), None):
        found.append(Fault(CONTROL, ascii(odd)))
    # Without a command there is no error: the help is shown.
    if ended.code == REFUSED and case.arguments and case.stderr == KEPT and (wrong := _not_one_sentence(told)):
        found.append(Fault(NO_SENTENCE, wrong))
    return found


def _not_one_sentence(told: str) -> str | None:
    lines = told.splitlines()
    if not lines:
        return "nothing was said"
    *notes, last = lines
    if not last.startswith("graphmix: ") or len(last) < 20:
        return f"the last line is {last[:200]!r}"
    if len(last) > _LONGEST:
        return f"{len(last)} characters"
    other = [line for line in notes if not _NOTE.match(line)]
    return f"{other[0][:200]!r} before {last[:200]!r}" if other else None


def _files(case: Case, ended: Ended, before: Snapshot, after: Snapshot) -> list[Fault]:
    found = []
    refused = ended.code == REFUSED and not case.keeps
    places = tuple(f"work/{each}" for each in case.writes)
    for path, was in before.items():
        allowed = not refused and _is_under(path, places)
        if after.get(path) != was and not allowed:
            found.append(Fault(OVERWRITTEN, f"{path!a}: {was} became {after.get(path)}"))
    killed = ended.code is None or ended.code < 0
    for path in sorted(after.keys() - before.keys()):
        if _OF_COMPILERS.fullmatch(path) or (ended.code == _INTERNAL_CODE and path.startswith("home/")):
            continue
        allowed = not refused and (EVERYWHERE in case.writes or _is_under(path, places))
        if not allowed or (_TEMPORARY.search(path) and not killed):
            found.append(Fault(LEFTOVER, ascii(path)))
    return found[:3]


def _is_under(path: str, places: tuple[str, ...]) -> bool:
    """Whether a path is one of the places, in one of them, or a folder that leads to one."""
    return any(f"{path}/".startswith(f"{place}/") or place.startswith(f"{path}/") for place in places)


def _text(said: bytes, encoding: str = "utf-8") -> str:
    return said.decode(encoding, errors="replace")


def _is_control(letter: str) -> bool:
    return letter != "\n" and unicodedata.category(letter) in ("Cc", "Cf") and letter not in "\u200c\u200d"
