"""Files that are damaged as disks, transfers, editors and attackers damage them."""

import contextlib
import gzip
import json
import os
import shutil
import socket
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from bad_inputs.words import NUMBERS, ODD, odd_text

DEEP = 100_000
_ZEROS = 50_000


def damaged_bytes(rng: Random, content: bytes) -> tuple[str, bytes]:
    """Damage bytes: how, and the result."""
    place = rng.randrange(max(len(content), 1))
    ways: dict[str, Callable[[], bytes]] = {
        "a bit flipped": lambda: _flip(rng, content),
        "truncated": lambda: content[:place],
        "the beginning cut off": lambda: content[place:],
        "empty": lambda: b"",
        "bytes inserted": lambda: content[:place] + rng.randbytes(rng.randint(1, 9)) + content[place:],
        "bytes removed": lambda: content[:place] + content[place + rng.randint(1, 9) :],
        "garbage": lambda: rng.randbytes(rng.randint(1, 400)),
        "zeros": lambda: bytes(rng.choice([1, len(content), _ZEROS])),
        "doubled": lambda: content + content,
        "garbage after it": lambda: content + rng.randbytes(rng.randint(1, 100)),
        "line ends changed": lambda: content.replace(b"\n", rng.choice([b"\r\n", b"\r", b"\n\n"])),
        "a NUL byte": lambda: content[:place] + b"\0" + content[place:],
        "UTF-16": lambda: content.decode("latin-1").encode("utf-16"),
        "a byte-order mark": lambda: b"\xef\xbb\xbf" + content,
        "gzipped": lambda: gzip.compress(content, mtime=0),
        "an HTML page": lambda: b"<!DOCTYPE html><html><body>404 Not Found</body></html>",
        "a pickle": lambda: (
            b"\x80\x04\x95\x1c\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix\x8c\x06system\x93\x8c\x04true\x85R."
        ),
        "a zip": lambda: b"PK\x03\x04" + rng.randbytes(60),
    }
    how = rng.choice(list(ways))
    return how, ways[how]()


def _flip(rng: Random, content: bytes) -> bytes:
    if not content:
        return b"\1"
    changed = bytearray(content)
    for _ in range(rng.choice([1, 1, 1, 5, 50])):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def replace_file(rng: Random, path: Path) -> str:
    """Put something else in the place of a file: nothing, a folder, a pipe, a link, a file without rights."""
    ways: dict[str, Callable[[], None]] = {
        "deleted": lambda: None,
        "a folder": path.mkdir,
        "a pipe": lambda: os.mkfifo(path),
        "a link to nothing": lambda: path.symlink_to("nowhere"),
        "a link to itself": lambda: path.symlink_to(path.name),
        "a link to a folder": lambda: path.symlink_to("."),
        "a link to /dev/zero": lambda: path.symlink_to("/dev/zero"),
        "a link to /dev/null": lambda: path.symlink_to("/dev/null"),
        "a socket": lambda: _socket(path),
    }
    how = rng.choice(list(ways))
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    ways[how]()
    return how


def _socket(path: Path) -> None:
    # A socket's address has at most 107 bytes, so it is bound by a short name.
    here = Path.cwd()
    os.chdir(path.parent)
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(path.name)
    os.chdir(here)


def without_rights(path: Path) -> None:
    """Take all rights from a file or folder."""
    path.chmod(0)


def device(path: Path) -> str:
    """Make a device like /dev/null, or, for a user who may not, a pipe: nothing may ever replace either."""
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    except PermissionError:
        os.mkfifo(path)
        return "a pipe"
    return "a device"


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a JSON value, as the keys that lead to it; of long lists the ends only."""
    found = [path] if path else []
    if isinstance(value, dict):
        for key, held in value.items():
            found += places(held, (*path, key))
    elif isinstance(value, list):
        for number in {0, 1, len(value) - 1} if len(value) > 2 else range(len(value)):
            found += places(value[number], (*path, number))
    return found


def odd_value(rng: Random, held: Any) -> Any:
    """A JSON value in the place of another: of another type, out of range, or nearly the same."""
    options: list[Any] = [
        None,
        True,
        False,
        0,
        -1,
        1,
        2**63,
        10**30,
        1e308,
        -1.5,
        "",
        "x",
        [],
        {},
        [[]],
        [None],
        {"a": 1},
    ]
    options += [rng.choice(ODD), rng.choice(NUMBERS), odd_text(rng), float("nan"), float("inf"), "\ud800"]
    if isinstance(held, bool):
        options += [not held, int(held)]
    elif isinstance(held, int | float):
        options += [held + 1, held - 1, -held, held * 1000, str(held), float(held), [held]]
    elif isinstance(held, str):
        options += [held + "x", held.upper(), held[:-1], [held], held * 1000]
    elif isinstance(held, list):
        options += [held[:-1], held * 2, held[::-1], [*held, None], [*held, *held[:1]], dict(enumerate(held[:3]))]
    elif isinstance(held, dict):
        options += [
            list(held),
            {**held, "more": 1},
            dict(list(held.items())[1:]),
            {key.upper(): held[key] for key in held},
        ]
    return rng.choice(options)


def changed_json(rng: Random, value: Any) -> tuple[str, Any]:
    """A JSON value with one place changed or removed: how, and the result."""
    value = json.loads(json.dumps(value))
    found = places(value)
    if not found or rng.random() < 0.02:
        return "another value", odd_value(rng, value)
    *way, last = rng.choice(found)
    held = value
    for key in way:
        held = held[key]
    where = ".".join(map(str, (*way, last)))
    if rng.random() < 0.2:
        del held[last]
        return f"without {where}", value
    held[last] = odd_value(rng, held[last])
    return f"{where} = {str(held[last])[:60]!r}", value


def odd_json_text(rng: Random, value: Any) -> tuple[str, str]:
    """A text in the place of a JSON file that Python's writer would not write: how, and the result."""
    text = json.dumps(value)
    numbers = [place for place, letter in enumerate(text) if letter.isdigit() and not text[place - 1].isalnum()]
    place = rng.choice(numbers) if numbers else 0
    ways = {
        "a number of 5,000 digits": text[:place] + "9" * 5000 + text[place:],
        "a number with a huge exponent": text[:place] + "1e999999999" + text[place + 1 :],
        "deep nesting": "[" * DEEP + "]" * DEEP,
        "deep nesting inside": text[:1] + '"a":' + '{"a":' * DEEP + "1" + "}" * DEEP + "," + text[1:],
        "a repeated key": text[:1] + '"format": 99, ' + text[1:],
        "NaN": text.replace("null", "NaN", 1).replace("1", "NaN", 1),
        "a comment": "// hello\n" + text,
        "single quotes": text.replace('"', "'"),
        "a control character": text.replace(" ", "\x01", 1),
        "a lone surrogate": text.replace('": "', '": "\\ud800', 1),
        "an escape sequence": text.replace('": "', '": "\\u001b[31m', 1),
        "half of it": text[: len(text) // 2],
        "a list of it": f"[{text}]",
        "a string of it": json.dumps(text),
        "a million spaces": text[:1] + " " * 1_000_000 + text[1:],
    }
    how = rng.choice(list(ways))
    return how, ways[how]


def damaged_tensors(rng: Random, content: bytes) -> tuple[str, bytes]:
    """A safetensors file whose header lies, or whose tensors are of another kind: how, and the result."""
    size = int.from_bytes(content[:8], "little")
    header, body = json.loads(content[8 : 8 + size]), content[8 + size :]
    names = [name for name in header if name != "__metadata__"]
    if rng.random() < 0.15 or not names:
        lie = rng.choice([0, 1, size - 1, size + 1, 2**31, 2**63, 2**64 - 1])
        return f"a header of {lie} bytes", lie.to_bytes(8, "little") + content[8:]
    name = rng.choice(names)
    held = header[name]
    shape, kind = held["shape"], held["dtype"]
    ways: dict[str, Callable[[], None]] = {
        "another type": lambda: held.update(
            dtype=rng.choice(["F16", "F64", "I8", "U8", "BOOL", "I64", "F32", "X9", "BF16"])
        ),
        "another shape": lambda: held.update(
            shape=rng.choice([[], [0], [1], [2**62], [-1], shape[::-1], [*shape, 1], [1, *shape]])
        ),
        "other offsets": lambda: held.update(data_offsets=[rng.randrange(9), rng.choice([0, 8, len(body), 2**40])]),
        "a tensor less": lambda: header.pop(name) and None,
        "a tensor more": lambda: header.update({name + "x": held}),
        "another name": lambda: header.update({rng.choice(names) + rng.choice(ODD): header.pop(name)}),
        "metadata": lambda: header.update(__metadata__={"format": odd_text(rng)}),
        "values changed": lambda: None,
        "no dictionary": lambda: header.update({name: odd_value(rng, held)}),
    }
    how = rng.choice(list(ways))
    ways[how]()
    if how == "values changed":
        body = _other_values(rng, body, *held["data_offsets"], kind)
    text = json.dumps(header).encode("utf-8", "surrogatepass")
    text += b" " * (-len(text) % 8)
    return f"{name}: {how}", len(text).to_bytes(8, "little") + text + body


def _other_values(rng: Random, body: bytes, begin: int, end: int, kind: str) -> bytes:
    """Put extreme numbers into a tensor: indices out of range, NaN, infinity."""
    extremes = {
        "F32": [b"\x00\x00\xc0\x7f", b"\x00\x00\x80\x7f", b"\xff\xff\x7f\xff", b"\x00\x00\x00\x00"],
        "I64": [
            (-1).to_bytes(8, "little", signed=True),
            (2**62).to_bytes(8, "little"),
            bytes(8),
            (10**6).to_bytes(8, "little"),
        ],
    }.get(kind, [b"\xff", b"\x00", b"\x02"])
    value = rng.choice(extremes)
    count = (end - begin) // len(value)
    if not count:
        return body
    first = begin + len(value) * rng.randrange(count)
    repeats = rng.choice([1, count - (first - begin) // len(value)])
    return body[:first] + value * repeats + body[first + len(value) * repeats :]


def zip_of(rng: Random, members: dict[str, bytes]) -> tuple[str, bytes]:
    """A zip file, as npz files are, whose directory or members are odd: how, and the result."""
    import io

    sink = io.BytesIO()
    how = rng.choice(
        ["as it is", "compressed", "a member twice", "many members", "odd names", "a comment", "encrypted"]
    )
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED if how == "compressed" else zipfile.ZIP_STORED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
        if how == "many members":
            for number in range(3000):
                archive.writestr(f"m{number}.npy", b"")
        if how == "odd names":
            for name in ("../../x.npy", "/etc/x.npy", "a\\b.npy", "\x1b[31m.npy", ".npy", "x" * 500):
                archive.writestr(name, b"")
        if how == "a comment":
            archive.comment = rng.randbytes(1000)
    content = sink.getvalue()
    if how == "a member twice":
        with io.BytesIO(content) as file:
            with zipfile.ZipFile(file, "a") as archive, contextlib.suppress(UserWarning):
                name = next(iter(members))
                info = zipfile.ZipInfo(name)
                archive.NameToInfo.pop(name, None)
                archive.writestr(info, rng.choice(list(members.values())))
            content = file.getvalue()
    if how == "encrypted":
        changed = bytearray(content)
        for place in range(len(changed) - 4):
            if changed[place : place + 4] == b"PK\x01\x02":
                changed[place + 8] |= 1
        content = bytes(changed)
    return how, content
