"""A cluster of EMR that a request names is looked for, and its workers are looked at as if they had been named."""

from collections.abc import Iterator
from typing import Any, cast

import boto3
import pytest
from moto import mock_aws

from cli.aws import Aws
from cli.doctor.clusters import Clusters
from cli.doctor.finding import Finding
from lambdas.core.request.request import TransferRequest
from tests.cli.doctor.test_machine import WEST, Account
from tests.lambdas.hdfs import CLUSTER, hdfs_destination, hdfs_source, of_cluster


@pytest.fixture
def emr() -> Iterator[Any]:
    """EMR of moto, whose instances run at once."""
    with mock_aws():
        yield boto3.client("emr", region_name=WEST)


def cluster(emr: Any, core: int) -> str:
    groups = [{"InstanceRole": "MASTER", "InstanceType": "m5.xlarge", "InstanceCount": 1}]
    groups += [{"InstanceRole": "CORE", "InstanceType": "m5.xlarge", "InstanceCount": core}] if core else []
    instances = {"KeepJobFlowAliveWhenNoSteps": True, "InstanceGroups": groups}
    return str(emr.run_job_flow(Name="probe", Instances=instances)["JobFlowId"])


def looked_at(cluster_id: str, **keys: Any) -> tuple[list[Finding], TransferRequest]:
    asked = {"source": of_cluster(hdfs_source(), cluster_id), "destination": hdfs_destination(2), **keys}
    clusters = Clusters(cast(Aws, Account()), TransferRequest.from_document(asked))
    return list(clusters.looked_at()), clusters.request


def test_its_core_instances_are_its_workers_as_many_as_there_is_room_for(emr: Any) -> None:
    made = cluster(emr, core=14)
    (found,), request = looked_at(made)
    assert (found.status, found.about) == ("ok", f"source {made} ({WEST})")
    assert found.message == "WAITING, 14 instances that may serve"
    told = emr.list_instances(ClusterId=made, InstanceGroupTypes=["CORE"])["Instances"]
    assert list(request.source.machine_ids) == sorted(one["Ec2InstanceId"] for one in told)[:10]
    assert request.source.field_of(3) == "clusterId"


def test_one_that_is_not_there_has_ended_or_has_no_worker_is_named(emr: Any) -> None:
    (found,), request = looked_at(CLUSTER)
    assert (found.status, request.source.machine_ids) == ("failed", ())
    assert found.message == f"'{CLUSTER}' is not in {WEST}; name a cluster of that region, or correct the region"
    (found,), _ = looked_at(cluster(emr, core=0))
    assert "has no core or task instance that is RUNNING" in found.message
    ended = cluster(emr, core=1)
    emr.terminate_job_flows(JobFlowIds=[ended])
    (found,), _ = looked_at(ended)
    assert f"'{ended}' is TERMINATED; name a cluster" in found.message


def test_a_request_that_names_workers_has_none_looked_for() -> None:
    asked = TransferRequest.from_document({"source": hdfs_source(2), "destination": hdfs_destination(2)})
    clusters = Clusters(cast(Aws, None), asked)
    assert list(clusters.looked_at()) == []
    assert clusters.request == asked
