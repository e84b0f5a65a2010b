"""Initial weights of a custom module, drawn by its own `reset_parameters`."""

import copy

import torch
from torch import Tensor, nn

from graphmix.errors import ConfigError


def reset(module: nn.Module, seed: int) -> dict[str, Tensor]:
    """Draw initial weights; weights that nothing resets keep their values."""
    fresh = copy.deepcopy(module)
    parts = [fresh] if hasattr(fresh, "reset_parameters") else fresh.modules()
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        for part in parts:
            if callable(draw := getattr(part, "reset_parameters", None)):
                try:
                    draw()
                except Exception as error:
                    kind = type(part).__name__
                    raise ConfigError(f"the reset_parameters() of {kind} fails ({error}); correct it") from error
    return trainable(fresh)


def find_unset(module: nn.Module) -> str:
    """Return a warning that names weights which a reset does not change; "" if there are none."""
    marked = copy.deepcopy(module)
    with torch.no_grad():
        for weight in filter(lambda weight: weight.requires_grad, marked.parameters()):
            # Weights computed from it are NaN too.
            weight.fill_(torch.nan)
    names = [repr(name) for name, weight in reset(marked, 0).items() if bool(weight.isnan().all())]
    if not names:
        return ""
    listed = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    by, remedy = "any reset_parameters()", "give the module one"
    if hasattr(module, "reset_parameters"):
        by, remedy = "the module's reset_parameters()", "let it set all weights"
    verb = "is" if len(names) == 1 else "are"
    return f"{listed} {verb} not set by {by}, so every trial starts from the same values; {remedy}"


def trainable(module: nn.Module) -> dict[str, Tensor]:
    """Copy the weights that are trained."""
    return {name: value.detach().clone() for name, value in module.named_parameters() if value.requires_grad}
