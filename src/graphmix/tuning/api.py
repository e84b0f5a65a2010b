"""tune and tune_tables: a search over a graph, or over one's own tables; and the files that it leaves."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from graphmix.data import Graph, Split
from graphmix.errors import ConfigError, RunError
from graphmix.executors import LOCAL, Executor
from graphmix.results import formats
from graphmix.results.reader import read_file
from graphmix.results.tuned import TuneResult
from graphmix.results.tuned_wording import config_comments
from graphmix.results.writer import to_json
from graphmix.storage.files import write_json, write_text
from graphmix.storage.folders import BEST, TUNED, make_folder
from graphmix.tables.files import limited
from graphmix.text import name_for_screen
from graphmix.training.config import Config
from graphmix.training.config_file import config_text
from graphmix.training.methods import METHODS, STEADY
from graphmix.training.task import check_edge_weights, check_given
from graphmix.tuning.options import TuneOptions
from graphmix.tuning.search import Target, search
from graphmix.tuning.space import Choices, Interval, Space, parse_space, read_space, usual_space
from graphmix.tuning.watching import TuneWatcher
from graphmix.workflow.columns import Columns
from graphmix.workflow.fitting import with_label
from graphmix.workflow.options import FitOptions
from graphmix.workflow.plan import config_on
from graphmix.workflow.problem import Source
from graphmix.workflow.problems import read_problem

# A space, the path of a TOML file with one, or its content; None for the usual one.
GivenSpace = Space | Mapping[str, Any] | Path | str | None


def tune(
    graph: Graph,
    split: Split | Callable[[int, int], Split],
    *,
    space: GivenSpace = None,
    options: TuneOptions | None = None,
    out: Path | str | None = None,
    watch: TuneWatcher | None = None,
    executor: Executor = LOCAL,
    **settings: Any,
) -> TuneResult:
    """Search for hyperparameters on a graph, by the scores of its validation nodes; test nodes are never looked at.

    The first point has the usual values of `Config.for_dataset`. The best point is then trained again, beside the usual
    values, with fresh seeds.

    Args:
        graph: the graph.
        split: training and validation nodes; or a function of a number of trials and a seed that draws them.
        space: what to try: the path of a TOML file, or lists of values and intervals by name; the usual one if None.
        options: how many points and trials, how long, and where the study is.
        out: a folder for tune.json and best.toml; None to write none.
        watch: callbacks.
        executor: where points are computed; this process if it is not given.
        settings: hyperparameters that are the same at every point.

    Raises:
        ConfigError: an option, a hyperparameter or the space is invalid.
        DataError: the split has no validation nodes.
        RunError: Optuna is not installed, or the storage cannot be used.

    Example:
        >>> import graphmix
        >>> graph, split = graphmix.synthetic(nodes=150, seed=1)
        >>> options = graphmix.TuneOptions(points=3, trials=2, check_trials=2)
        >>> found = graphmix.tune(graph, split, space={"hidden": [8, 16]}, options=options, epochs=5)
        >>> sorted(found.best_settings)
        ['epochs', 'hidden', 'method']
    """
    return _tune(graph_target(graph, split), space, options, out, watch, executor, settings)


def tune_tables(
    nodes: Source,
    edges: Source,
    *,
    label: str | None = None,
    columns: Columns | None = None,
    space: GivenSpace = None,
    options: TuneOptions | None = None,
    fit_options: FitOptions | None = None,
    out: Path | str | None = None,
    watch: TuneWatcher | None = None,
    executor: Executor = LOCAL,
    **settings: Any,
) -> TuneResult:
    """Search for the hyperparameters of a network on tables of nodes and edges, by folds of the labels.

    Five folds of the labels are held out in turn, or the rows that a `split` column names val. The first point has the
    usual values of `graphmix.fit_tables` for the method, by default steady GraphMix. See `tune` for the rest.

    Args:
        nodes: the nodes, as for `graphmix.fit_tables`.
        edges: the edges.
        label: the column of classes.
        columns: what the other columns mean.
        space: what to try.
        options: how many points and trials, how long, and where the study is.
        fit_options: of a fit: whether classes are `balanced`, `ignore_unknown` and `limit` are used.
        out: a folder for tune.json and best.toml.
        watch: callbacks.
        executor: where points are computed.
        settings: hyperparameters that are the same at every point.
    """
    given = fit_options or FitOptions()
    place = executor.device((options or TuneOptions()).device)
    target = table_target(nodes, edges, with_label(columns or Columns(), label), given, place)
    return _tune(target, space, options, out, watch, executor, balanced_settings(given) | settings)


def graph_target(graph: Graph, split: Split | Callable[[int, int], Split]) -> Target:
    """Return what a search on a graph is about: its usual values are those of the paper for the graph's name."""
    if callable(split):
        return Target(graph, split, partial(Config.for_dataset, graph.name))
    check_given(graph, split)
    return Target(graph, lambda trials, seed: split, partial(Config.for_dataset, graph.name))


def table_target(nodes: Source, edges: Source, columns: Columns, options: FitOptions, device: str = "auto") -> Target:
    """Read tables and return what a search on them is about; labels of a given test set are not even there.

    On the device, points train in mini-batches where the candidates of a fit would.
    """
    tables = limited(nodes, options.limit), limited(edges, options.limit)
    problem = read_problem(*tables, columns, ignore_unknown=options.ignore_unknown)
    graph = problem.learned

    def make(method: str = STEADY, **given: Any) -> Config:
        if method in METHODS and METHODS[method].baseline:
            raise ConfigError(f"`method` must be one that trains a network, not {method!r}")
        return config_on(device, graph, method, **given)

    return Target(graph, problem.splits, make, problem.task, of_tables=True)


def balanced_settings(options: FitOptions) -> dict[str, Any]:
    """Return the hyperparameters that make every class count the same, if that is wanted."""
    return options.settings() | ({"select_by": options.metric} if options.balanced else {})


def space_for(target: Target, space: GivenSpace, fixed: Mapping[str, Any]) -> Space:
    """Return the space of a search: a given one, read and checked, or the usual one for the graph and the method.

    Raises:
        ConfigError: the space is invalid or empty.
    """
    if isinstance(space, Path | str):
        return read_space(Path(space))
    if space is not None:
        plain = {name: each.to_toml() if isinstance(each, Choices | Interval) else each for name, each in space.items()}
        return parse_space(plain)
    found = usual_space(
        target.make, {name: value for name, value in fixed.items() if value is not None}, _suits(target)
    )
    if not found:
        raise ConfigError("the space is empty: every hyperparameter that the usual space varies is given")
    return found


def _suits(target: Target) -> Callable[[Config], bool]:
    def suits(config: Config) -> bool:
        try:
            check_edge_weights(target.graph, config)
        except ConfigError:
            return False
        return True

    return suits


def _tune(
    target: Target,
    space: GivenSpace,
    options: TuneOptions | None,
    out: Path | str | None,
    watch: TuneWatcher | None,
    executor: Executor,
    settings: dict[str, Any],
) -> TuneResult:
    for name in ("trials", "seed"):
        if settings.get(name) is not None:
            raise ConfigError(f"`{name}` is an option of a search; give it in `options`")
    options = TuneOptions() if options is None else options
    given: object = options
    if not isinstance(given, TuneOptions):
        raise ConfigError(f"`options` must be a graphmix.TuneOptions, not {type(given).__name__}")
    if out is not None:
        check_search(Path(out), options.study_of(target.graph.name))
    found = search(target, space_for(target, space, settings), settings, options, watch=watch, executor=executor)
    if out is not None:
        write_tuned(found, Path(out))
    return found


def check_search(folder: Path, study: str) -> None:
    """Raise RunError if a folder holds the search of another study, whose results would be replaced."""
    if not (folder / TUNED).exists():
        return
    held = read_file(TuneResult, folder / TUNED, formats.TUNED).study
    if held != study:
        raise RunError(f"{folder} holds a search with the study {name_for_screen(held)!r}; choose another `out`")


def write_tuned(found: TuneResult, folder: Path) -> None:
    """Write what a search found into a folder: tune.json, and best.toml once a point is done."""
    make_folder(folder)
    write_json(folder / TUNED, to_json(found))
    if found.best is not None:
        write_text(folder / BEST, config_text(found.best_settings, config_comments(found)))
