"""Recognise files whose format is not what their name says, or is not supported, and say what to do."""

import gzip
import zlib
from pathlib import Path
from typing import NamedTuple

from graphmix.errors import DataError

PARQUET = (".parquet", ".pq")
_HEAD = 512
_TAR_AT = 257
_LEAST_IN_TEXT = 9  # the tab


class Format(NamedTuple):
    """What a file is, and how to make a table of it."""

    what: str
    remedy: str


_GZIP = Format("a gzip file", "rename it so that it ends in .gz, for example table.csv.gz")
_PARQUET = Format("a Parquet file", "rename it so that it ends in .parquet")
_EXCEL = Format(
    "an Excel workbook", "save its sheet as CSV, in Excel or with pandas.read_excel(…).to_csv(…, index=False)"
)
_ODS = Format("an OpenDocument sheet", "save it as CSV, for example in LibreOffice")
_NPZ = Format(
    "a NumPy file", "save its arrays as a CSV or Parquet table, or train on an .npz graph with `graphmix train`"
)
_ZIP = Format("a zip archive", "unpack it and name the table in it")
_TAR = Format("a tar archive", "unpack it and name the table in it")
_PACKED = Format("a compressed file", "unpack it, or compress it with gzip instead")
_FEATHER = Format("an Arrow or Feather file", "convert it with pandas.read_feather(…).to_parquet(…)")
_JSON = Format("JSON", "convert it with pandas.read_json(…).to_csv(…, index=False)")
_HTML = Format("a web page or XML", "download the table itself, or save it as CSV")
_SQLITE = Format("an SQLite database", "export the table as CSV")
_HDF5 = Format("an HDF5 file", "convert it with pandas.read_hdf(…).to_parquet(…)")
_PICKLE = Format("a Python pickle", "convert it with pandas.read_pickle(…).to_parquet(…), if you trust it")
_PDF = Format("a PDF", "save its table as CSV")
_STATISTICS = Format("a file of a statistics program", "export it as CSV, or convert it with pandas")
_GRAPH = Format("a graph file", "save its nodes and its edges as two CSV tables, for example with networkx and pandas")
_LIST = Format(
    "a list of edges or papers", "give its copy a name that ends in .txt, or .tsv if tabs separate the cells"
)

_SIGNATURES = {
    b"\x1f\x8b": _GZIP,
    b"PAR1": _PARQUET,
    b"\xd0\xcf\x11\xe0": _EXCEL,
    b"ARROW1": _FEATHER,
    b"FEA1": _FEATHER,
    b"SQLite format 3": _SQLITE,
    b"\x89HDF": _HDF5,
    **{b"BZh%d1AY&SY" % level: _PACKED for level in range(1, 10)},
    b"\xfd7zXZ": _PACKED,
    b"\x28\xb5\x2f\xfd": _PACKED,
    b"7z\xbc\xaf": _PACKED,
    b"\x93NUMPY": _NPZ,
    b"\x80\x04\x95": _PICKLE,
    b"\x80\x05\x95": _PICKLE,
    b"%PDF-": _PDF,
    b"PK\x05\x06": _ZIP,
}
# The name of the first file in a zip archive tells what the archive is.
_IN_ZIP = ((b"[Content_Types]", _EXCEL), (b"xl/", _EXCEL), (b"_rels/", _EXCEL), (b"mimetype", _ODS))
_HTML_STARTS = (b"<!doctype", b"<html", b"<?xml", b"<table")
_JSON_STARTS = (b'{"', b"{}", b"[{", b"[[", b"[]")

_ENDINGS = {
    **dict.fromkeys((".xlsx", ".xls", ".xlsm", ".xlsb"), _EXCEL),
    **dict.fromkeys((".json", ".jsonl", ".ndjson"), _JSON),
    **dict.fromkeys((".feather", ".arrow", ".ipc", ".arrows"), _FEATHER),
    **dict.fromkeys((".tar", ".tgz"), _TAR),
    **dict.fromkeys((".bz2", ".xz", ".zst", ".7z", ".rar", ".lz4"), _PACKED),
    **dict.fromkeys((".html", ".htm", ".xml"), _HTML),
    **dict.fromkeys((".db", ".sqlite", ".sqlite3"), _SQLITE),
    **dict.fromkeys((".h5", ".hdf5", ".hdf"), _HDF5),
    **dict.fromkeys((".pkl", ".pickle", ".pt", ".pth"), _PICKLE),
    **dict.fromkeys((".npz", ".npy"), _NPZ),
    **dict.fromkeys((".sav", ".dta", ".sas7bdat", ".rds", ".rdata"), _STATISTICS),
    **dict.fromkeys((".graphml", ".gexf", ".gml", ".mtx", ".net"), _GRAPH),
    **dict.fromkeys((".edges", ".edgelist", ".cites", ".content", ".el", ".dat", ".data"), _LIST),
    ".ods": _ODS,
    ".zip": _ZIP,
    ".pdf": _PDF,
}


def refuse_other_format(path: Path, ending: str, is_gzipped: bool) -> None:
    """Raise DataError if the first bytes of a file show another format than its name.

    Args:
        path: a plain file.
        ending: the end of its name, without `.gz`.
        is_gzipped: whether its name ends in `.gz`.

    Raises:
        DataError: the file is something else; the message says what, and what to do.
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        head = file.read(_HEAD)
    if not head:
        raise DataError(f"{path} is empty")
    found = _format_of(head)
    if is_gzipped and found is _GZIP:
        found = _format_of(_unpacked(path))
        if found is None:
            return
        raise DataError(f"{path} contains {found.what}; unpack it, then {found.remedy}")
    if found is None and is_gzipped:
        raise DataError(f"{path} is not a gzip file, despite its name; rename it without .gz")
    if found is _GZIP and ending in PARQUET:
        raise DataError(f"{path} is a gzip file, despite its name; unpack it")
    if found is not None and not (found is _PARQUET and ending in PARQUET):
        raise DataError(f"{path} is {found.what}, despite its name; {found.remedy}")


def other_ending(path: Path, ending: str) -> str:
    """Return the message for a file whose name does not end like a table's."""
    names = "a table's name must end in .csv, .tsv, .txt, one of these with .gz, or .parquet"
    found = _ENDINGS.get(path.suffix.lower()) or _ENDINGS.get(ending)
    if found is None:
        return f"{path}: {names}"
    return f"{path}: {names}; this looks like {found.what}: {found.remedy}"


def _format_of(head: bytes) -> Format | None:
    """Return the format of a file by its first bytes; None for text, and for what is not known."""
    for signature, found in _SIGNATURES.items():
        # A text may begin with the name of the gene PAR1.
        if head.startswith(signature) and (found is not _PARQUET or min(head) < _LEAST_IN_TEXT):
            return found
    if head.startswith(b"PK\x03\x04"):
        name = head[30 : 30 + int.from_bytes(head[26:28], "little")]
        if name.endswith(b".npy"):
            return _NPZ
        return next((found for start, found in _IN_ZIP if name.startswith(start)), _ZIP)
    if head[_TAR_AT : _TAR_AT + 5] == b"ustar":
        return _TAR
    text = b"".join(head.removeprefix(b"\xef\xbb\xbf").split()).lower()
    if text.startswith(_HTML_STARTS):
        return _HTML
    return _JSON if text.startswith(_JSON_STARTS) else None


def _unpacked(path: Path) -> bytes:
    """Return the first bytes in a gzip file; none if it is damaged, which its reader says better."""
    try:
        with gzip.GzipFile(path) as file:
            return file.read(_HEAD)
    except (gzip.BadGzipFile, EOFError, zlib.error):
        return b""
