"""Security-group rules of one region: single addresses, tagged with their transfer."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from lambdas.adapters.ec2 import DEPLOYMENT_TAG, TRANSFER_TAG
from lambdas.core.errors import MissingPermission, TooManyRules
from lambdas.core.fleet.firewall import Rule

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client

_DENIED = ("UnauthorizedOperation", "AccessDenied")


class Ec2SecurityGroups:
    """SecurityGroups over EC2; the deployment's groups let everything out, so only ingress is ruled."""

    def __init__(self, client: "EC2Client", deployment: str) -> None:
        self._client = client
        self._deployment = deployment
        self._found: dict[tuple[str, str], str] = {}

    def find(self, name: str, vpc_id: str) -> str | None:
        """See SecurityGroups."""
        if (name, vpc_id) not in self._found:
            filters = [{"Name": "group-name", "Values": [name]}, {"Name": "vpc-id", "Values": [vpc_id]}]
            groups = self._client.describe_security_groups(Filters=filters)["SecurityGroups"]  # type: ignore[arg-type]
            if not groups:
                return None
            self._found[name, vpc_id] = groups[0]["GroupId"]
        return self._found[name, vpc_id]

    def vpc_of(self, name: str) -> str | None:
        """See SecurityGroups."""
        filters = [
            {"Name": "group-name", "Values": [name]},
            {"Name": f"tag:{DEPLOYMENT_TAG}", "Values": [self._deployment]},
        ]
        groups = self._client.describe_security_groups(Filters=filters)["SecurityGroups"]  # type: ignore[arg-type]
        return min((group["VpcId"] for group in groups), default=None)

    def admit(self, group_id: str, address: str, port: int, transfer_id: str) -> None:
        """See SecurityGroups."""
        tags = [{"Key": TRANSFER_TAG, "Value": transfer_id}, {"Key": DEPLOYMENT_TAG, "Value": self._deployment}]
        cidr = {"CidrIp": f"{address}/32", "Description": f"cpt transfer {transfer_id}"[:255]}
        permission = {"IpProtocol": "tcp", "FromPort": port, "ToPort": port, "IpRanges": [cidr]}
        try:
            self._client.authorize_security_group_ingress(
                GroupId=group_id,
                IpPermissions=[permission],  # type: ignore[list-item]
                TagSpecifications=[{"ResourceType": "security-group-rule", "Tags": tags}],  # type: ignore[misc,list-item]
            )
        except ClientError as error:
            self._explain(error, group_id)

    @staticmethod
    def _explain(error: ClientError, group_id: str) -> None:
        code = error.response["Error"]["Code"]
        if code == "InvalidPermission.Duplicate":
            return
        if code == "RulesPerSecurityGroupLimitExceeded":
            raise TooManyRules(
                f"security group {group_id} is full (60 rules by default): wait for other transfers to end, "
                "or raise the quota 'Inbound or outbound rules per security group'"
            ) from error
        if code in _DENIED:
            raise MissingPermission(f"ec2:AuthorizeSecurityGroupIngress on {group_id}: {error}") from error
        raise error

    def rules(self) -> list[Rule]:
        """See SecurityGroups."""
        filters = [{"Name": f"tag:{DEPLOYMENT_TAG}", "Values": [self._deployment]}]
        pages = self._client.get_paginator("describe_security_group_rules").paginate(Filters=filters)  # type: ignore[arg-type]
        found = []
        for page in pages:
            for rule in page["SecurityGroupRules"]:
                tags = {tag["Key"]: tag["Value"] for tag in rule.get("Tags", [])}
                if TRANSFER_TAG in tags and not rule.get("IsEgress"):
                    address = rule.get("CidrIpv4", "").removesuffix("/32")
                    group, name, port = rule["GroupId"], rule["SecurityGroupRuleId"], rule.get("FromPort", 0)
                    found.append(Rule(group, name, address, port, tags[TRANSFER_TAG]))
        return found

    def revoke(self, rules: Iterable[Rule]) -> None:
        """See SecurityGroups."""
        by_group: dict[str, list[str]] = {}
        for rule in rules:
            by_group.setdefault(rule.group_id, []).append(rule.rule_id)
        for group, ids in by_group.items():
            self._revoke(group, ids)

    def _revoke(self, group: str, ids: list[str]) -> None:
        try:
            self._client.revoke_security_group_ingress(GroupId=group, SecurityGroupRuleIds=ids)
        except ClientError as error:
            code = error.response["Error"]["Code"]
            if code in _DENIED:
                raise MissingPermission(f"ec2:RevokeSecurityGroupIngress in {group}: {error}") from error
            if code != "InvalidSecurityGroupRuleId.NotFound":
                raise
            if len(ids) > 1:  # one unknown id, of a rule that another teardown has revoked, fails the call for all
                for single in ids:
                    self._revoke(group, [single])
