"""Which points Optuna proposes, and what a point sets."""

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from graphmix.training.config import HYPERPARAMETERS
from graphmix.tuning.space import Choices, Dimension, MakeConfig, Space, matters
from graphmix.tuning.trials import is_lost

if TYPE_CHECKING:
    import optuna

# So many points are drawn at random before the search learns from what it has seen.
_RANDOM_POINTS = 10


def suggest(
    trial: "optuna.Trial", space: Space, make: MakeConfig, fixed: Mapping[str, Any], *, start: bool
) -> dict[str, Any]:
    """Return the hyperparameters that a point sets: those of the space that have an effect with its network.

    Args:
        trial: Optuna's.
        space: what is tried.
        make: makes a config.
        fixed: the settings that all points have.
        start: whether the point has the usual values, those of `usual_point` given to the trial before.
    """
    if start:
        usual = usual_point(space, make, fixed)
        for name, value in usual.items():
            if space[name].holds(value):
                _ask(trial, name, space[name])
        return usual
    # The network first: it decides what the others are good for.
    network = {"backbone": _ask(trial, "backbone", space["backbone"])} if "backbone" in space else {}
    config = make(**{**fixed, **network})
    others = [name for name in space if name != "backbone" and matters(name, config)]
    return network | {name: _ask(trial, name, space[name]) for name in others}


def usual_point(space: Space, make: MakeConfig, fixed: Mapping[str, Any]) -> dict[str, Any]:
    """Return the usual values of what a space varies, as far as they have an effect; the space may lack some."""
    config = make(**fixed)
    return {name: getattr(config, name) for name in space if matters(name, config)}


def start_params(space: Space, make: MakeConfig, fixed: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of the usual values that the space has, by which Optuna begins."""
    return {name: value for name, value in usual_point(space, make, fixed).items() if space[name].holds(value)}


def _ask(trial: "optuna.Trial", name: str, values: Dimension) -> Any:
    if isinstance(values, Choices):
        return trial.suggest_categorical(name, list(values.values))
    if HYPERPARAMETERS[name].kind is int:
        step = 1 if values.step is None else int(values.step)
        return trial.suggest_int(name, int(values.low), int(values.high), step=step, log=values.log)
    found = trial.suggest_float(name, values.low, values.high, step=values.step, log=values.log)
    # 0.1 + 0.2 is not quite 0.3, and more digits than three mean nothing.
    if values.step is not None:
        return round(found, 10)
    return min(max(float(f"{found:.3g}"), values.low), values.high)


def usual_sampler(seed: int) -> "optuna.samplers.BaseSampler":
    """Return a sampler of Optuna's (TPE) whose draws for a point depend on the seed, its place and the points before.

    So a search that was killed proposes what it would have proposed, and processes that share a study draw differently.
    """
    import optuna

    class ByPlace(optuna.samplers.BaseSampler):
        """TPE with a seed of its own for every place."""

        def __init__(self) -> None:
            self._own = self._at(0)

        def _at(self, place: int) -> "optuna.samplers.TPESampler":
            own = (seed * 1_000_003 + place) % 2**32
            with warnings.catch_warnings():
                # Older versions say of constant_liar that it may change.
                warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
                return optuna.samplers.TPESampler(seed=own, n_startup_trials=_RANDOM_POINTS, constant_liar=True)

        def before_trial(self, study: Any, trial: Any) -> None:
            held = study.get_trials(deepcopy=False)
            lost = sum(is_lost(each) and each.number < trial.number for each in held)
            self._own = self._at(trial.number - lost)

        def infer_relative_search_space(self, study: Any, trial: Any) -> Any:
            return self._own.infer_relative_search_space(study, trial)

        def sample_relative(self, study: Any, trial: Any, search_space: Any) -> Any:
            return self._own.sample_relative(study, trial, search_space)

        def sample_independent(self, study: Any, trial: Any, param_name: str, param_distribution: Any) -> Any:
            return self._own.sample_independent(study, trial, param_name, param_distribution)

    return ByPlace()
