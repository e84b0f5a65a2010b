"""The methods by name: what each trains, whether it needs predicted targets, which network predicts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

GNN, FCN, BOTH, NOTHING = "gnn", "fcn", "both", "nothing"
# GraphMix as a fit uses it.
STEADY = "graphmix-steady"
KEPT = "target_every"


@dataclass(frozen=True, kw_only=True)
class Method:
    """A method.

    Attributes:
        about: what is trained, and how.
        title: what the paper calls it; {network} and {fcn} stand for the titles of the network and of its FCN.
        trains: what the training loop trains: the GNN, the FCN (the same network without the edges), both or nothing.
        predictor: which network predicts unless `Config.predictor` says otherwise, "gnn" or "fcn".
        predicts_targets: whether it also trains on unlabeled nodes, with targets that the network predicts.
        mixes: whether it trains the FCN by manifold mixup.
        mixes_targets: whether it mixes predicted targets too, not only labels.
        defaults: its defaults of hyperparameters where they are not the paper's; `Config.for_dataset` fills them in.
        enough_epochs: with fewer epochs predicted targets may do harm.
        report_place: its place in a report, from simple methods to GraphMix.
        fit_place: its place among the methods that a fit tries unless told otherwise, cheap ones first; None if it is
            not one of them.
        for_fits: whether a fit can try it if asked to.
        rule: the module and the class of its `Rule`, if it brings its own step; see `rules.rule`.
        backbone: the network that it trains unless `Config.backbone` says otherwise.
        uses: if it has a rule, the hyperparameters of methods that the rule reads.
        needs: those of them that it reads only if another has a certain value: that one's name and value.
        passes: how many passes there are whose gradients a step keeps, or the hyperparameter that counts them.
        written_out: how many dense copies of the features a step writes out for each trial.
        uses_edge_weights: whether it can be trained on a graph with edge weights.
    """

    about: str
    title: str
    trains: str
    predictor: str = GNN
    predicts_targets: bool = False
    mixes: bool = False
    mixes_targets: bool = False
    defaults: Mapping[str, Any] = field(default_factory=dict)
    # So the network has time to learn before it predicts targets: the paper waits 500 of 2,000 epochs.
    enough_epochs: int = 1000
    report_place: int
    fit_place: int | None = None
    for_fits: bool = True
    rule: tuple[str, str] | None = None
    backbone: str = "gcn"
    uses: tuple[str, ...] = ()
    needs: Mapping[str, tuple[str, Any]] = field(default_factory=dict)
    passes: int | str = 1
    written_out: int = 0
    uses_edge_weights: bool = True

    @property
    def baseline(self) -> bool:
        """Whether `graphmix.baselines` computes it, not the training loop: it has no backbone and no `Config`."""
        return self.trains == NOTHING

    @property
    def trains_gnn(self) -> bool:
        """Whether the network is trained on the graph, not only as an FCN."""
        return self.trains in (GNN, BOTH)

    @property
    def trains_gnn_on_targets(self) -> bool:
        """Whether the GNN is trained on the targets that it predicts, so that one pass can do both."""
        return self.predicts_targets and self.trains_gnn and not self.mixes_targets

    def reads(self, name: str, values: Mapping[str, Any]) -> bool:
        """Return whether it reads a hyperparameter that it uses, given the values of all."""
        if name not in self.needs:
            return True
        other, value = self.needs[name]
        return bool(values[other] == value)

    def defaults_with(self, unlabeled: Any = "all") -> dict[str, Any]:
        """Return its defaults, given `Config.unlabeled`: targets of nodes that every step draws anew are not kept."""
        return {name: value for name, value in self.defaults.items() if name != KEPT or unlabeled == "all"}


_ADVERSARIAL = (
    "perturbation_size",
    "perturbation_probe",
    "power_iterations",
    "adversarial_weight",
    "entropy_weight",
)
_IF_SAMPLED = ("perturbation_size", "perturbation_probe", "power_iterations", "perturbed_nodes")
_OF_NEIGHBOURS = ("graph_perturbation_size", "graph_weight", "neighbour_draws")

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
    # The papers' hyperparameters by dataset are in rule_papers.py.
    "grand": Method(
        about="random propagation: several passes with nodes left out, which agree on all nodes (Feng et al., 2020)",
        title="GRAND",
        trains=GNN,
        rule=("grand", "GrandRule"),
        backbone="grand",
        uses=("perturbations", "temperature", "gamma"),
        passes="perturbations",
        report_place=30,
        for_fits=False,
    ),
    "dropedge": Method(
        about="the GNN on the labels, with other edges left out in every step (Rong et al., 2020)",
        title="{network} (DropEdge)",
        trains=GNN,
        rule=("dropedge", "DropEdge"),
        uses=("edge_dropout",),
        report_place=31,
        for_fits=False,
    ),
    "vat": Method(
        about="the GNN on the labels, its predictions smooth against the worst perturbation of each node "
        "(Miyato et al., 2018)",
        title="{network} (VAT)",
        trains=GNN,
        rule=("vat", "VAT"),
        uses=_ADVERSARIAL,
        passes=4,
        report_place=32,
        for_fits=False,
    ),
    "bvat": Method(
        about="VAT with perturbations of nodes far apart, or of all nodes at once (Deng et al., 2019)",
        title="{network} (BVAT)",
        trains=GNN,
        rule=("bvat", "BVAT"),
        uses=(*_ADVERSARIAL, "bvat_form", "perturbed_nodes"),
        needs=dict.fromkeys(_IF_SAMPLED, ("bvat_form", "sampled")),
        passes=4,
        written_out=6,
        report_place=33,
        for_fits=False,
    ),
    "graphat": Method(
        about="the GNN on the labels, its predictions close to the neighbours' under the worst perturbations "
        "(Feng et al., 2019)",
        title="{network} (GraphAT)",
        trains=GNN,
        rule=("graphat", "GraphAT"),
        uses=_OF_NEIGHBOURS,
        passes=3,
        report_place=34,
        for_fits=False,
        uses_edge_weights=False,
    ),
    "graphvat": Method(
        about="GraphAT and VAT in one loss (Feng et al., 2019)",
        title="{network} (GraphVAT)",
        trains=GNN,
        rule=("graphat", "GraphVAT"),
        uses=(*_OF_NEIGHBOURS, *_ADVERSARIAL),
        passes=5,
        report_place=35,
        for_fits=False,
        uses_edge_weights=False,
    ),
    "gmnn": Method(
        about="two networks in turn, one on the features, one on the neighbours' classes (Qu et al., 2019)",
        title="GMNN({network})",
        trains=GNN,
        rule=("gmnn", "GMNN"),
        uses=("temperature", "pretraining", "phase_epochs", "optimiser"),
        passes=2,
        report_place=36,
        for_fits=False,
    ),
    "graphsgan": Method(
        about="a deep net on features and embeddings, against a generator of nodes (Ding et al., 2018)",
        title="GraphSGAN",
        trains=GNN,
        rule=("graphsgan", "GraphSGAN"),
        backbone="sgan",
        report_place=37,
        for_fits=False,
    ),
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
