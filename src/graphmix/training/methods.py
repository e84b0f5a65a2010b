"""The methods by name: what each trains, whether it needs predicted targets, which network predicts."""

from graphmix.training.method import BOTH, FCN, GNN, KEPT, NOTHING, Method
from graphmix.training.rule_methods import RULE_METHODS

# GraphMix as a fit uses it.
STEADY = "graphmix-steady"
# GraphMix over random propagation, searched on the public splits.
RECIPE = "graphmix-grand"

METHODS: dict[str, Method] = {
    "graphmix": Method(
        about="the GNN and the FCN together, Algorithm 1",
        title="GraphMix({network})",
        trains=BOTH,
        predicts_targets=True,
        mixes=True,
        mixes_targets=True,
        report_place=41,
    ),
    "supervised": Method(
        about="the GNN on the labels alone",
        title="{network}",
        trains=GNN,
        report_place=12,
        fit_place=4,
    ),
    "fcn": Method(
        about="the FCN on the labels alone, without the edges",
        title="{fcn}",
        trains=FCN,
        predictor=FCN,
        report_place=9,
        fit_place=3,
    ),
    "self-training": Method(
        about="the GNN on the labels and on targets that it predicts itself",
        title="{network} (self-training)",
        trains=GNN,
        predicts_targets=True,
        report_place=40,
    ),
    "fcn-self-training": Method(
        about="the FCN on the labels and on targets that the GNN predicts",
        title="{fcn} (self-training)",
        trains=FCN,
        predicts_targets=True,
        report_place=10,
    ),
    "fcn-mixup": Method(
        about="the FCN by manifold mixup: GraphMix without the GNN's steps",
        title="{fcn} (mixup)",
        trains=FCN,
        predicts_targets=True,
        mixes=True,
        mixes_targets=True,
        report_place=11,
    ),
    STEADY: Method(
        about="the GNN on labels and confident targets, the FCN by mixup of the labels, in one step",
        title="steady GraphMix({network})",
        trains=BOTH,
        predicts_targets=True,
        mixes=True,
        defaults={
            "joint_weight": 0.3,
            "temperature": 0.5,
            "perturbations": 4,
            "target_confidence": 0.5,
            "target_alignment": 0.5,
            KEPT: 5,
        },
        enough_epochs=200,
        report_place=42,
        fit_place=5,
    ),
    **RULE_METHODS,
    "label-propagation": Method(
        about="nothing: the labels spread along the edges, without the features",
        title="Label propagation",
        trains=NOTHING,
        report_place=0,
        fit_place=0,
    ),
    "deepwalk": Method(
        about="no network: a linear classifier on embeddings of random walks, without the features",
        title="DeepWalk",
        trains=NOTHING,
        report_place=1,
        for_fits=False,
    ),
    "manireg": Method(
        about="no network: least squares on the features, smooth along the edges (Laplacian-regularised)",
        title="ManiReg",
        trains=NOTHING,
        report_place=2,
        for_fits=False,
    ),
    "ica": Method(
        about="no network: a logistic regression on the features and the neighbours' classes, iterated",
        title="ICA",
        trains=NOTHING,
        report_place=3,
        for_fits=False,
    ),
    "semiemb": Method(
        about="a network of its own, on the features: its hidden layer embeds neighbours alike",
        title="SemiEmb",
        trains=NOTHING,
        report_place=4,
        for_fits=False,
    ),
    "planetoid": Method(
        about="a network of its own: embeddings of the nodes that predict walks and labels, and the features",
        title="Planetoid",
        trains=NOTHING,
        report_place=5,
        for_fits=False,
    ),
    "planetoid-inductive": Method(
        about="the same with embeddings computed from the features, so that they exist for new nodes too",
        title="Planetoid (inductive)",
        trains=NOTHING,
        report_place=6,
        for_fits=False,
    ),
    "logistic-regression": Method(
        about="no network: a logistic regression on the features of a node and their means over neighbours",
        title="Logistic regression",
        trains=NOTHING,
        report_place=7,
        fit_place=1,
    ),
    "random-forest": Method(
        about="no network: a forest of randomised trees on the features of a node and their means over neighbours",
        title="Random forest",
        trains=NOTHING,
        report_place=8,
        fit_place=2,
    ),
}


def trained_methods() -> tuple[str, ...]:
    """Return the methods that train a network, the choices of `Config.method`."""
    return tuple(name for name, method in METHODS.items() if not method.baseline)


def fit_methods() -> tuple[str, ...]:
    """Return the methods that a fit tries unless told otherwise, in order."""
    places = {name: method.fit_place for name, method in METHODS.items() if method.fit_place is not None}
    return tuple(sorted(places, key=places.__getitem__))


def possible_in_fits() -> tuple[str, ...]:
    """Return the methods that a fit can try: those it tries anyway, in order, and then the others."""
    usual = fit_methods()
    return *usual, *(name for name, method in METHODS.items() if method.for_fits and name not in usual)


def report_order() -> tuple[str, ...]:
    """Return all methods in the order of a report, from simple ones to GraphMix and its variant."""
    return tuple(sorted(METHODS, key=lambda name: METHODS[name].report_place))
