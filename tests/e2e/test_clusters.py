"""A cluster of EMR at an end: its instances become workers, and one that cannot serve is refused before anything is."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from local import endpoints
from tests.e2e.account import END_TYPE, HOME, Account, Run

CORE, TASK = 2, 1


@pytest.fixture
def cluster_id(account: Account) -> Iterator[str]:
    """A cluster whose core and task instances can be ends; no Hadoop is on them."""
    made = endpoints.launch_cluster(account.cloud.client, HOME, "emr", core=CORE, task=TASK, instance_type=END_TYPE)
    yield made
    account.cloud.client("emr", HOME).terminate_job_flows(JobFlowIds=[made])


def running(account: Account, cluster_id: str, role: str) -> list[str]:
    """Instances of the cluster that EMR says run."""
    emr = account.cloud.client("emr", HOME)
    found = emr.list_instances(ClusterId=cluster_id, InstanceGroupTypes=[role], InstanceStates=["RUNNING"])
    return sorted(one["Ec2InstanceId"] for one in found["Instances"])


def workers(account: Account, cluster_id: str) -> list[str]:
    """Its core and its task instances once all of them run and answer."""
    counts = {"CORE": CORE, "TASK": TASK}
    ids: list[str] = account.cloud.wait_for(
        lambda: (
            found
            if len(found := [one for role in counts for one in running(account, cluster_id, role)]) == CORE + TASK
            else None
        ),
        60,
    )
    for instance_id in ids:
        account.cloud.wait_online(HOME, instance_id)
    return ids


def asked(account: Account, cluster_id: str) -> dict[str, Any]:
    """From the cluster's HDFS onto the destination VM."""
    source = {"kind": "hdfs", "clusterId": cluster_id, "region": HOME, "user": "hadoop", "paths": ["/in"]}
    return {**account.request("/in", "/out"), "source": source}


def run(account: Account, cluster_id: str, name: str) -> Run:
    return account.run(asked(account, cluster_id), name)


def test_the_transfer_has_the_clusters_workers_and_the_survey_asks_them(account: Account, cluster_id: str) -> None:
    there = workers(account, cluster_id)
    found = run(account, cluster_id, "of-a-cluster")
    # They have no Hadoop: so much the survey finds, on the workers themselves.
    assert found.status == "FAILED"
    assert found.cause is not None
    assert there[0] in found.cause
    assert "core-site.xml" in found.cause
    assert "a worker of HDFS has the configuration of its cluster there" in found.cause
    record = account.record("of-a-cluster", "transfer") or {}
    assert [seat["machine"]["instanceId"] for seat in record["source"]] == there
    asked = record["request"]["source"]
    assert (asked["clusterId"], asked["workers"]) == (cluster_id, there)
    assert found.report["request"]["source"] == asked


def test_an_estimate_is_made_for_the_clusters_workers(account: Account, cluster_id: str) -> None:
    workers(account, cluster_id)
    event = {"request": asked(account, cluster_id), "sizeBytes": 10**9}
    answer = account.aws.client("lambda").invoke(FunctionName="cpt-estimate-request", Payload=json.dumps(event))
    estimate = json.loads(answer["Payload"].read())
    assert "FunctionError" not in answer, estimate
    assert estimate["figures"]["machines"] == [CORE + TASK, 1]


def test_a_cluster_that_lost_an_instance_has_the_others_next_time(account: Account, cluster_id: str) -> None:
    lost, *left = workers(account, cluster_id)
    account.cloud.client("ec2", HOME).terminate_instances(InstanceIds=[lost])
    run(account, cluster_id, "of-fewer")
    record = account.record("of-fewer", "transfer") or {}
    assert record["request"]["source"]["workers"] == left


def test_one_that_is_not_there_or_has_ended_is_refused_by_its_field(account: Account) -> None:
    found = run(account, "j-0ABCDEFGHIJKL", "of-no-cluster")
    assert (found.status, found.error) == ("FAILED", "InvalidRequest")
    assert found.cause is not None
    assert f"$.source.clusterId: 'j-0ABCDEFGHIJKL' is not in {HOME}; name a cluster of that region" in found.cause
    made = endpoints.launch_cluster(account.cloud.client, HOME, "short", core=1, instance_type=END_TYPE)
    account.cloud.client("emr", HOME).terminate_job_flows(JobFlowIds=[made])
    found = run(account, made, "of-an-ended-cluster")
    assert (found.status, found.error) == ("FAILED", "InvalidRequest")
    assert f"$.source.clusterId: '{made}' is TERMINAT" in (found.cause or "")
    assert account.record("of-an-ended-cluster", "transfer") is None, "nothing was begun for it"
