"""Where work runs: in this process, or on Ray. All that goes side by side goes through here.

A `Job` is a pure function and its arguments. An `Executor` runs jobs and yields each as it ends:

    with open_executor("ray", address) as executor:
        shared = executor.share(prepare, graph, split)
        jobs = (Job(train_one, (shared, method), name=method) for method in methods)
        for done in executor.finished(jobs):
            results[done.place] = done.get()

`graphmix train` has a job for each batch of trials, `fit` one for each candidate, `reproduce` and `select` one for each
cell, `tune` one for each point. Jobs are drawn one by one, when a worker is free, so a generator can choose its next
job by the results so far, as `tune` does.

The function of a job belongs to a module, takes `tell` as its last argument, and calls `tell` with how far it is.
"""

from graphmix.errors import WorkerLostError
from graphmix.executors.executor import Executor, Finished, Job
from graphmix.executors.local import LOCAL, Local, check_stop, side_by_side
from graphmix.executors.opening import EXECUTORS, check_executor, open_executor

__all__ = [
    "EXECUTORS",
    "LOCAL",
    "Executor",
    "Finished",
    "Job",
    "Local",
    "WorkerLostError",
    "check_executor",
    "check_stop",
    "open_executor",
    "side_by_side",
]
