"""EMR: what answers mean that the local cloud does not give. tests/local runs the same adapter."""

from typing import Any

import pytest
from botocore.exceptions import ClientError

from lambdas.adapters.emr import EmrClusters
from lambdas.core.ends.clusters import Cluster, ClusterInstance, ClusterRole
from tests.lambdas.adapters.test_services import stub
from tests.lambdas.builders import SOURCE_ID
from tests.lambdas.hdfs import CLUSTER


def described(**more: Any) -> dict[str, Any]:
    return {"Cluster": {"Id": CLUSTER, "Status": {"State": "RUNNING"}, **more}}


def test_an_id_that_emr_does_not_know_is_no_cluster_and_no_other_refusal_is_taken_for_that() -> None:
    client, stubber = stub("emr")
    stubber.add_client_error("describe_cluster", "InvalidRequestException", f"Cluster id '{CLUSTER}' is not valid.")
    assert EmrClusters(client).find(CLUSTER) is None
    for code in ("AccessDeniedException", "ThrottlingException", "InternalServerException"):
        stubber.add_client_error("describe_cluster", code)
        with pytest.raises(ClientError, match=code):
            EmrClusters(client).find(CLUSTER)


@pytest.mark.parametrize(
    ("kind", "asked"),
    [
        ({"InstanceCollectionType": "INSTANCE_FLEET"}, lambda role: {"InstanceFleetType": role}),
        ({"InstanceCollectionType": "INSTANCE_GROUP"}, lambda role: {"InstanceGroupTypes": [role]}),
        ({}, lambda role: {"InstanceGroupTypes": [role]}),
    ],
)
def test_running_instances_are_asked_for_by_role_and_on_all_pages(kind: dict[str, str], asked: Any) -> None:
    client, stubber = stub("emr")
    stubber.add_response("describe_cluster", described(**kind), {"ClusterId": CLUSTER})
    ids = [f"{SOURCE_ID[:-1]}{number}" for number in range(3)]
    wanted = {"ClusterId": CLUSTER, "InstanceStates": ["RUNNING"]}
    group = "InstanceFleetId" if "InstanceFleetType" in asked("CORE") else "InstanceGroupId"
    core, task = ({**wanted, **asked(role)} for role in ("CORE", "TASK"))
    told = [{"Ec2InstanceId": one, group: "one"} for one in ids]
    stubber.add_response("list_instances", {"Instances": told[:1], "Marker": "more"}, core)
    stubber.add_response("list_instances", {"Instances": told[1:2]}, {**core, "Marker": "more"})
    stubber.add_response("list_instances", {"Instances": told[2:]}, task)
    roles: tuple[ClusterRole, ...] = ("CORE", "CORE", "TASK")
    expected = tuple(ClusterInstance(one, role, "one") for one, role in zip(ids, roles, strict=True))
    assert EmrClusters(client).find(CLUSTER) == Cluster("RUNNING", expected)
    stubber.assert_no_pending_responses()


@pytest.mark.parametrize("state", ["STARTING", "TERMINATING", "TERMINATED_WITH_ERRORS"])
def test_of_a_cluster_that_does_not_serve_no_instance_is_asked_for(state: str) -> None:
    client, stubber = stub("emr")
    stubber.add_response("describe_cluster", described(Status={"State": state}))
    assert EmrClusters(client).find(CLUSTER) == Cluster(state)
