"""A whole transfer in each account of `local/accounts`, and in an enterprise's: the tree arrives, nothing is left."""

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from local.cloud import ASSEMBLY, LocalCloud, namespaces_available
from local.config import LocalConfig
from tests.chaos import account as chaos
from tests.chaos.extent import only_full
from tests.e2e.account import HOME, OTHER, Account
from tests.e2e.cdk import cdk_of
from tests.e2e.conftest import make_account  # noqa: F401 - a fixture
from tests.e2e.files import make_files
from tests.paths import ROOT

ACCOUNTS = {path.stem: path for path in sorted((ROOT / "local" / "accounts").glob("*.toml"))}
# What an enterprise lets the roles of an application do at most; none may give itself or others more.
BOUNDED = [
    *("cloudwatch", "dynamodb", "ec2", "ec2messages", "events", "kms", "lambda", "logs", "pricing", "s3"),
    *("servicequotas", "sns", "sqs", "ssm", "ssmmessages", "states", "xray"),
]
CAPS = {"interRegionMBps": 4.0, "intraRegionMBps": 32.0}


def megabytes(account: str) -> int:
    """So much that relays join while it moves: at 4 MB/s, after a minute or after some seconds."""
    return 400 if account == "slow" else 160


@pytest.mark.paced  # relays must join before the data is over
@only_full
@pytest.mark.parametrize("name", sorted(ACCOUNTS))
def test_a_transfer_does_its_work(name: str, make_account: Callable[..., Account], tmp_path: Path) -> None:  # noqa: F811
    settings = tomllib.loads(ACCOUNTS[name].read_text())
    if settings.get("instances") == "netns" and not namespaces_available():
        pytest.skip("namespaces need root, iproute2 and nftables")
    account = make_account(**{"caps": CAPS, "image": None, **settings})
    source = make_files(tmp_path / "set", large_bytes=megabytes(name) * 10**6)
    asked = account.request(f"{source}/", tmp_path / "out", relays={"pairs": 2})
    run = account.run(asked, name)
    chaos.check_arrived(account, run, name, source, tmp_path / "out")
    # The quota of a new account has room for one.
    assert run.report["pairs"] == (1 if name == "new" else 2)


@only_full
def test_a_transfer_does_its_work_in_an_enterprise(tmp_path: Path) -> None:
    """Every role has a boundary, there is no default VPC, disks and asset buckets have keys of the account's own."""
    config = LocalConfig.model_validate({"port": 0, "caps": CAPS, "pollSeconds": 1})
    with LocalCloud(config, tmp_path / "state", None) as cloud:
        for region in (HOME, OTHER):
            ec2 = cloud.client("ec2", region)
            for vpc in ec2.describe_vpcs(Filters=[{"Name": "is-default", "Values": ["true"]}])["Vpcs"]:
                remove(ec2, vpc["VpcId"])
        allowed = {"Effect": "Allow", "Action": [*(f"{one}:*" for one in BOUNDED), "iam:PassRole"], "Resource": "*"}
        document = json.dumps({"Version": "2012-10-17", "Statement": [allowed]})
        boundary = cloud.client("iam").create_policy(PolicyName="boundary", Path="/team/", PolicyDocument=document)
        settings = {
            "homeRegion": HOME,
            "regions": {HOME: {}, OTHER: {}},
            "permissionsBoundary": boundary["Policy"]["Arn"],
        }
        cdk = cdk_of(cloud)
        cdk("bootstrap", "--app", str(ASSEMBLY), *(f"aws://{config.account}/{region}" for region in (HOME, OTHER)))
        context = ["-c", f"cpt={json.dumps(settings)}", "--output", str(tmp_path / "assembly")]
        cdk("deploy", "--all", "--require-approval", "never", *context)
        iam = cloud.client("iam")
        named = [role["RoleName"] for role in iam.list_roles()["Roles"] if role["RoleName"].startswith("cpt-")]
        bounds = [iam.get_role(RoleName=name)["Role"].get("PermissionsBoundary") for name in named]
        assert len(named) > 20
        assert {bound["PermissionsBoundaryArn"] for bound in bounds if bound} == {settings["permissionsBoundary"]}
        assert all(bounds)
        account = Account(cloud, tmp_path)
        source = make_files(tmp_path / "set", large_bytes=160_000_000)
        run = account.run(account.request(f"{source}/", tmp_path / "out", relays={"pairs": 2}), "enterprise")
        chaos.check_arrived(account, run, "enterprise", source, tmp_path / "out")
        assert run.report["pairs"] == 2


def remove(ec2: Any, vpc: str) -> None:
    """A VPC with what is in it."""
    inside = [{"Name": "vpc-id", "Values": [vpc]}]
    for subnet in ec2.describe_subnets(Filters=inside)["Subnets"]:
        ec2.delete_subnet(SubnetId=subnet["SubnetId"])
    for gateway in ec2.describe_internet_gateways(Filters=[{"Name": "attachment.vpc-id", "Values": [vpc]}])[
        "InternetGateways"
    ]:
        ec2.detach_internet_gateway(InternetGatewayId=gateway["InternetGatewayId"], VpcId=vpc)
    ec2.delete_vpc(VpcId=vpc)
