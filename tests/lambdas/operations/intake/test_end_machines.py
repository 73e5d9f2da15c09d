"""A cluster of EMR at an end: its instances are found when the request is accepted."""

from dataclasses import replace
from typing import Any

import pytest

from lambdas.core.ends.clusters import Cluster, ClusterInstance
from lambdas.core.errors import InvalidRequest
from lambdas.operations.intake.acceptance import Accepted, accept
from tests.lambdas.buckets import ALLOWED, bucket
from tests.lambdas.builders import DESTINATION_ID, IRELAND, SOURCE_ID, WEST
from tests.lambdas.cloud import Cloud
from tests.lambdas.hdfs import CLUSTER, OTHER_CLUSTER, hdfs_destination, hdfs_source, instances, of_cluster
from tests.lambdas.many import machine_ids, many, with_machines

CORE, TASK = machine_ids(SOURCE_ID, 2), machine_ids(SOURCE_ID, 4)[2:]
THERE = machine_ids(DESTINATION_ID, 3)
FROM_CLUSTER = {"source": of_cluster(hdfs_source()), "destination": hdfs_destination(1)}


def with_clusters(state: str = "WAITING", **settings: Any) -> Cloud:
    """Two core and two task instances in the West, three core instances in Ireland; all of them run."""
    cloud = with_machines(many(4, 3), Cloud(**settings))
    cloud.clusters[WEST].known[CLUSTER] = Cluster(state, instances(CORE, TASK))
    cloud.clusters[IRELAND].known[OTHER_CLUSTER] = Cluster("RUNNING", instances(THERE))
    return cloud


def seated(accepted: Accepted) -> tuple[list[str], list[str]]:
    """Machines of the senders, and of the receivers."""
    senders, receivers = (
        [seat.machine.instance_id for seat in seats] for seats in (accepted.senders, accepted.receivers)
    )
    return senders, receivers


def refused(cloud: Cloud, **asked: Any) -> list[str]:
    with pytest.raises(InvalidRequest) as error:
        accept({**FROM_CLUSTER, **asked}, cloud.world)
    return error.value.problems


@pytest.mark.parametrize("state", ["WAITING", "RUNNING"])
def test_workers_are_those_of_the_cluster_as_if_they_had_been_named(state: str) -> None:
    cloud = with_clusters(state)
    found = accept(FROM_CLUSTER, cloud.world)
    named = accept({"source": hdfs_source(4), "destination": hdfs_destination(1)}, cloud.world)
    assert seated(found) == seated(named) == ([*CORE, *TASK], [DESTINATION_ID])
    assert found.request.source.machine_words == f"{', '.join([*CORE, TASK[0]])} and {TASK[1]} of {CLUSTER}"
    assert found.request.source.to_document() == {**named.request.source.to_document(), "clusterId": CLUSTER}
    assert type(found.request).from_document(found.request.to_document()) == found.request
    assert cloud.clusters[WEST].asked == [CLUSTER]


def test_both_ends_may_be_clusters() -> None:
    asked = {"source": of_cluster(hdfs_source()), "destination": of_cluster(hdfs_destination(), OTHER_CLUSTER)}
    assert seated(accept(asked, with_clusters().world)) == ([*CORE, *TASK], THERE)


def test_beside_a_bucket_each_worker_of_a_cluster_sends_and_receives() -> None:
    asked = {"source": of_cluster(hdfs_source()), "destination": bucket()}
    assert seated(accept(asked, with_clusters(buckets=ALLOWED).world)) == ([*CORE, *TASK], [*CORE, *TASK])


def test_where_links_are_measured_one_worker_does_it() -> None:
    assert seated(accept({**FROM_CLUSTER, "profile": "measure"}, with_clusters().world)) == ([CORE[0]], [THERE[0]])


def test_a_later_request_finds_the_workers_of_then() -> None:
    cloud = with_clusters()
    accept(FROM_CLUSTER, cloud.world)
    cloud.clusters[WEST].known[CLUSTER] = Cluster("WAITING", instances(CORE[1:], TASK[:1]))
    assert seated(accept(FROM_CLUSTER, cloud.world))[0] == [CORE[1], TASK[0]]


def test_those_that_cannot_serve_are_left_out_and_others_take_their_place() -> None:
    cloud = with_clusters()
    machines = cloud.compute[WEST].machines
    machines[CORE[0]].instance = replace(machines[CORE[0]].instance, state="shutting-down")
    machines[TASK[0]].agent = False
    cloud.clusters[WEST].known[CLUSTER] = Cluster(
        "WAITING", (*instances(CORE, TASK), ClusterInstance("i-0dddddddddddddddd", "CORE", "ig-CORE"))
    )
    assert seated(accept(FROM_CLUSTER, cloud.world))[0] == [CORE[1], TASK[1]]


def test_where_consent_is_required_those_serve_that_have_it() -> None:
    cloud = with_clusters(require_consent=True)
    (problem,) = refused(cloud)
    assert f"--region {WEST} --resources {CORE[0]} --tags" in problem
    for region, instance_id in ((WEST, TASK[1]), (IRELAND, DESTINATION_ID)):
        machine = cloud.compute[region].machines[instance_id]
        machine.instance = replace(machine.instance, end_of="cpt")
    assert seated(accept(FROM_CLUSTER, cloud.world)) == ([TASK[1]], [DESTINATION_ID])


def test_a_machine_that_the_request_names_for_something_else_is_no_worker_besides() -> None:
    cloud = with_clusters()
    asked = {
        "source": {**hdfs_source(1, region=IRELAND), "workers": [THERE[0]]},
        "destination": of_cluster(hdfs_destination(), OTHER_CLUSTER),
    }
    assert seated(accept(asked, cloud.world)) == ([THERE[0]], THERE[1:])
    cloud.clusters[IRELAND].known[OTHER_CLUSTER] = Cluster("RUNNING", instances(THERE[:1]))
    with pytest.raises(InvalidRequest) as error:
        accept(asked, cloud.world)
    (problem,) = error.value.problems
    assert problem.startswith(f"$.destination.clusterId: '{OTHER_CLUSTER}': the request names all of its instances")


@pytest.mark.parametrize(
    ("cluster", "words"),
    [
        (None, f"is not in {WEST}; name a cluster of that region"),
        (Cluster("TERMINATED"), "is TERMINATED; name a cluster that is RUNNING or WAITING"),
        (Cluster("STARTING"), "is STARTING; start the transfer once it is"),
        (Cluster("WAITING"), "has no core or task instance that is RUNNING"),
    ],
)
def test_a_cluster_without_workers_is_refused_by_its_field(cluster: Cluster | None, words: str) -> None:
    cloud = with_clusters()
    cloud.clusters[WEST].known = {} if cluster is None else {CLUSTER: cluster}
    (problem,) = refused(cloud)
    assert problem.startswith(f"$.source.clusterId: '{CLUSTER}' {words}")
    assert cloud.compute[WEST].launches == []


def test_a_cluster_of_which_none_can_serve_is_refused_with_what_keeps_the_first_of_them() -> None:
    cloud = with_clusters()
    for machine in cloud.compute[WEST].machines.values():
        machine.agent = False
    (problem,) = refused(cloud)
    assert problem.startswith(
        f"$.source.clusterId: '{CLUSTER}': none of 4 of its 4 running core and task instances can serve; '{CORE[0]}' "
        "does not answer SSM; install the SSM agent"
    )


def test_problems_of_both_clusters_are_told_at_once() -> None:
    cloud = with_clusters("TERMINATING")
    cloud.clusters[IRELAND].known = {}
    problems = refused(cloud, destination=of_cluster(hdfs_destination(), OTHER_CLUSTER))
    assert [problem.partition(": ")[0] for problem in problems] == ["$.source.clusterId", "$.destination.clusterId"]


def test_of_a_request_that_names_no_cluster_nobody_asks_emr() -> None:
    cloud = with_clusters()
    accept({"source": hdfs_source(2), "destination": hdfs_destination(2)}, cloud.world)
    assert [clusters.asked for clusters in cloud.clusters.values()] == [[], []]
