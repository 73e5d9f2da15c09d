"""`cpt doctor` on a deployment that is as it should be, and on one in which something is broken in earnest."""

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, get_args

import pytest
from jsonschema import Draft202012Validator
from typer.testing import CliRunner

from cli.doctor.finding import Check
from cli.exit_codes import ExitCode
from cli.main import app
from lambdas.adapters.environment import spread
from local.config import Fault
from tests.e2e.account import END_TYPE, HOME, OTHER, Account

FINDING = Draft202012Validator(json.loads(Path("contracts/finding.schema.json").read_text()))
ROLE = "cpt-endpoint"
ANYWHERE = "0.0.0.0/0"


@pytest.fixture(scope="module")
def account(make_account: Callable[..., Account]) -> Account:
    """Its quota bears two relays beside the ends."""
    return make_account(vcpuQuota=6)


@pytest.fixture(autouse=True)
def _environment(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", account.cloud.endpoint)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")


@pytest.fixture
def request_file(account: Account, tmp_path: Path) -> Path:
    path = tmp_path / "request.json"
    path.write_text(json.dumps(account.request("/data/set", "/restore", relays={"pairs": 2})))
    return path


def examine(*words: str | Path) -> tuple[int, list[dict[str, Any]]]:
    """Exit code, and the findings that are not ok."""
    result = CliRunner().invoke(app, ["doctor", *map(str, words), "--json"])
    found = [json.loads(line) for line in result.stdout.splitlines()]
    for finding in found:
        FINDING.validate(finding)
    return result.exit_code, [finding for finding in found if finding["status"] != "ok"]


def test_all_is_well(request_file: Path) -> None:
    assert examine(request_file) == (ExitCode.SUCCEEDED, [])
    shown = CliRunner().invoke(app, ["doctor", str(request_file)]).stdout
    for check in get_args(Check):
        assert f"✓ {check}" in shown


def test_quota_that_bears_fewer_relays_is_a_warning() -> None:
    code, found = examine()
    assert code == ExitCode.SUCCEEDED
    assert [(one["check"], one["about"], one["status"]) for one in found] == [
        ("quota", HOME, "warning"),
        ("quota", OTHER, "warning"),
    ]
    assert "2 can be had" in found[0]["message"]
    assert "request-service-quota-increase" in found[0]["remedy"]


@contextmanager
def policy_detached(account: Account) -> Iterator[None]:
    iam = account.aws.client("iam")
    arn = iam.list_attached_role_policies(RoleName=ROLE)["AttachedPolicies"][0]["PolicyArn"]
    iam.detach_role_policy(RoleName=ROLE, PolicyArn=arn)
    yield
    iam.attach_role_policy(RoleName=ROLE, PolicyArn=arn)


@contextmanager
def daemon_deleted(account: Account) -> Iterator[None]:
    function = account.aws.client("lambda").get_function_configuration(FunctionName="cpt-validate-request")
    assets = json.loads(spread(function["Environment"]["Variables"])["DAEMON_ASSETS"])
    s3 = account.cloud.client("s3", OTHER)
    where = {"Bucket": assets["buckets"][OTHER], "Key": assets["files"]["x86_64"]["key"]}
    body = s3.get_object(**where)["Body"].read()
    s3.delete_object(**where)
    yield
    s3.put_object(**where, Body=body)


@contextmanager
def route_deleted(account: Account) -> Iterator[None]:
    ec2 = account.cloud.client("ec2", HOME)
    [instance] = ec2.describe_instances(InstanceIds=[account.source])["Reservations"][0]["Instances"]
    where = [{"Name": "association.subnet-id", "Values": [instance["SubnetId"]]}]
    [table] = ec2.describe_route_tables(Filters=where)["RouteTables"]
    [out] = [route for route in table["Routes"] if route.get("DestinationCidrBlock") == ANYWHERE]
    ec2.delete_route(RouteTableId=table["RouteTableId"], DestinationCidrBlock=ANYWHERE)
    yield
    ec2.create_route(RouteTableId=table["RouteTableId"], DestinationCidrBlock=ANYWHERE, GatewayId=out["GatewayId"])


@contextmanager
def own_name_server(account: Account) -> Iterator[None]:
    ec2 = account.cloud.client("ec2", OTHER)
    here = [{"Name": "group-name", "Values": ["cpt-relay"]}]
    [group] = ec2.describe_security_groups(Filters=here)["SecurityGroups"]
    [vpc] = ec2.describe_vpcs(VpcIds=[group["VpcId"]])["Vpcs"]
    servers = [{"Key": "domain-name-servers", "Values": ["10.11.0.53"]}]
    options = ec2.create_dhcp_options(DhcpConfigurations=servers)["DhcpOptions"]["DhcpOptionsId"]
    ec2.associate_dhcp_options(DhcpOptionsId=options, VpcId=vpc["VpcId"])
    yield
    ec2.associate_dhcp_options(DhcpOptionsId=vpc["DhcpOptionsId"], VpcId=vpc["VpcId"])


@pytest.mark.parametrize(
    ("broken", "check", "about", "remedy"),
    [
        (policy_detached, "policy", "source", "aws iam attach-role-policy --role-name cpt-endpoint"),
        (daemon_deleted, "daemon", OTHER, "npx cdk deploy cpt-region-eu-west-1 --force"),
        (own_name_server, "names", OTHER, "regions.eu-west-1.nameServers in cdk.json"),
        (route_deleted, "path", "source", "to an internet gateway"),
    ],
)
def test_what_is_broken_is_found_with_its_remedy(
    account: Account,
    request_file: Path,
    broken: Callable[[Account], AbstractContextManager[None]],
    check: str,
    about: str,
    remedy: str,
) -> None:
    with broken(account):
        code, found = examine(request_file)
    assert code == ExitCode.UNFIT
    first = found[0]
    assert (first["check"], first["about"].split()[0], first["status"]) == (check, about, "failed")
    assert remedy in first["remedy"]
    assert {one["check"] for one in found} == {check}


def test_machine_that_nobody_prepared_and_one_that_is_gone(account: Account, tmp_path: Path) -> None:
    account.cloud.spoil(Fault(operation="UpdateInstanceInformation", region=OTHER, count=1000))
    ec2 = account.cloud.client("ec2", OTHER)
    [prepared] = ec2.describe_instances(InstanceIds=[account.destination])["Reservations"][0]["Instances"]
    where = [{"Name": "vpc-id", "Values": [prepared["VpcId"]]}, {"Name": "group-name", "Values": ["cpt-relay"]}]
    [other] = ec2.describe_security_groups(Filters=where)["SecurityGroups"]
    interface = {"DeviceIndex": 0, "SubnetId": prepared["SubnetId"], "Groups": [other["GroupId"]]}
    answer = ec2.run_instances(
        ImageId=prepared["ImageId"],
        InstanceType=END_TYPE,
        MinCount=1,
        MaxCount=1,
        NetworkInterfaces=[{**interface, "AssociatePublicIpAddress": True}],
    )
    bare = answer["Instances"][0]["InstanceId"]
    ec2.get_waiter("instance_running").wait(InstanceIds=[bare], WaiterConfig={"Delay": 1, "MaxAttempts": 60})
    document = account.request("/data/set", "/restore", relays={"pairs": 0})
    document["source"]["instanceId"], document["destination"]["instanceId"] = "i-0123456789abcdef0", bare
    request = tmp_path / "request.json"
    request.write_text(json.dumps(document))
    code, found = examine(request)
    assert code == ExitCode.UNFIT
    assert [(one["check"], one["about"].split()[0]) for one in found] == [
        ("machine", "source"),
        ("agent", "destination"),
        ("policy", "destination"),
        ("group", "destination"),
        ("consent", "destination"),
    ]
    assert found[-1]["status"] == "warning"
    remedies = [
        "correct instanceId",
        "amazon-ssm-agent",
        "associate-iam-instance-profile",
        "modify-instance-attribute",
        f"aws ec2 create-tags --region {OTHER} --resources {bare} --tags Key=cpt:end,Value=cpt",
    ]
    for one, remedy in zip(found, remedies, strict=True):
        assert remedy in one["remedy"]


def test_request_that_cannot_be_is_told_by_field(tmp_path: Path) -> None:
    request = tmp_path / "request.json"
    request.write_text('{"source": {}}')
    code, found = examine(request)
    assert code == ExitCode.UNFIT
    assert "$.destination: is missing; it is required" in [one["message"] for one in found]


def test_deployment_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = json.loads(Path("cdk.json").read_text())
    settings["context"]["cpt"]["name"] = "other"
    (tmp_path / "cdk.json").write_text(json.dumps(settings))
    monkeypatch.chdir(tmp_path)
    code, found = examine()
    assert code == ExitCode.UNFIT
    assert [one["message"] for one in found] == ["there is no function other-validate-request"]
