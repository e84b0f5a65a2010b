"""One Ray for all tests, with two workers."""

import os
from pathlib import Path

import pytest

TESTS = Path(__file__).parent.parent


@pytest.fixture(scope="session")
def ray_executor():
    """The executor ray, on a Ray of two cores that is started for the tests."""
    pytest.importorskip("ray")
    from graphmix.executors import open_executor, ray_cluster

    with pytest.MonkeyPatch.context() as patch:
        # Workers import the functions of jobs.
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH")])))
        patch.setitem(ray_cluster.OWN, "num_cpus", 2)
        patch.setitem(ray_cluster.OWN, "object_store_memory", 80 * 2**20)
        with open_executor("ray") as executor:
            yield executor


@pytest.fixture
def address(ray_executor):
    """The address of that Ray, for other processes."""
    import ray

    return ray.get_runtime_context().gcs_address
