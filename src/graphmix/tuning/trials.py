"""What Optuna keeps of a point, and a point made of it again."""

from typing import TYPE_CHECKING

from graphmix.results.tuned import DONE, FAILED, STOPPED, Point
from graphmix.tuning.scoring import Score

if TYPE_CHECKING:
    import optuna

# Attributes of a trial: what it sets, whether it has the usual values, who computes it, why it failed, its score.
SETTINGS, START, WORKER, ERROR, SCORE = "settings", "start", "worker", "error", "score"
# With fewer points that are done no point is stopped, and nothing is said of importances.
ENOUGH = 5
_TREES = 32


def is_lost(trial: "optuna.trial.FrozenTrial") -> bool:
    """Whether a trial was given back or its process was killed: another one stands for it."""
    import optuna

    return bool(trial.state == optuna.trial.TrialState.FAIL and ERROR not in trial.user_attrs)


def score_of(trial: "optuna.trial.FrozenTrial") -> Score:
    """Return the score of a trial; without any numbers if it has none."""
    held = trial.user_attrs.get(SCORE, {"values": (), "reached": (), "seconds": 0.0})
    values, reached = (tuple(map(float, held[name])) for name in ("values", "reached"))
    device = held.get("device")  # older studies lack it
    return Score(values, reached, float(held["seconds"]), None if device is None else str(device))


def point_of(number: int, trial: "optuna.trial.FrozenTrial") -> Point:
    """Return a trial that ended as a point; `number` is its place among the points."""
    import optuna

    held, found = trial.user_attrs, score_of(trial)
    states = {optuna.trial.TrialState.COMPLETE: DONE, optuna.trial.TrialState.PRUNED: STOPPED}
    state = states.get(trial.state, FAILED)
    return Point(
        number=number,
        state=state,  # type: ignore[arg-type]
        settings=dict(held.get(SETTINGS, trial.params)),
        score=None if state == FAILED else found.mean,
        std=found.std,
        values=found.values,
        reached=found.reached,
        seconds=found.seconds,
        start=bool(held.get(START)),
        error=held.get(ERROR),
        device=found.device,
    )


def importances_of(study: "optuna.Study") -> dict[str, float]:
    """Return how much of the scores each hyperparameter explains (fANOVA), the largest first; empty with few points.

    Only points that are done count, and only hyperparameters that all of them have.
    """
    import optuna

    done = study.get_trials(deepcopy=False, states=(optuna.trial.TrialState.COMPLETE,))
    common = set.intersection(*(set(trial.params) for trial in done)) if done else set()
    if len(done) < ENOUGH or len(common) < 2 or len({trial.value for trial in done}) < 2:
        return {}
    evaluator = optuna.importance.FanovaImportanceEvaluator(n_trees=_TREES, seed=0)
    found = optuna.importance.get_param_importances(study, evaluator=evaluator, params=sorted(common))
    return {name: round(float(share), 4) for name, share in found.items()}
