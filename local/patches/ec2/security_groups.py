"""Security-group rules that count.

AWS: rules decide which packets arrive; a rule that exists is refused with InvalidPermission.Duplicate, one that does
not exist cannot be revoked (InvalidPermission.NotFound), and a group holds 60 rules each way. A rule that names a group
admits the instances that carry it at the moment.
Emulator: keeps the rules as records, accepts duplicates and unknown ones. Here each change is compiled to the firewall
of the instances that carry the group.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from local.facts import fact
from local.instances.firewall import Rule, ruleset
from local.instances.fleet import Fleet
from local.instances.model import Instance
from local.patches.ec2.wire import Params, Response, members, parameter, refuse
from local.patches.upstream import account_id, ec2, region_name

RULES_PER_GROUP = fact("security-group-rules")
INGRESS, EGRESS = SIDES = ("IpPermissions", "IpPermissionsEgress")
ACTIONS = {
    "AuthorizeSecurityGroupIngress": "IpPermissions",
    "AuthorizeSecurityGroupEgress": "IpPermissionsEgress",
    "RevokeSecurityGroupIngress": "IpPermissions",
    "RevokeSecurityGroupEgress": "IpPermissionsEgress",
}


def install(fleet: Fleet) -> None:
    """Check and compile rules."""
    for action, side in ACTIONS.items():
        ec2._ACTION_MAP[action] = _wrap(action, side, ec2._ACTION_MAP[action], fleet)
    fleet.before_running = lambda instance: _begin(fleet, instance)


def apply(fleet: Fleet, instance: Instance) -> None:
    """Compile the groups of one instance to its firewall."""
    fleet.backend.apply_rules(instance, ruleset(rules_of(instance, INGRESS), rules_of(instance, EGRESS)))


def apply_where_named(fleet: Fleet, instance: Instance, groups: Collection[str]) -> None:
    """Compile for an instance that has other groups now, and for those that admit `groups`, which it had or has."""
    for other in fleet.live():
        is_near = (other.account, other.region) == (instance.account, instance.region)
        if other is instance or (is_near and _named(other) & set(groups)):
            apply(fleet, other)


def _begin(fleet: Fleet, instance: Instance) -> None:
    apply_where_named(fleet, instance, [group["GroupId"] for group in _record(instance).get("SecurityGroups", [])])


def _named(instance: Instance) -> set[str]:
    """Groups that rules of the instance's own groups name."""
    return {
        pair.get("GroupId", "")
        for side in SIDES
        for permission in _permissions(instance, side)
        for pair in permission.get("UserIdGroupPairs") or []
    }


def _wrap(action: str, side: str, original: Any, fleet: Fleet) -> Any:
    def handle(params: Params) -> Response:
        group_id = parameter(params, "GroupId")
        group = ec2._security_groups.get(group_id)
        if group is not None and not members(params, "SecurityGroupRuleId"):
            for rule in ec2._parse_ip_permissions(params, "IpPermissions"):
                known = any(ec2._rules_match(rule, other) for other in group[side])
                if action.startswith("Authorize") and known:
                    return refuse("InvalidPermission.Duplicate", f"the specified rule already exists in {group_id}")
                if action.startswith("Revoke") and not known:
                    return refuse("InvalidPermission.NotFound", f"the specified rule does not exist in {group_id}")
            if action.startswith("Authorize") and len(group[side]) >= RULES_PER_GROUP:
                return refuse("RulesPerSecurityGroupLimitExceeded", f"{group_id} has {RULES_PER_GROUP} rules already")
        answer: Response = original(params)
        if answer[0] == 200:
            # The rules hold before the call returns, as callers expect after a second or so on AWS.
            for instance in fleet.live():
                if (instance.account, instance.region) == (account_id(), region_name()):
                    apply(fleet, instance)
        return answer

    return handle


def rules_of(instance: Instance, side: str) -> list[Rule]:
    """Rules of one side of all groups that an instance carries, one for each block of addresses."""
    found = []
    for permission in _permissions(instance, side):
        sources = [item["CidrIp"] for item in permission.get("IpRanges") or []]
        for pair in permission.get("UserIdGroupPairs") or []:
            sources += _members(instance, pair.get("GroupId", ""))
        found += [
            Rule(permission["IpProtocol"], permission.get("FromPort"), permission.get("ToPort"), source)
            for source in sources
        ]
    return found


def _permissions(instance: Instance, side: str) -> list[dict[str, Any]]:
    """Permissions of one side of all groups that an instance carries."""
    groups = ec2._security_groups._data
    found: list[dict[str, Any]] = []
    for entry in _record(instance).get("SecurityGroups", []):
        group = groups.get((instance.account, instance.region, entry["GroupId"]))
        found += (group or {}).get(side, [])
    return found


def _record(instance: Instance) -> dict[str, Any]:
    record: dict[str, Any] | None = ec2._instances._data.get((instance.account, instance.region, instance.instance_id))
    return record or {}


def _members(instance: Instance, group_id: str) -> list[str]:
    """Private addresses of the instances that carry a group: what a reference to it means."""
    return [
        f"{record['PrivateIpAddress']}/32"
        for (account, region, _), record in ec2._instances._data.items()
        if (account, region) == (instance.account, instance.region)
        and record["PrivateIpAddress"]
        and any(group["GroupId"] == group_id for group in record["SecurityGroups"])
    ]
