"""The methods of other papers that bring their own step: data, no code. Their steps are in `training.rules`."""

from graphmix.training.method import BOTH, GNN, Method

_ADVERSARIAL = (
    "perturbation_size",
    "perturbation_probe",
    "power_iterations",
    "adversarial_weight",
    "entropy_weight",
)
_IF_SAMPLED = ("perturbation_size", "perturbation_probe", "power_iterations", "perturbed_nodes")
_OF_NEIGHBOURS = ("graph_perturbation_size", "graph_weight", "neighbour_draws")

RULE_METHODS: dict[str, Method] = {
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
    "graphmix-grand": Method(
        about="the GNN by random propagation on labels and its own targets, the FCN by mixup, in one step",
        title="GraphMix + GRAND",
        trains=BOTH,
        rule=("graphmix_grand", "GraphMixGrand"),
        backbone="grand",
        uses=(
            "perturbations",
            "temperature",
            "gamma",
            "rampup_start",
            "rampup_end",
            "rampup_before",
            "target_confidence",
            "consistency",
            "joint_weight",
            "alpha",
            "lambda_per",
            "fcn_targets",
        ),
        passes="perturbations",
        report_place=43,
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
        # A dozen in ten steps of Adam, as many for the random numbers, and a captured epoch has its own.
        written_out=30,
        writes_if=("bvat_form", "optimised"),
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
}
