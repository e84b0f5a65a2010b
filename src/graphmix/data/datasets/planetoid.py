"""The Planetoid files (Yang, Cohen and Salakhutdinov, 2016): Cora, Citeseer and Pubmed with public splits.

A dataset is eight files, `ind.<name>.<part>`. `allx` and `ally` are the nodes outside the test range, the
training nodes first; row i of `tx` and `ty` belongs to the node on line i of `test.index`; `graph` lists each
node's neighbours. `x` and `y` repeat the training nodes; only their number is needed. All but `test.index`
are Python 2 pickles.
"""

import io
import pickle
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphmix.errors import DataError

VALIDATION_NODES = 500


class Planetoid(NamedTuple):
    """A parsed dataset.

    Attributes:
        x: `[nodes, features]`, as in the files.
        edges: `[2, entries]`, as in the files, with self-loops and repeats.
        y: `[nodes]`; -1 for nodes without a label in the files (15 in Citeseer).
        train: bool `[nodes]`, the public split.
        val: bool `[nodes]`.
        test: bool `[nodes]`.
    """

    x: sp.csr_array
    edges: NDArray[np.int64]
    y: NDArray[np.int64]
    train: NDArray[np.bool_]
    val: NDArray[np.bool_]
    test: NDArray[np.bool_]


def parse(contents: Mapping[str, bytes]) -> Planetoid:
    """Read a dataset from the checked contents of its files, by file name."""
    part = {name.split(".", 2)[2]: content for name, content in contents.items()}
    index = np.array(part["test.index"].split(), dtype=np.int64)
    train_nodes = len(_unpickle(part["y"]))
    ally, ty = _unpickle(part["ally"]), _unpickle(part["ty"])
    # The node of each row of allx, then of tx. Citeseer's index skips 15 nodes: they have no row, so their features
    # are zero and their label is unknown. (Other loaders give them class 0; no mask contains them.)
    owners = np.concatenate([np.arange(len(ally)), index])
    nodes = int(owners.max()) + 1
    y = np.full(nodes, -1, dtype=np.int64)
    y[owners] = np.concatenate([ally, ty]).argmax(axis=1)
    entries = sp.vstack([_csr(part["allx"]), _csr(part["tx"])]).tocoo()
    x = sp.csr_array((entries.data, (owners[entries.row], entries.col)), shape=(nodes, entries.shape[1]))
    place = np.arange(nodes)
    train = place < train_nodes
    val = (place >= train_nodes) & (place < train_nodes + VALIDATION_NODES)
    return Planetoid(x, _edges(_unpickle(part["graph"])), y, train, val, np.isin(place, index))


def _edges(neighbours: Mapping[int, list[int]]) -> NDArray[np.int64]:
    sources = np.repeat(list(neighbours), [len(targets) for targets in neighbours.values()])
    targets = np.concatenate([np.asarray(targets, dtype=np.int64) for targets in neighbours.values()])
    return np.stack([sources.astype(np.int64), targets])


class _CsrState:
    """The fields of scipy's class when the files were written; they have changed since."""

    _shape: tuple[int, int]
    indptr: NDArray[np.int32]
    indices: NDArray[np.int32]
    data: NDArray[Any]


def _csr(content: bytes) -> sp.csr_array:
    state: _CsrState = _unpickle(content)
    return sp.csr_array((state.data, state.indices, state.indptr), shape=state._shape)


def _empty_array(*_: object) -> NDArray[Any]:
    # As numpy's _reconstruct: the pickle sets shape, type and content afterwards.
    return np.ndarray((0,), dtype=np.int8)


def _dtype(code: str, *_: object) -> np.dtype[Any]:
    # The flags after the code are 0 and 1, but numpy 2.4 requires booleans; they do not matter for these types.
    return np.dtype(code)


def _encode(text: str, encoding: str) -> bytes:
    # Python 3 writes bytes like this in the old pickle format, always with latin1.
    if encoding != "latin1":
        raise pickle.UnpicklingError(f"codec {encoding!r} is not allowed")
    return text.encode("latin1")


# Everything a Planetoid pickle may name. A pickle can call what it names, so only constructors of plain data are
# allowed, even though every file is checked before.
_ALLOWED: dict[tuple[str, str], Callable[..., Any]] = {
    ("__builtin__", "list"): list,
    ("builtins", "list"): list,
    ("_codecs", "encode"): _encode,
    ("collections", "defaultdict"): defaultdict,
    ("numpy", "dtype"): _dtype,
    ("numpy", "ndarray"): np.ndarray,
    ("numpy.core.multiarray", "_reconstruct"): _empty_array,
    ("numpy._core.multiarray", "_reconstruct"): _empty_array,
    ("scipy.sparse.csr", "csr_matrix"): _CsrState,
    ("scipy.sparse._csr", "csr_matrix"): _CsrState,
}


class _PlainUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        try:
            return _ALLOWED[module, name]
        except KeyError:
            raise pickle.UnpicklingError(f"{module}.{name} is not allowed") from None


def _unpickle(content: bytes) -> Any:
    try:
        return _PlainUnpickler(io.BytesIO(content), encoding="latin1").load()
    except (pickle.UnpicklingError, EOFError, ValueError, TypeError, AttributeError) as error:
        raise DataError(f"a Planetoid file cannot be read: {error}") from error
