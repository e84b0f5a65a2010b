"""The methods by name: what each trains, whether it needs predicted targets, which network predicts."""

from dataclasses import dataclass

GNN, FCN, BOTH, NOTHING = "gnn", "fcn", "both", "nothing"


@dataclass(frozen=True, kw_only=True)
class Method:
    """A method.

    Attributes:
        about: what is trained, and how.
        title: what the paper calls it; {network} and {fcn} stand for the titles of the network and of its FCN.
        trains: what it trains: the GNN, the FCN (the same network without the edges), both or nothing.
        predictor: which network predicts unless `Config.predictor` says otherwise, "gnn" or "fcn".
        predicts_targets: whether it also trains on unlabeled nodes, with targets that the network predicts.
        mixes: whether it trains the FCN by manifold mixup.
        report_place: its place in a report, from simple methods to GraphMix.
        fit_place: its place among the methods that a fit tries unless told otherwise; None if it is not one of them.
    """

    about: str
    title: str
    trains: str
    predictor: str = GNN
    predicts_targets: bool = False
    mixes: bool = False
    report_place: int
    fit_place: int | None = None

    @property
    def baseline(self) -> bool:
        """Whether it needs no network and no gradient; `graphmix.baselines` computes it."""
        return self.trains == NOTHING

    @property
    def trains_gnn(self) -> bool:
        """Whether the network is trained on the graph, not only as an FCN."""
        return self.trains in (GNN, BOTH)


METHODS: dict[str, Method] = {
    "graphmix": Method(
        about="the GNN and the FCN together, Algorithm 1",
        title="GraphMix({network})",
        trains=BOTH,
        predicts_targets=True,
        mixes=True,
        report_place=9,
        fit_place=0,
    ),
    "supervised": Method(
        about="the GNN on the labels alone",
        title="{network}",
        trains=GNN,
        report_place=7,
        fit_place=1,
    ),
    "fcn": Method(
        about="the FCN on the labels alone, without the edges",
        title="{fcn}",
        trains=FCN,
        predictor=FCN,
        report_place=4,
        fit_place=3,
    ),
    "self-training": Method(
        about="the GNN on the labels and on targets that it predicts itself",
        title="{network} (self-training)",
        trains=GNN,
        predicts_targets=True,
        report_place=8,
    ),
    "fcn-self-training": Method(
        about="the FCN on the labels and on targets that the GNN predicts",
        title="{fcn} (self-training)",
        trains=FCN,
        predicts_targets=True,
        report_place=5,
    ),
    "fcn-mixup": Method(
        about="the FCN by manifold mixup: GraphMix without the GNN's steps",
        title="{fcn} (mixup)",
        trains=FCN,
        predicts_targets=True,
        mixes=True,
        report_place=6,
    ),
    "label-propagation": Method(
        about="nothing: the labels spread along the edges, without the features",
        title="Label propagation",
        trains=NOTHING,
        report_place=0,
        fit_place=2,
    ),
    "deepwalk": Method(
        about="no network: a linear classifier on embeddings of random walks, without the features",
        title="DeepWalk",
        trains=NOTHING,
        report_place=1,
    ),
    "logistic-regression": Method(
        about="no network: a logistic regression on the features of a node and their means over neighbours",
        title="Logistic regression",
        trains=NOTHING,
        report_place=2,
    ),
    "random-forest": Method(
        about="no network: a forest of randomised trees on the features of a node and their means over neighbours",
        title="Random forest",
        trains=NOTHING,
        report_place=3,
    ),
}


def trained_methods() -> tuple[str, ...]:
    """Return the methods that train a network, the choices of `Config.method`."""
    return tuple(name for name, method in METHODS.items() if not method.baseline)


def fit_methods() -> tuple[str, ...]:
    """Return the methods that a fit tries unless told otherwise, in order."""
    places = {name: method.fit_place for name, method in METHODS.items() if method.fit_place is not None}
    return tuple(sorted(places, key=places.__getitem__))


def report_order() -> tuple[str, ...]:
    """Return all methods in the order of a report, from simple ones to GraphMix."""
    return tuple(sorted(METHODS, key=lambda name: METHODS[name].report_place))
