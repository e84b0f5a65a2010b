"""Virtual adversarial training (Miyato et al., 2018) of a GNN: predictions that small perturbations do not change.

    ℓ(G(X_l), Y_l) + α mean over nodes of KL(p(X) ‖ p(X + R)) + β mean entropy of p(X)

Every row of R has the length ε. All rows are sought together, by power iterations from a random step of the length ξ:
R ∝ the gradient of the divergence there. p(X) and R are constants in the divergence.
"""

from torch import Tensor

from graphmix.streams import Purpose
from graphmix.training.rules.adversarial import Adversarial, divergence, entropy


class VAT(Adversarial):
    """The loss on labels and on perturbed features."""

    def loss(self, phase: int, epoch: int | Tensor) -> Tensor:
        """The loss of a step: `[trials]`."""
        logits, supervised = self.clean(epoch)
        return supervised + self.smoothness(logits, epoch) + self.config.entropy_weight * entropy(logits)

    def smoothness(self, logits: Tensor, epoch: int | Tensor) -> Tensor:
        """α times the divergence that the worst perturbations cause: `[trials]`."""
        noise = self.streams.at(Purpose.PERTURBED_DROPOUT, epoch)
        left = self.virtual(logits, epoch, noise)
        moved = self.perturbed(self.low_rank(left), noise)
        return self.config.adversarial_weight * divergence(logits.detach(), moved)
