"""Launches are granted by type, tags, profile, image, key and market, each of which may be missing."""

import contextlib
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from local.cloud import LocalCloud
from local.endpoints import IMAGE
from tests.local.assembly import HOME
from tests.local.conftest import ANY, OWNED, TAGGED, Acting

LAUNCH: list[dict[str, Any]] = [
    {
        "Effect": "Allow",
        "Action": "ec2:RunInstances",
        "Resource": f"{ANY}:instance/*",
        "Condition": {
            "StringEquals": {**TAGGED["StringEquals"], "ec2:InstanceType": ["t3.small"]},
            "ArnLike": {"ec2:InstanceProfile": "arn:aws:iam::*:instance-profile/probe-relay-*"},
        },
    },
    {
        "Effect": "Allow",
        "Action": "ec2:RunInstances",
        "Resource": [
            f"{ANY}:{kind}/*" for kind in ("volume", "network-interface", "subnet", "security-group", "launch-template")
        ],
    },
    {
        "Effect": "Allow",
        "Action": "ec2:RunInstances",
        "Resource": "arn:aws:ec2:us-west-2::image/*",
        "Condition": {"StringEquals": {"ec2:Owner": "amazon"}},
    },
    {
        "Effect": "Allow",
        "Action": "ssm:GetParameters",
        "Resource": f"arn:aws:ssm:us-west-2::parameter{IMAGE.removeprefix('resolve:ssm:')}",
    },
    {
        "Effect": "Allow",
        "Action": "ec2:CreateTags",
        "Resource": f"{ANY}:instance/*",
        "Condition": {"StringEquals": {"ec2:CreateAction": "RunInstances"}},
    },
    {
        "Effect": "Allow",
        "Action": "iam:PassRole",
        "Resource": "arn:aws:iam::*:role/probe-relay-us-west-2",
        "Condition": {"StringEquals": {"iam:PassedToService": "ec2.amazonaws.com"}},
    },
    {"Effect": "Allow", "Action": "ec2:TerminateInstances", "Resource": f"{ANY}:instance/*", "Condition": OWNED},
]
SPOT_ROLE = "AWSServiceRoleForEC2Spot"
SPOT_ROLES = [f"arn:aws:iam::*:role/{name}" for name in (f"aws-service-role/spot.amazonaws.com/{SPOT_ROLE}", SPOT_ROLE)]


def launch(ec2: Any, owner: str = "cpt", **options: Any) -> str:
    request = {
        "LaunchTemplate": {"LaunchTemplateName": "probe-relay"},
        "InstanceType": "t3.small",
        "MinCount": 1,
        "MaxCount": 1,
        "TagSpecifications": [{"ResourceType": "instance", "Tags": [{"Key": "owner", "Value": owner}]}],
        **options,
    }
    return str(ec2.run_instances(**request)["Instances"][0]["InstanceId"])


def test_a_disk_of_the_accounts_own_key_ends_the_launch_of_a_role_that_may_not_use_it(
    cloud: LocalCloud, acting: Acting
) -> None:
    disk = {"VolumeSize": 8, "Encrypted": True}
    ended, runs = (
        launch(acting(LAUNCH, "ec2"), BlockDeviceMappings=[{"DeviceName": "/dev/xvda", "Ebs": {**disk, **key}}])
        for key in ({}, {"KmsKeyId": "alias/aws/ebs"})
    )
    ec2 = cloud.client("ec2", HOME)

    def found(instance_id: str, state: str) -> list[dict[str, Any]]:
        filters = [{"Name": "instance-id", "Values": [instance_id]}, {"Name": "instance-state-name", "Values": [state]}]
        return [one for many in ec2.describe_instances(Filters=filters)["Reservations"] for one in many["Instances"]]

    cloud.wait_for(lambda: found(ended, "terminated"), 10)
    assert found(ended, "terminated")[0]["StateReason"]["Code"] == "Client.InternalError"
    cloud.wait_for(lambda: found(runs, "running"), 10)


def test_launch_is_allowed_with_type_tags_profile_and_role_as_granted(acting: Acting) -> None:
    ec2 = acting(LAUNCH, "ec2")
    ec2.terminate_instances(InstanceIds=[launch(ec2)])


@pytest.mark.parametrize(
    ("removed", "options"),
    [
        (None, {"InstanceType": "c6in.large"}),
        (None, {"owner": "other"}),
        (None, {"IamInstanceProfile": {"Name": "probe-relay-eu-west-1"}}),
        ("ec2:CreateTags", {}),
        ("iam:PassRole", {}),
        ("ssm:GetParameters", {}),
    ],
)
def test_launch_is_denied_without_one_of_them(acting: Acting, removed: str | None, options: dict[str, Any]) -> None:
    ec2 = acting([statement for statement in LAUNCH if statement["Action"] != removed], "ec2")
    with pytest.raises(ClientError, match="UnauthorizedOperation"):
        launch(ec2, **options)


def test_shared_subnet_has_the_arn_of_its_owners_account(cloud: LocalCloud, acting: Acting) -> None:
    ec2 = cloud.client("ec2", HOME)
    vpc = ec2.create_vpc(CidrBlock="10.61.0.0/16")["Vpc"]["VpcId"]
    subnet = ec2.create_subnet(VpcId=vpc, CidrBlock="10.61.0.0/20")["Subnet"]["SubnetId"]
    cloud.share_subnet(HOME, subnet, "999999999999")

    def launched(account: str) -> str:
        mine = {"Effect": "Allow", "Action": "ec2:RunInstances"}
        others = [kind for kind in LAUNCH[1]["Resource"] if ":subnet/" not in kind]
        place = {**mine, "Resource": f"arn:aws:ec2:us-west-2:{account}:subnet/{subnet}"}
        granted = [LAUNCH[0], {**mine, "Resource": others}, place, *LAUNCH[2:]]
        return launch(acting(granted, "ec2"), SubnetId=subnet)

    with pytest.raises(ClientError, match="UnauthorizedOperation"):
        launched(cloud.config.account)
    ec2.terminate_instances(InstanceIds=[launched("*")])


def test_only_own_instances_may_be_terminated(cloud: LocalCloud, acting: Acting, vm: str) -> None:
    with pytest.raises(ClientError, match="UnauthorizedOperation"):
        acting(LAUNCH, "ec2").terminate_instances(InstanceIds=[vm])


def test_own_image_is_told_by_its_tags_and_read_with_the_callers_permissions(cloud: LocalCloud, acting: Acting) -> None:
    tags = [{"ResourceType": "image", "Tags": [{"Key": "owner", "Value": "cpt"}]}]
    disk = {"DeviceName": "/dev/xvda", "Ebs": {"SnapshotId": "snap-0123456789abcdef0"}}
    own, foreign = (
        cloud.client("ec2").register_image(
            Name=f"image-{uuid.uuid4()}", Architecture="x86_64", BlockDeviceMappings=[disk], **tagged
        )["ImageId"]
        for tagged in ({"TagSpecifications": tags}, {})
    )
    cloud.client("ssm").put_parameter(Name="/probe/image", Type="String", Value=own)
    on_image = {**LAUNCH[2], "Condition": OWNED}
    reads = {"Effect": "Allow", "Action": "ssm:GetParameters", "Resource": "arn:aws:ssm:*:*:parameter/probe/image"}
    others = [statement for statement in LAUNCH if statement is not LAUNCH[2]]
    named = {"ImageId": "resolve:ssm:/probe/image"}
    cloud.client("ec2").terminate_instances(
        InstanceIds=[
            launch(acting([*others, on_image], "ec2"), ImageId=own),
            launch(acting([*others, on_image, reads], "ec2"), **named),
        ]
    )
    for statements, options in (
        ([*others, on_image], {"ImageId": foreign}),
        ([*others, on_image], {}),  # Amazon's
        ([*others, on_image], named),
        (LAUNCH, {"ImageId": own}),
    ):
        with pytest.raises(ClientError, match="UnauthorizedOperation"):
            launch(acting(statements, "ec2"), **options)


@pytest.fixture
def no_spot_role(cloud: LocalCloud) -> Iterator[None]:
    """An account in which nobody has used spot."""
    iam = cloud.client("iam")
    iam.delete_service_linked_role(RoleName=SPOT_ROLE)
    yield
    with contextlib.suppress(iam.exceptions.NoSuchEntityException):
        iam.delete_service_linked_role(RoleName=SPOT_ROLE)
    made = iam.create_service_linked_role(AWSServiceName="spot.amazonaws.com")["Role"]
    assert made["Arn"] == iam.get_role(RoleName=SPOT_ROLE)["Role"]["Arn"]


@pytest.mark.usefixtures("no_spot_role")
def test_the_first_spot_launch_of_an_account_makes_its_role_or_is_refused(cloud: LocalCloud, acting: Acting) -> None:
    spot: dict[str, Any] = {"InstanceMarketOptions": {"MarketType": "spot"}}
    request = {"Effect": "Allow", "Action": "ec2:RunInstances", "Resource": f"{ANY}:spot-instances-request/*"}
    makes = {"Effect": "Allow", "Action": "iam:CreateServiceLinkedRole", "Resource": SPOT_ROLES[0]}
    with pytest.raises(ClientError, match=r"AuthFailure\.ServiceLinkedRoleCreationNotPermitted"):
        launch(acting([*LAUNCH, request], "ec2"), **spot)
    launch(acting([*LAUNCH, request, makes], "ec2"), **spot)
    assert cloud.client("iam").get_role(RoleName=SPOT_ROLE)["Role"]["Path"] == "/aws-service-role/spot.amazonaws.com/"
    launch(acting([*LAUNCH, request], "ec2"), **spot)


def test_a_role_is_known_by_its_path_while_it_exists(cloud: LocalCloud, acting: Acting, request: Any) -> None:
    by_path, by_name = (
        acting([{"Effect": "Allow", "Action": "iam:GetRole", "Resource": arn}], "iam") for arn in SPOT_ROLES
    )
    by_path.get_role(RoleName=SPOT_ROLE)
    with pytest.raises(ClientError, match="AccessDenied"):
        by_name.get_role(RoleName=SPOT_ROLE)
    request.getfixturevalue("no_spot_role")
    with pytest.raises(ClientError, match="AccessDenied"):
        by_path.get_role(RoleName=SPOT_ROLE)
    with pytest.raises(ClientError, match="NoSuchEntity"):
        by_name.get_role(RoleName=SPOT_ROLE)
