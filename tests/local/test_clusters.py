"""Clusters of EMR: the very adapter of the Lambdas against the local cloud."""

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from lambdas.adapters.emr import EmrClusters
from lambdas.core.ends.clusters import Cluster, in_order
from local import endpoints
from local.cloud import LocalCloud
from local.patches.clusters import PAGE
from tests.local.assembly import HOME, OTHER
from tests.local.conftest import Acting

CORE = PAGE + 1
"""So many that they are told on two pages."""


def find(cloud: LocalCloud, cluster_id: str, region: str = HOME) -> Cluster | None:
    return EmrClusters(cloud.client("emr", region)).find(cluster_id)


def serving(cloud: LocalCloud, cluster_id: str, instances: int) -> Cluster:
    """The cluster once so many of its instances run."""

    def look() -> Cluster | None:
        found = find(cloud, cluster_id)
        return found if found is not None and len(found.instances) == instances else None

    found: Cluster = cloud.wait_for(look, 30)
    return found


def instances_of(cloud: LocalCloud, cluster_id: str, role: str) -> set[str]:
    """As EC2 tells them by EMR's tags."""
    wanted = {"job-flow-id": cluster_id, "instance-group-role": role}
    tags = [{"Name": f"tag:aws:elasticmapreduce:{key}", "Values": [value]} for key, value in wanted.items()]
    found = cloud.client("ec2").describe_instances(Filters=tags)["Reservations"]
    return {one["InstanceId"] for reservation in found for one in reservation["Instances"]}


@pytest.fixture(scope="module")
def cluster_id(cloud: LocalCloud) -> Iterator[str]:
    """A cluster with a primary instance, core instances on more than one page, and a task instance."""
    made = endpoints.launch_cluster(cloud.client, HOME, "probe", core=CORE, task=1)
    yield made
    cloud.client("emr").terminate_job_flows(JobFlowIds=[made])


def test_core_and_task_instances_of_a_cluster_are_found_and_its_primary_is_not(
    cloud: LocalCloud, cluster_id: str
) -> None:
    found = serving(cloud, cluster_id, CORE + 1)
    assert found.state == "WAITING"
    core, task = (instances_of(cloud, cluster_id, role) for role in ("CORE", "TASK"))
    assert in_order(found.instances) == [*sorted(core), *task]
    assert len(core | task | instances_of(cloud, cluster_id, "MASTER")) == CORE + 2


def test_a_cluster_of_instance_fleets_is_found_as_well(cloud: LocalCloud) -> None:
    fleets = [
        {
            "InstanceFleetType": role,
            "TargetOnDemandCapacity": count,
            "InstanceTypeConfigs": [{"InstanceType": "t3.small"}],
        }
        for role, count in (("MASTER", 1), ("CORE", 1), ("TASK", 2))
    ]
    made: str = cloud.client("emr").run_job_flow(
        Name="fleets",
        Instances={"KeepJobFlowAliveWhenNoSteps": True, "InstanceFleets": fleets},
        JobFlowRole=endpoints.endpoint_profile(cloud.client("iam")).rsplit("/", 1)[-1],
        ServiceRole="EMR_DefaultRole",
    )["JobFlowId"]
    found = serving(cloud, made, 3)
    assert [one.role for one in found.instances] == ["CORE", "TASK", "TASK"]
    assert {one.group[:3] for one in found.instances} == {"if-"}
    with pytest.raises(ClientError, match="mutually exclusive"):
        cloud.client("emr").list_instances(ClusterId=made, InstanceGroupTypes=["CORE"])
    cloud.client("emr").terminate_job_flows(JobFlowIds=[made])


def test_a_cluster_that_shrinks_grows_or_ends_tells_those_that_run(cloud: LocalCloud) -> None:
    emr = cloud.client("emr")
    made = endpoints.launch_cluster(cloud.client, HOME, "resized", core=2)
    gone, stays = in_order(serving(cloud, made, 2).instances)
    [group] = [one for one in emr.list_instance_groups(ClusterId=made)["InstanceGroups"] if one["Name"] == "CORE"]
    emr.modify_instance_groups(
        ClusterId=made,
        InstanceGroups=[{"InstanceGroupId": group["Id"], "InstanceCount": 1, "EC2InstanceIdsToTerminate": [gone]}],
    )
    assert in_order(serving(cloud, made, 1).instances) == [stays]
    emr.modify_instance_groups(ClusterId=made, InstanceGroups=[{"InstanceGroupId": group["Id"], "InstanceCount": 2}])
    assert gone not in in_order(serving(cloud, made, 2).instances)
    emr.terminate_job_flows(JobFlowIds=[made])
    found = find(cloud, made)
    assert found is not None
    assert found in (Cluster("TERMINATING"), Cluster("TERMINATED"))


def test_a_cluster_whose_instances_cannot_be_launched_ends_with_errors(cloud: LocalCloud) -> None:
    made = cloud.client("emr").run_job_flow(
        Name="refused",
        Instances={
            "KeepJobFlowAliveWhenNoSteps": True,
            "InstanceCount": 2,
            "MasterInstanceType": "t3.small",
            "SlaveInstanceType": "t3.small",
        },
        JobFlowRole="nobody-has-this-profile",
        ServiceRole="EMR_DefaultRole",
    )["JobFlowId"]
    assert find(cloud, made) == Cluster("TERMINATED_WITH_ERRORS")


def test_of_one_that_is_not_there_or_elsewhere_nothing_is_found(cloud: LocalCloud, cluster_id: str) -> None:
    assert find(cloud, "j-0ABCDEFGHIJKL") is None
    assert find(cloud, cluster_id, OTHER) is None


def test_both_calls_are_asked_for_the_cluster_that_is_named(cloud: LocalCloud, cluster_id: str, acting: Acting) -> None:
    serving(cloud, cluster_id, CORE + 1)

    def statement(action: str, resource: str) -> dict[str, Any]:
        arn = f"arn:aws:elasticmapreduce:*:*:cluster/{resource}"
        return {"Effect": "Allow", "Action": f"elasticmapreduce:{action}", "Resource": arn}

    both = [statement("DescribeCluster", cluster_id), statement("ListInstances", cluster_id)]
    found = EmrClusters(acting(both, "emr")).find(cluster_id)
    assert found is not None
    assert len(found.instances) == CORE + 1
    for lacking in ([both[0]], [both[1]], [statement("*", "j-0ABCDEFGHIJKL")]):
        with pytest.raises(ClientError, match="AccessDenied"):
            EmrClusters(acting(lacking, "emr")).find(cluster_id)
