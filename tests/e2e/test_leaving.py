"""docs/deploy.md, Remove: after the documented set-up, `cpt leave` and `cdk destroy --all` leave nothing."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.exit_codes import ExitCode
from local.cloud import ASSEMBLY, LocalCloud
from local.config import LocalConfig
from local.endpoints import TRUST
from tests.chaos.extent import only_full
from tests.e2e.account import HOME, LARGE, OTHER, Account
from tests.e2e.cdk import cdk_of, leave, statuses
from tests.e2e.files import make_files
from tests.e2e.people import having

# The CDK itself deploys and destroys; tests/cli/leave has each tie by itself.
pytestmark = only_full

ALLOW = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:GetObject", "Resource": "*"}]}


class Removed:
    """An account with a VPC of its own in one region, and a deployment that gives its data up."""

    def __init__(self, cloud: LocalCloud, work: Path) -> None:
        self.cloud, self.work, self.cdk = cloud, work, cdk_of(cloud)
        ec2 = cloud.client("ec2", OTHER)
        self.vpc = ec2.create_vpc(CidrBlock="10.88.0.0/16")["Vpc"]["VpcId"]
        subnet = ec2.create_subnet(VpcId=self.vpc, CidrBlock="10.88.0.0/20", AvailabilityZone=f"{OTHER}a")["Subnet"]
        gateway = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
        ec2.attach_internet_gateway(InternetGatewayId=gateway, VpcId=self.vpc)
        table = ec2.create_route_table(VpcId=self.vpc)["RouteTable"]["RouteTableId"]
        ec2.create_route(RouteTableId=table, DestinationCidrBlock="0.0.0.0/0", GatewayId=gateway)
        ec2.associate_route_table(RouteTableId=table, SubnetId=subnet["SubnetId"])
        network = {"vpcId": self.vpc, "availabilityZones": [f"{OTHER}a"], "subnetIds": [subnet["SubnetId"]]}
        self.settings = {"homeRegion": HOME, "regions": {HOME: {}, OTHER: network}, "dataOnDestroy": "delete"}
        self.context = ["-c", f"cpt={json.dumps(self.settings)}", "--output", str(work / "assembly")]
        account = cloud.config.account
        self.cdk("bootstrap", "--app", str(ASSEMBLY), f"aws://{account}/{HOME}", f"aws://{account}/{OTHER}")
        self.before = present(cloud)
        self.cdk("deploy", "--all", "--require-approval", "never", *self.context)

    def destroy(self, *, succeeds: bool = True) -> str:
        """`npx cdk destroy --all` of what was deployed."""
        return self.cdk("destroy", "--all", "--force", "--app", str(self.work / "assembly"), succeeds=succeeds)


def present(cloud: LocalCloud) -> set[str]:
    """Everything in both regions that a deployment could have made, service by service."""
    found: set[str] = set()
    for service, operation, key, name, keywords in (
        ("cloudformation", "describe_stacks", "Stacks", "StackName", {}),
        ("iam", "list_roles", "Roles", "RoleName", {}),
        ("iam", "list_policies", "Policies", "PolicyName", {"Scope": "Local"}),
        ("iam", "list_instance_profiles", "InstanceProfiles", "InstanceProfileName", {}),
        ("s3", "list_buckets", "Buckets", "Name", {}),
        ("logs", "describe_log_groups", "logGroups", "logGroupName", {}),
        ("lambda", "list_functions", "Functions", "FunctionName", {}),
        ("events", "list_event_buses", "EventBuses", "Name", {}),
        ("events", "list_rules", "Rules", "Name", {}),
        ("scheduler", "list_schedules", "Schedules", "Name", {}),
        ("sns", "list_topics", "Topics", "TopicArn", {}),
        ("stepfunctions", "list_state_machines", "stateMachines", "name", {}),
        ("cloudwatch", "describe_alarms", "MetricAlarms", "AlarmName", {}),
        ("cloudwatch", "list_dashboards", "DashboardEntries", "DashboardName", {}),
        ("ssm", "list_documents", "DocumentIdentifiers", "Name", {"Filters": [{"Key": "Owner", "Values": ["Self"]}]}),
        ("ssm", "describe_parameters", "Parameters", "Name", {}),
        ("ec2", "describe_vpcs", "Vpcs", "VpcId", {}),
        ("ec2", "describe_subnets", "Subnets", "SubnetId", {}),
        ("ec2", "describe_route_tables", "RouteTables", "RouteTableId", {}),
        ("ec2", "describe_internet_gateways", "InternetGateways", "InternetGatewayId", {}),
        ("ec2", "describe_security_groups", "SecurityGroups", "GroupId", {}),
        ("ec2", "describe_network_interfaces", "NetworkInterfaces", "NetworkInterfaceId", {}),
        ("ec2", "describe_launch_templates", "LaunchTemplates", "LaunchTemplateName", {}),
        ("ec2", "describe_images", "Images", "ImageId", {"Owners": ["self"]}),
        ("ec2", "describe_volumes", "Volumes", "VolumeId", {}),
        ("ec2", "describe_snapshots", "Snapshots", "SnapshotId", {"OwnerIds": ["self"]}),
    ):
        for region in (HOME, OTHER):
            answer = getattr(cloud.client(service, region), operation)(**keywords)
            found |= {f"{region} {operation} {item[name]}" for item in answer[key]}
    for region in (HOME, OTHER):
        found |= {
            f"{region} list_tables {name}" for name in cloud.client("dynamodb", region).list_tables()["TableNames"]
        }
        found |= {
            f"{region} list_queues {url}" for url in cloud.client("sqs", region).list_queues().get("QueueUrls", [])
        }
    return found


@pytest.fixture(scope="module")
def removed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Removed]:
    with LocalCloud(LocalConfig(port=0), tmp_path_factory.mktemp("removed"), None) as running:
        yield Removed(running, tmp_path_factory.mktemp("work"))


def test_of_a_deployment_that_nobody_has_touched_nothing_holds(
    removed: Removed, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = leave(removed.cloud, removed.settings, removed.work, monkeypatch)
    assert (left.code, left.of("holds"), left.of("left")) == (ExitCode.SUCCEEDED, [], [])


def test_nothing_is_left_after_the_documented_set_up(removed: Removed, monkeypatch: pytest.MonkeyPatch) -> None:
    cloud, iam, ec2 = removed.cloud, removed.cloud.client("iam"), removed.cloud.client("ec2", OTHER)
    policy = f"arn:aws:iam::{cloud.config.account}:policy/cpt-endpoint"
    # docs/deploy.md, Prepare the machines: roles, groups and rules of the user's own beside ours.
    iam.create_role(RoleName="own", AssumeRolePolicyDocument=json.dumps(TRUST))
    iam.attach_role_policy(RoleName="own", PolicyArn=policy)
    iam.create_user(UserName="somebody")
    iam.attach_user_policy(UserName="somebody", PolicyArn=policy)
    own = iam.create_policy(PolicyName="own-data", PolicyDocument=json.dumps(ALLOW))["Policy"]["Arn"]
    iam.attach_role_policy(RoleName="cpt-endpoint", PolicyArn=own)
    iam.put_role_policy(RoleName="cpt-endpoint", PolicyName="own-inline", PolicyDocument=json.dumps(ALLOW))
    account = Account(cloud, removed.work)
    ours = outputs(cloud, OTHER)["EndpointSecurityGroupId"]
    group = ec2.create_security_group(GroupName="own", Description="a user's", VpcId=removed.vpc)["GroupId"]
    pair = {"IpProtocol": "tcp", "FromPort": 2049, "ToPort": 2049, "UserIdGroupPairs": [{"GroupId": ours}]}
    ec2.authorize_security_group_ingress(GroupId=group, IpPermissions=[pair])
    ec2.authorize_security_group_egress(GroupId=group, IpPermissions=[pair])
    worn = [{"Name": "group-id", "Values": [ours]}]
    (interface,) = ec2.describe_network_interfaces(Filters=worn)["NetworkInterfaces"]
    which = {"NetworkInterfaceId": interface["NetworkInterfaceId"]}
    ec2.modify_network_interface_attribute(**which, Groups=[ours, group])
    image = built_image(ec2)
    cloud.client("ssm", OTHER).put_parameter(Name="/imagebuilder/cpt/relay-x86_64", Value=image, Type="String")
    cloud.client("cloudformation").update_termination_protection(
        StackName="cpt-control", EnableTerminationProtection=True
    )
    tables = cloud.client("dynamodb")
    tables.update_table(TableName="cpt-nodes", DeletionProtectionEnabled=True)
    source = make_files(removed.work / "set", large_bytes=LARGE)
    arn = account.start_slowly(account.request(source, removed.work / "out", relays={"pairs": 1}), "running")
    cloud.wait_for(lambda: account.progress("running").get("bytes"), 60)
    # One that comes more often could start a transfer in the middle of the removal.
    (removed.work / "request.json").write_text(json.dumps(account.request(source, removed.work / "more")))
    add = ("add", "often", removed.work / "request.json", "--expression", "cron(0 0 1 1 ? 2199)")
    added = having(account, "scheduler").cpt("schedule", *add)
    assert added.exit_code == ExitCode.SUCCEEDED, added.output

    # While it runs, nothing is undone: its machines would lose their permissions.
    refused = leave(cloud, removed.settings, removed.work, monkeypatch, "--yes")
    assert refused.code == ExitCode.UNFIT
    assert account.describe(arn)["status"] == "RUNNING"
    assert [role["RoleName"] for role in roles(iam, policy)] == ["cpt-endpoint", "own"]

    # The machine in the deployment's own VPC is for its owner to end, and that is all that stays in the way.
    first = leave(cloud, removed.settings, removed.work, monkeypatch, "--yes", "--cancel-transfers")
    assert account.describe(arn)["status"] == "ABORTED"
    assert first.code == ExitCode.UNFIT
    assert {tie["message"] for tie in first.of("holds")} == {f"the machine {account.source} is in the deployment's VPC"}
    assert [tie for tie in first.ties if tie.get("result", "undone") != "undone"] == []
    assert cloud.client("scheduler").list_schedules(GroupName="cpt-starts")["Schedules"] == []
    assert cloud.live_relays() == []
    assert [role["RoleName"] for role in roles(iam, policy)] == ["cpt-endpoint"]
    assert ec2.describe_network_interfaces(Filters=worn)["NetworkInterfaces"] == []
    assert "DELETE_FAILED" in removed.destroy(succeeds=False)
    assert statuses(cloud)[f"cpt-region-{HOME}"] == "DELETE_FAILED"

    cloud.client("ec2").terminate_instances(InstanceIds=[account.source])
    here = [{"Name": "subnet-id", "Values": outputs(cloud, HOME)["SubnetIds"].split(",")}]
    cloud.wait_for(lambda: not cloud.client("ec2").describe_network_interfaces(Filters=here)["NetworkInterfaces"], 30)
    last = leave(cloud, removed.settings, removed.work, monkeypatch, "--yes")
    assert (last.code, last.of("holds"), last.of("left")) == (ExitCode.SUCCEEDED, [], [])
    removed.destroy()
    assert leave(cloud, removed.settings, removed.work, monkeypatch).code == ExitCode.SUCCEEDED

    disks = ec2.describe_volumes()["Volumes"]
    assert [disk["Attachments"][0]["InstanceId"] for disk in disks] == [account.destination]
    kept = {
        disks[0]["VolumeId"],
        "own",
        "own-data",
        "somebody",
        "person-scheduler",
        group,
        interface["NetworkInterfaceId"],
    }
    remains = {line for line in present(cloud) - removed.before if line.split(maxsplit=2)[2] not in kept}
    assert remains == set()
    (interface,) = ec2.describe_network_interfaces(NetworkInterfaceIds=[which["NetworkInterfaceId"]])[
        "NetworkInterfaces"
    ]
    assert [one["GroupId"] for one in interface["Groups"]] == [group]
    assert iam.list_attached_role_policies(RoleName="own")["AttachedPolicies"] == []
    assert account.destination in json.dumps(ec2.describe_instances(), default=str)


def outputs(cloud: LocalCloud, region: str) -> dict[str, str]:
    """Outputs of the region's stack."""
    stack = cloud.client("cloudformation", region).describe_stacks(StackName=f"cpt-region-{region}")["Stacks"][0]
    return {output["OutputKey"]: output["OutputValue"] for output in stack["Outputs"]}


def roles(iam: Any, policy: str) -> list[dict[str, str]]:
    """Roles that the policy is attached to, by name."""
    found = iam.list_entities_for_policy(PolicyArn=policy)["PolicyRoles"]
    return sorted(found, key=lambda role: str(role["RoleName"]))


def built_image(ec2: Any) -> str:
    """An image as Image Builder leaves one: with the deployment's tag, and a snapshot."""
    volume = ec2.create_volume(AvailabilityZone=f"{OTHER}a", Size=8)["VolumeId"]
    snapshot = ec2.create_snapshot(VolumeId=volume)["SnapshotId"]
    ec2.delete_volume(VolumeId=volume)
    disk = {"DeviceName": "/dev/xvda", "Ebs": {"SnapshotId": snapshot}}
    image = str(ec2.register_image(Name="cpt-relay", RootDeviceName="/dev/xvda", BlockDeviceMappings=[disk])["ImageId"])
    ec2.create_tags(Resources=[image], Tags=[{"Key": "cpt:deployment", "Value": "cpt"}])
    return image
