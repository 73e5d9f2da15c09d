"""Which instances of a cluster of EMR work for an end, and why one has none."""

from random import Random

import pytest

from lambdas.core.ends.clusters import Cluster, ClusterInstance, in_order, problem
from tests.lambdas.builders import SOURCE_ID, WEST
from tests.lambdas.hdfs import CLUSTER, instances
from tests.lambdas.many import machine_ids

CORE, TASK = machine_ids(SOURCE_ID, 3), machine_ids("i-0dddddddddddddd01", 4)


def test_core_instances_serve_first_and_of_task_instances_one_of_each_group_in_turn() -> None:
    found = (
        *instances((), TASK[:1], "ig-B"),
        *instances(CORE, TASK[1:], "ig-A"),
    )
    assert in_order(found) == [*CORE, TASK[1], TASK[0], TASK[2], TASK[3]]


def test_the_same_instances_come_in_the_same_order() -> None:
    found, order = list(instances(CORE, TASK)), in_order(instances(CORE, TASK))
    for seed in range(5):
        Random(seed).shuffle(found)
        assert in_order(found) == order


def test_what_the_request_names_for_something_else_is_no_worker_besides() -> None:
    assert in_order(instances(CORE, TASK), {CORE[0], TASK[0]}) == [*CORE[1:], *TASK[1:]]
    assert in_order(instances(CORE), CORE) == []


@pytest.mark.parametrize("state", ["RUNNING", "WAITING"])
def test_a_cluster_that_serves_has_workers(state: str) -> None:
    assert problem(CLUSTER, WEST, Cluster(state, (ClusterInstance(SOURCE_ID, "TASK", "if-1"),))) is None


@pytest.mark.parametrize(
    ("cluster", "words"),
    [
        (None, f"'{CLUSTER}' is not in {WEST}; name a cluster of that region, or correct the region"),
        (Cluster("STARTING"), f"'{CLUSTER}' is STARTING; start the transfer once it is RUNNING or WAITING"),
        (Cluster("BOOTSTRAPPING"), f"'{CLUSTER}' is BOOTSTRAPPING; start the transfer once it is RUNNING or WAITING"),
        (Cluster("TERMINATING"), f"'{CLUSTER}' is TERMINATING; name a cluster that is RUNNING or WAITING"),
        (Cluster("TERMINATED"), f"'{CLUSTER}' is TERMINATED; name a cluster that is RUNNING or WAITING"),
        (Cluster("TERMINATED_WITH_ERRORS"), f"'{CLUSTER}' is TERMINATED_WITH_ERRORS; name a cluster that is RUNNING"),
        (Cluster("WAITING"), f"'{CLUSTER}' has no core or task instance that is RUNNING; add one to it, or name inst"),
    ],
)
def test_a_cluster_without_workers_is_refused_with_what_would_be_right(cluster: Cluster | None, words: str) -> None:
    assert str(problem(CLUSTER, WEST, cluster)).startswith(words)
