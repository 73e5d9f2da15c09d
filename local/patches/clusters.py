"""Clusters of EMR with instances behind them.

AWS: a cluster launches the instances of its groups or fleets with its tags and two of EMR's, is STARTING until they run
and TERMINATING until they are gone; ListInstances tells them by role and state, on pages; a cluster of instance fleets
takes no types of instance groups, nor the other way round; groups grow and shrink by ModifyInstanceGroups.
Emulator: has groups and fleets with counts and no instance, and no ListInstances; a cluster is WAITING at once.
Here a cluster is instances of EC2. No Hadoop is installed on them: local/hadoop does that.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable
from typing import Any

from local.endpoints import IMAGE
from local.patches.ec2.wire import Params
from local.patches.replace import override
from local.patches.upstream import ec2, emr, scoped_dict

# AWS says of no size. So small a page has a cluster of tests listed on several.
PAGE = 3
_ROLES = {"MASTER": "Master", "CORE": "Slave", "TASK": "Slave"}
_STATES = {"pending": "PROVISIONING", "running": "RUNNING"}
_UNTOLD = ("InstanceFleets", "InstanceGroups", "BootstrapActions")
_LAUNCHED = re.compile(rb"<instanceId>(i-[0-9a-f]+)</instanceId>")
_run_job_flow: Callable[[dict[str, Any]], Any] = emr._run_job_flow
_terminate_job_flows: Callable[[dict[str, Any]], Any] = emr._terminate_job_flows
_modify_instance_groups: Callable[[dict[str, Any]], Any] = emr._modify_instance_groups
_launched: Any = scoped_dict()
"""By cluster: what RunJobFlow was asked for, and its instances, the terminated ones too."""


def install() -> None:
    """Launch and terminate instances, and list them."""
    override(
        emr,
        _HANDLERS={
            **emr._HANDLERS,
            "RunJobFlow": run_job_flow,
            "DescribeCluster": describe_cluster,
            "ListInstances": list_instances,
            "ModifyInstanceGroups": modify_instance_groups,
            "TerminateJobFlows": terminate_job_flows,
        },
    )


def run_job_flow(data: dict[str, Any]) -> Any:
    """RunJobFlow."""
    answer = _run_job_flow(data)
    made = json.loads(answer[2])
    if "JobFlowId" not in made:
        return answer
    cluster = emr._clusters[made["JobFlowId"]]
    _launched[cluster["Id"]] = {"asked": data, "instances": []}
    for group in cluster["InstanceGroups"]:
        _launch(cluster, group, group["InstanceGroupType"], group["InstanceType"], group["RequestedInstanceCount"])
    for fleet in cluster["InstanceFleets"]:
        types = fleet["InstanceTypeSpecifications"] or [{}]
        count = fleet["TargetOnDemandCapacity"] + fleet["TargetSpotCapacity"]
        _launch(cluster, fleet, fleet["InstanceFleetType"], types[0].get("InstanceType", "m5.xlarge"), count)
    return answer


def describe_cluster(data: dict[str, Any]) -> Any:
    """DescribeCluster."""
    cluster = emr._clusters.get(data["ClusterId"])
    if cluster is None:
        return _not_valid(data["ClusterId"])
    told = {key: value for key, value in cluster.items() if key not in _UNTOLD}
    status = {**cluster["Status"], "State": _state(cluster)}
    if not status["StateChangeReason"].get("Code"):
        status["StateChangeReason"] = {}
    return emr.json_response({"Cluster": {**told, "Status": status}})


def list_instances(data: dict[str, Any]) -> Any:
    """ListInstances."""
    cluster = emr._clusters.get(data["ClusterId"])
    if cluster is None:
        return _not_valid(data["ClusterId"])
    has_fleets = cluster["InstanceCollectionType"] == "INSTANCE_FLEET"
    others = ("InstanceGroupId", "InstanceGroupTypes") if has_fleets else ("InstanceFleetId", "InstanceFleetType")
    if data.keys() & set(others):
        uses = "instance fleets" if has_fleets else "instance groups"
        return emr.error_response_json(
            "InvalidRequestException",
            "Instance fleets and instance groups are mutually exclusive. The EMR cluster specified in the request uses "
            f"{uses}.",
            400,
        )
    fleet = [data["InstanceFleetType"]] if "InstanceFleetType" in data else []
    roles = data.get("InstanceGroupTypes") or fleet or list(_ROLES)
    places = [data[key] for key in ("InstanceGroupId", "InstanceFleetId") if key in data]
    found = [
        _told(one, has_fleets=has_fleets)
        for one in _launched[cluster["Id"]]["instances"]
        if one["role"] in roles and (not places or one["group"] in places)
    ]
    states = data.get("InstanceStates") or [*_STATES.values(), "TERMINATED"]
    found = [one for one in found if one["Status"]["State"] in states]
    start = int(data.get("Marker") or 0)
    more = {"Marker": str(start + PAGE)} if start + PAGE < len(found) else {}
    return emr.json_response({"Instances": found[start : start + PAGE], **more})


def modify_instance_groups(data: dict[str, Any]) -> Any:
    """ModifyInstanceGroups: the instances that are named go, or the last ones; or others come."""
    cluster = emr._clusters.get(data.get("ClusterId"))
    answer = _modify_instance_groups(data)
    for asked in data.get("InstanceGroups", []) if cluster else []:
        group = next((one for one in cluster["InstanceGroups"] if one["Id"] == asked["InstanceGroupId"]), None)
        if group is None:
            continue
        there = [one["instance"] for one in _alive(cluster) if one["group"] == group["Id"]]
        gone = asked.get("EC2InstanceIdsToTerminate", [])
        count = asked.get("InstanceCount", len(there) - len(gone))
        if excess := len(there) - len(gone) - count:
            gone = gone + [one for one in there if one not in gone][-excess:] if excess > 0 else gone
            _launch(cluster, group, group["InstanceGroupType"], group["InstanceType"], max(-excess, 0))
        _terminate(gone)
    return answer


def terminate_job_flows(data: dict[str, Any]) -> Any:
    """TerminateJobFlows."""
    answer = _terminate_job_flows(data)
    for cluster_id in data.get("JobFlowIds", []):
        cluster = emr._clusters.get(cluster_id)
        if cluster is not None and cluster["Status"]["State"] == "TERMINATED":
            _terminate([one["instance"] for one in _alive(cluster)])
    return answer


def _launch(cluster: dict[str, Any], group: dict[str, Any], role: str, instance_type: str, count: int) -> None:
    """Have EC2 launch instances as EMR does; where it refuses, the cluster ends with errors."""
    if not count:
        return
    asked = _launched[cluster["Id"]]["asked"]
    network, kind = asked.get("Instances", {}), _ROLES[role]
    groups = [network.get(f"EmrManaged{kind}SecurityGroup"), *network.get(f"Additional{kind}SecurityGroups", [])]
    tags = {
        **{tag["Key"]: tag["Value"] for tag in cluster["Tags"]},
        "aws:elasticmapreduce:job-flow-id": cluster["Id"],
        "aws:elasticmapreduce:instance-group-role": role,
    }
    params: dict[str, str] = {
        "ImageId": asked.get("CustomAmiId") or IMAGE,
        "InstanceType": instance_type,
        "MinCount": str(count),
        "MaxCount": str(count),
        "SubnetId": network.get("Ec2SubnetId") or next(iter(network.get("Ec2SubnetIds", [])), ""),
        "IamInstanceProfile.Name": cluster["Ec2InstanceAttributes"]["IamInstanceProfile"],
        "TagSpecification.1.ResourceType": "instance",
    }
    for number, group_id in enumerate(filter(None, groups), 1):
        params[f"SecurityGroupId.{number}"] = group_id
    for number, (key, value) in enumerate(tags.items(), 1):
        params |= {f"TagSpecification.1.Tag.{number}.Key": key, f"TagSpecification.1.Tag.{number}.Value": value}
    status, _, body = ec2._ACTION_MAP["RunInstances"](_query(params))
    if status != 200:
        cluster["Status"]["State"] = "TERMINATED_WITH_ERRORS"
        cluster["Status"]["StateChangeReason"] = {"Code": "VALIDATION_ERROR", "Message": body.decode()}
        _terminate([one["instance"] for one in _alive(cluster)])
        return
    _launched[cluster["Id"]]["instances"] += [
        {
            "id": f"ci-{secrets.token_hex(7).upper()[:13]}",
            "role": role,
            "group": group["Id"],
            "instance": found.decode(),
        }
        for found in _LAUNCHED.findall(body)
    ]


def _terminate(instance_ids: list[str]) -> None:
    if instance_ids:
        ids = {f"InstanceId.{number}": one for number, one in enumerate(instance_ids, 1)}
        ec2._ACTION_MAP["TerminateInstances"](_query(ids))


def _query(params: dict[str, str]) -> Params:
    """As a form gives it."""
    return {name: [value] for name, value in params.items()}


def _alive(cluster: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for one in _launched[cluster["Id"]]["instances"] if _state_of(one["instance"]) in _STATES]


def _state_of(instance_id: str) -> str:
    """EC2's, which forgets an instance some time after its end."""
    return str(ec2._instances[instance_id]["State"]["Name"]) if instance_id in ec2._instances else "terminated"


def _state(cluster: dict[str, Any]) -> str:
    known, instances = str(cluster["Status"]["State"]), _launched[cluster["Id"]]["instances"]
    states = {_state_of(one["instance"]) for one in instances}
    if known == "TERMINATED":
        return known if states <= {"terminated"} else "TERMINATING"
    primary = {_state_of(one["instance"]) for one in instances if one["role"] == "MASTER"}
    return "STARTING" if known == "WAITING" and "pending" in primary else known


def _told(one: dict[str, Any], *, has_fleets: bool) -> dict[str, Any]:
    record = ec2._instances.get(one["instance"], {})
    addresses = {
        "PublicIpAddress": record.get("PublicIpAddress"),
        "PrivateIpAddress": record.get("PrivateIpAddress"),
    }
    return {
        "Id": one["id"],
        "Ec2InstanceId": one["instance"],
        **{name: value for name, value in addresses.items() if value},
        "Status": {
            "State": _STATES.get(_state_of(one["instance"]), "TERMINATED"),
            "StateChangeReason": {},
            "Timeline": {},
        },
        ("InstanceFleetId" if has_fleets else "InstanceGroupId"): one["group"],
        "Market": "ON_DEMAND",
        "InstanceType": record.get("InstanceType", ""),
        "EbsVolumes": [],
    }


def _not_valid(cluster_id: str) -> Any:
    return emr.error_response_json("InvalidRequestException", f"Cluster id '{cluster_id}' is not valid.", 400)
