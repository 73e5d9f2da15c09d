"""EC2's descriptions of instances.

AWS: DescribeInstances knows many filters and refuses unknown ones; a new instance may not be found for a moment; a
pending one has no public address; spot instances say so; descriptions carry interfaces.
Emulator: ignores filters it does not know (and so returns everything), and leaves these fields out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from local.patches.ec2.instance_types import cores_and_threads
from local.patches.ec2.wire import Params, Response, filters_of, matches, members, refuse
from local.patches.upstream import ec2

_instance_xml = ec2._instance_xml
_describe_instances: Any = ec2._ACTION_MAP["DescribeInstances"]


FILTERS: dict[str, Callable[[dict[str, Any]], list[str]]] = {
    "instance-id": lambda record: [record["InstanceId"]],
    "instance-state-name": lambda record: [record["State"]["Name"]],
    "instance-state-code": lambda record: [str(record["State"]["Code"])],
    "instance-type": lambda record: [record["InstanceType"]],
    "instance-lifecycle": lambda record: [record.get("InstanceLifecycle") or "on-demand"],
    "image-id": lambda record: [record["ImageId"]],
    "client-token": lambda record: [record.get("ClientToken", "")],
    "vpc-id": lambda record: [record["VpcId"]],
    "subnet-id": lambda record: [record["SubnetId"]],
    "availability-zone": lambda record: [record["Placement"]["AvailabilityZone"]],
    "private-ip-address": lambda record: [record["PrivateIpAddress"]],
    "ip-address": lambda record: [record["PublicIpAddress"]],
    "instance.group-id": lambda record: [group["GroupId"] for group in record["SecurityGroups"]],
    "iam-instance-profile.arn": lambda record: [(record.get("IamInstanceProfile") or {}).get("Arn", "")],
}
TAG_FILTERS = ("tag-key", "tag-value")


def install() -> None:
    """Replace the filters and complete the description."""
    ec2._matches_filters = _matches
    ec2._instance_xml = instance_xml
    ec2._ACTION_MAP["DescribeInstances"] = _describe


def instance_xml(record: dict[str, Any]) -> str:
    """The emulator's description and what it leaves out."""
    text = str(_instance_xml(record))
    for name in ("ipAddress", "dnsName", "privateIpAddress", "privateDnsName", "keyName"):
        text = text.replace(f"<{name}></{name}>", "")
    more = f"<clientToken>{ec2._esc(record.get('ClientToken', ''))}</clientToken>"
    cores, threads = cores_and_threads(record["InstanceType"])
    more += f"<cpuOptions><coreCount>{cores}</coreCount><threadsPerCore>{threads}</threadsPerCore></cpuOptions>"
    weighting = record.get("BandwidthWeighting", "default")
    more += (
        f"<networkPerformanceOptions><bandwidthWeighting>{weighting}</bandwidthWeighting></networkPerformanceOptions>"
    )
    if "StateReason" in record:
        code, message = record["StateReason"]
        more += f"<stateReason><code>{code}</code><message>{ec2._esc(message)}</message></stateReason>"
    if record.get("InstanceLifecycle"):
        more += f"<instanceLifecycle>{record['InstanceLifecycle']}</instanceLifecycle>"
    more += (
        "<metadataOptions><state>applied</state><httpTokens>required</httpTokens>"
        "<httpPutResponseHopLimit>1</httpPutResponseHopLimit><httpEndpoint>enabled</httpEndpoint></metadataOptions>"
    )
    groups = "".join(
        f"<item><groupId>{group['GroupId']}</groupId><groupName>{ec2._esc(group['GroupName'])}</groupName></item>"
        for group in record["SecurityGroups"]
    )
    public = record["PublicIpAddress"]
    association = f"<association><publicIp>{public}</publicIp><ipOwnerId>amazon</ipOwnerId></association>"
    more += (
        f"<networkInterfaceSet><item><networkInterfaceId>eni-{record['InstanceId'][2:]}</networkInterfaceId>"
        f"<subnetId>{record['SubnetId']}</subnetId><vpcId>{record['VpcId']}</vpcId><status>in-use</status>"
        f"<privateIpAddress>{record['PrivateIpAddress']}</privateIpAddress><groupSet>{groups}</groupSet>"
        f"<attachment><deviceIndex>0</deviceIndex><status>attached</status></attachment>"
        f"{association if public else ''}</item></networkInterfaceSet>"
    )
    end = text.rindex("</item>")
    return text[:end] + more + text[end:]


def _describe(params: Params) -> Response:
    for name in filters_of(params):
        if name not in FILTERS and name not in TAG_FILTERS and not name.startswith("tag:"):
            return refuse("InvalidParameterValue", f"The filter '{name}' is invalid")
    for instance_id in members(params, "InstanceId"):
        record = ec2._instances.get(instance_id)
        if record is not None and record.get("NotFoundAnswers", 0) > 0:
            record["NotFoundAnswers"] -= 1
            return refuse("InvalidInstanceID.NotFound", f"The instance ID '{instance_id}' does not exist")
    found: Response = _describe_instances(params)
    return found


def _matches(record: dict[str, Any], filters: dict[str, list[str]]) -> bool:
    if not ec2._resource_matches_tag_filters(record["InstanceId"], filters):
        return False
    return all(
        any(matches(wanted, actual) for actual in FILTERS[name](record) for wanted in values)
        for name, values in filters.items()
        if name in FILTERS
    )
