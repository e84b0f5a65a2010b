"""What a method is; `training.methods` lists them by name."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

GNN, FCN, BOTH, NOTHING = "gnn", "fcn", "both", "nothing"
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
        writes_if: a hyperparameter and the value that it has if they are written out; None if they always are.
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
    writes_if: tuple[str, Any] | None = None
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

    def defaults_with(self, unlabeled: Any = "all", batch_nodes: int | None = 0) -> dict[str, Any]:
        """Return its defaults, given two values of a config: targets of nodes that a step draws anew are not kept."""
        kept = unlabeled == "all" and not batch_nodes
        return {name: value for name, value in self.defaults.items() if name != KEPT or kept}
