"""A machine at an end of a transfer: running, managed, and allowed to do what it must."""

from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from cli.aws import Aws
from cli.doctor.answers import answer_of
from cli.doctor.finding import Finding, Findings, failed, looked, ok, warning
from lambdas.core.seats.consent import END_TAG, how_to_tag

# The first that takes parameters of documents as environment variables.
LEAST_AGENT = "3.3.2746.0"
Side = Literal["source", "destination"]
# No call of AWS's tells whether a machine has the file.
REACH = "transfers reach all of its files, unless /etc/cpt/allowed-paths there names directories (docs/security.md)"


@dataclass(frozen=True)
class Machine:
    """An end, as EC2 describes it; addresses are IPv4."""

    side: Side
    region: str
    instance_id: str
    vpc_id: str
    subnet_id: str
    private_address: str
    public_address: str | None

    @property
    def about(self) -> str:
        """The machine's name in findings."""
        return about(self.side, self.instance_id, self.region)


def about(side: Side, instance_id: str, region: str) -> str:
    """`source i-0… (us-west-2)`."""
    return f"{side} {instance_id} ({region})"


class End:
    """One end of a request; `machine` is None until it was found running."""

    def __init__(
        self, aws: Aws, side: Side, region: str, instance_id: str, *, field: str = "instanceId", require_consent: bool
    ) -> None:
        """`field`: the key of the request that names it."""
        self._aws, self._side, self._region, self._id, self._field = aws, side, region, instance_id, field
        self._require_consent = require_consent
        self._about = about(side, instance_id, region)
        self._item: Any = None
        self.machine: Machine | None = None

    def looked_at(self) -> Findings:
        """Look at all that does not depend on the other end."""
        yield from looked("machine", self._about, self._find)
        if self.machine is not None:
            yield from looked("agent", self._about, self._agent)
            yield from looked("policy", self._about, self._policy)
            yield from looked("group", self._about, partial(self._group, self.machine))
            yield ok("machine", self._about, REACH)
            yield self._consent()

    def _find(self) -> Findings:
        # By filter, since an id that EC2 does not have would fail the call.
        ids = [{"Name": "instance-id", "Values": [self._id]}]
        answer = self._aws.client("ec2", self._region).describe_instances(Filters=ids)
        items = [item for group in answer["Reservations"] for item in group["Instances"]]
        if not items:
            yield failed("machine", self._about, "there is no such instance", f"correct {self._field} or region")
            return
        [item] = items
        state = item["State"]["Name"]
        if state != "running":
            yield failed("machine", self._about, f"it is {state}", "start it, or name another")
            return
        self._item = item
        self.machine = Machine(
            side=self._side,
            region=self._region,
            instance_id=self._id,
            vpc_id=item["VpcId"],
            subnet_id=item["SubnetId"],
            private_address=item["PrivateIpAddress"],
            public_address=item.get("PublicIpAddress") or None,
        )
        yield ok("machine", self._about, f"{item['InstanceType']}, running")

    def _agent(self) -> Findings:
        ids = [{"Key": "InstanceIds", "Values": [self._id]}]
        found = self._aws.client("ssm", self._region).describe_instance_information(Filters=ids)
        agents = found["InstanceInformationList"]
        yield judge_agent(
            self._about,
            agents[0]["PingStatus"] if agents else None,
            agents[0].get("AgentVersion", "0") if agents else "0",
        )

    def _policy(self) -> Findings:
        name = f"{self._aws.deployment}-endpoint"
        profile = (self._item.get("IamInstanceProfile") or {}).get("Arn", "").rsplit("/", 1)[-1]
        if not profile:
            remedy = (
                f"aws ec2 associate-iam-instance-profile --region {self._region} --instance-id {self._id} "
                f"--iam-instance-profile Name={name}"
            )
            yield failed("policy", self._about, "it has no instance profile, so no permissions", remedy)
            return
        iam = self._aws.client("iam")
        found = answer_of(iam.get_instance_profile, "NoSuchEntity", InstanceProfileName=profile)
        roles = found["InstanceProfile"]["Roles"] if found else []
        if not roles:
            remedy = f"associate the instance profile {name} in its place"
            yield failed("policy", self._about, f"its instance profile {profile} has no role", remedy)
            return
        role = roles[0]["RoleName"]
        pages = iam.get_paginator("list_attached_role_policies").paginate(RoleName=role)
        if name in {policy["PolicyName"] for page in pages for policy in page["AttachedPolicies"]}:
            yield ok("policy", self._about, f"{name} is attached to its role {role}")
        else:
            arn = f"{roles[0]['Arn'].rsplit(':role/', 1)[0]}:policy/{name}"
            remedy = f"aws iam attach-role-policy --role-name {role} --policy-arn {arn}"
            yield failed("policy", self._about, f"its role {role} has not the managed policy {name}", remedy)

    def _group(self, machine: Machine) -> Findings:
        name = f"{self._aws.deployment}-endpoint"
        where = [{"Name": "group-name", "Values": [name]}, {"Name": "vpc-id", "Values": [machine.vpc_id]}]
        groups = self._aws.client("ec2", self._region).describe_security_groups(Filters=where)["SecurityGroups"]
        if not groups:
            remedy = (
                f"enrol it (regions.{self._region}.vpcId in cdk.json) and deploy, or use a machine in an enrolled VPC"
            )
            yield failed(
                "group", self._about, f"its VPC {machine.vpc_id} is not enrolled: it has no group {name}", remedy
            )
            return
        group = groups[0]["GroupId"]
        own = [item["GroupId"] for item in self._item.get("SecurityGroups", [])]
        if group in own:
            yield ok("group", self._about, f"{name} ({group}) is attached")
        else:
            remedy = (
                f"aws ec2 modify-instance-attribute --region {self._region} --instance-id {self._id} "
                f"--groups {' '.join([*own, group])}"
            )
            yield failed("group", self._about, f"the security group {name} ({group}) is not attached", remedy)

    def _consent(self) -> Finding:
        tags = {tag["Key"]: tag["Value"] for tag in self._item.get("Tags", [])}
        remedy = how_to_tag([self._id], self._region, self._aws.deployment)
        return judge_consent(
            self._about, tags.get(END_TAG), self._aws.deployment, remedy, required=self._require_consent
        )


def judge_consent(machine: str, tag: str | None, deployment: str, remedy: str, *, required: bool) -> Finding:
    """`tag`: the value of `cpt:end`; `required`: whether commands to machines without it are refused by now."""
    if tag == deployment:
        return ok("consent", machine, f"its owner lets {deployment} use it: {END_TAG} is {tag}")
    found = f"has no tag {END_TAG}" if tag is None else f"is tagged {END_TAG}={tag}, for another deployment"
    if required:
        return failed("consent", machine, f"it {found}, so no command may be sent to it", remedy)
    return warning("consent", machine, f"it {found}: the next release sends no command to it", remedy)


def judge_agent(machine: str, ping: str | None, version: str) -> Finding:
    """`ping`: what SSM says of the agent, None where it never registered."""
    if ping is None:
        remedy = (
            "start or install the agent (systemctl start amazon-ssm-agent), and see that the machine may reach SSM: "
            "the managed policy on its role, and a way out over HTTPS"
        )
        return failed("agent", machine, "Systems Manager has never heard of its agent", remedy)
    if ping != "Online":
        remedy = "on the machine: systemctl restart amazon-ssm-agent, then journalctl -u amazon-ssm-agent"
        return failed("agent", machine, f"its agent does not answer Systems Manager any more ({ping})", remedy)
    if _numbers(version) < _numbers(LEAST_AGENT):
        remedy = "update the agent, e.g. by the document AWS-UpdateSSMAgent"
        return failed("agent", machine, f"its agent is {version}; {LEAST_AGENT} is the least", remedy)
    return ok("agent", machine, f"online, {version}")


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".") if part.isdecimal()]
