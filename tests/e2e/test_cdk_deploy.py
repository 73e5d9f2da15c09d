"""docs/deploy.md by the CDK's own command line: bootstrap, deploy with settings, a transfer, diff, destroy."""

import json
import shutil
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from cli.exit_codes import ExitCode
from lambdas.core.transfer.record_format import FORMAT_VERSION
from local.cloud import ASSEMBLY, LocalCloud
from local.config import LocalConfig
from local.endpoints import TRUST
from tests.chaos.extent import only_full
from tests.e2e.account import HOME, OTHER, Account
from tests.e2e.cdk import Cdk, cdk_of, leave, statuses
from tests.e2e.files import make_files, tree

SETTINGS = {
    "homeRegion": HOME,
    "regions": {HOME: {}, OTHER: {"cidr": "10.77.0.0/16"}},
    "maxPairs": 3,
    "tags": {"cost-center": "4711"},
}


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCloud]:
    """An account in which nothing is deployed."""
    with LocalCloud(LocalConfig(port=0), tmp_path_factory.mktemp("bare"), None) as running:
        yield running


@pytest.fixture(scope="module")
def cdk(cloud: LocalCloud) -> Cdk:
    """The CDK's own command line."""
    return cdk_of(cloud)


@pytest.fixture(scope="module")
def assembly(cloud: LocalCloud, cdk: Cdk, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Bootstrapped and deployed; the templates that were made of the settings. `cdk.out` stays as it is."""
    made = tmp_path_factory.mktemp("assembly")
    account = cloud.config.account
    cdk("bootstrap", "--app", str(ASSEMBLY), f"aws://{account}/{HOME}", f"aws://{account}/{OTHER}")
    context = ["-c", f"cpt={json.dumps(SETTINGS)}", "--output", str(made)]
    cdk("deploy", "--all", "--require-approval", "never", *context)
    return made


@only_full
def test_what_was_deployed_is_what_the_settings_say(cloud: LocalCloud, assembly: Path, cdk: Cdk) -> None:
    stacks = cloud.client("cloudformation").describe_stacks()["Stacks"]
    outputs = {o["OutputKey"]: o["OutputValue"] for s in stacks for o in s.get("Outputs", [])}
    assert outputs["EndpointPolicyArn"] == f"arn:aws:iam::{cloud.config.account}:policy/cpt-endpoint"
    machine = cloud.client("stepfunctions").list_tags_for_resource(resourceArn=outputs["StateMachineArn"])
    assert {"key": "cost-center", "value": "4711"} in machine["tags"]
    vpcs = cloud.client("ec2", OTHER).describe_vpcs(Filters=[{"Name": "tag:cpt:deployment", "Values": ["cpt"]}])
    assert [vpc["CidrBlock"] for vpc in vpcs["Vpcs"]] == ["10.77.0.0/16"]
    assert "Number of stacks with differences: 0" in cdk("diff", "--app", str(assembly))


@only_full
def test_it_moves_data(cloud: LocalCloud, assembly: Path, tmp_path: Path) -> None:
    assert assembly.is_dir()
    account = Account(cloud, tmp_path)
    source = make_files(tmp_path / "set", large_bytes=1000)
    run = account.run(account.request(source, tmp_path / "out", relays={"pairs": 1}), "by-cdk")
    assert run.status == "SUCCEEDED"
    assert tree(tmp_path / "out" / "set") == tree(source)


def of_format(assembly: Path, made: Path, version: int) -> Path:
    """The assembly as another version of CPT would make it, whose functions keep records of that format."""
    shutil.copytree(assembly, made)
    (module,) = made.glob("asset.*/lambdas/core/transfer/record_format.py")
    text = module.read_text()
    line = f"FORMAT_VERSION = {FORMAT_VERSION}\n"
    assert line in text
    module.write_text(text.replace(line, f"FORMAT_VERSION = {version}\n"))
    # Files are published by the digests of what they hold: that of the functions, and those of templates that name it.
    (assets,) = made.glob("cpt-control.assets.json")
    files = json.loads(assets.read_text())["files"]
    folder = module.parents[2].name
    known = [key for key, file in files.items() if file["source"]["path"] in (folder, "cpt-control.template.json")]
    other = {digest: sha256(digest.encode()).hexdigest() for digest in known}
    for file in made.glob("*.json"):
        text = file.read_text()
        for digest in known:
            text = text.replace(digest, other[digest])
        file.write_text(text)
    (made / folder).rename(made / f"asset.{other[folder.removeprefix('asset.')]}")
    return made


def forget_stages(account: Account, name: str) -> None:
    """Make the relays' items what format 2 had: a place was only a word."""
    table = account.aws.resource("dynamodb").Table("cpt-nodes")
    relays = account.nodes(name)
    assert len(relays) == 2
    for relay in relays:
        key = {part: relay[part] for part in ("transferId", "nodeId")}
        table.update_item(Key=key, UpdateExpression="REMOVE #stage", ExpressionAttributeNames={"#stage": "stage"})


@only_full
def test_a_deployment_over_a_running_transfer_of_another_format_ends_it_by_name(
    cloud: LocalCloud, assembly: Path, cdk: Cdk, tmp_path: Path
) -> None:
    before = of_format(assembly, tmp_path / "before", FORMAT_VERSION - 1)
    cdk("deploy", "--all", "--require-approval", "never", "--app", str(before))
    account = Account(cloud, tmp_path)
    # 4 Mbit/s: 40 MB take 80 s, in which the other version is deployed.
    source = make_files(tmp_path / "set", large_bytes=40_000_000)
    request = account.request(source, tmp_path / "out", relays={"pairs": 1}, bandwidthLimitMbps=4)
    arn = account.start(request, "deployed-over")
    cloud.wait_for(lambda: account.progress("deployed-over").get("bytes"), 60)
    assert (account.record("deployed-over", "transfer") or {})["formatVersion"] == FORMAT_VERSION - 1
    forget_stages(account, "deployed-over")
    cdk("deploy", "--all", "--require-approval", "never", "--app", str(assembly))
    account.look_at("deployed-over")
    run = account.wait(arn)
    assert (run.status, run.error) == ("FAILED", "RecordOfOtherVersion"), run.cause
    assert "deployed over" in str(run.cause)
    cloud.wait_for(lambda: not account.left("deployed-over"), 90)
    again = account.run({**request, "name": "deployed-over", "resume": True}, "deployed-over-again")
    assert (again.status, again.error) == ("FAILED", "InvalidRequest")
    assert "$.resume" in str(again.cause)
    assert "deployed over" in str(again.cause)
    anew = account.run({**request, "bandwidthLimitMbps": 200}, "deployed-anew")
    assert (anew.status, anew.cause) == ("SUCCEEDED", None)
    assert tree(tmp_path / "out" / "set") == tree(source)

    # The release before over this one, as the page says: what this one has written is refused by name, data moves.
    cdk("deploy", "--all", "--require-approval", "never", "--app", str(before))
    refused = account.run({**request, "name": "deployed-anew", "resume": True}, "deployed-back")
    assert (refused.status, refused.error) == ("FAILED", "InvalidRequest")
    assert f"format {FORMAT_VERSION}" in str(refused.cause)
    back = account.run(account.request(source, tmp_path / "back", relays={"pairs": 1}), "back")
    assert (back.status, back.cause) == ("SUCCEEDED", None)
    assert tree(tmp_path / "back" / "set") == tree(source)


@only_full  # what holds, and that nothing is left once it is undone, is test_leaving's too
def test_destroy_fails_by_name_after_the_documented_set_up_and_succeeds_once_it_is_undone(
    cloud: LocalCloud, assembly: Path, cdk: Cdk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    destroy = ("destroy", "--all", "--force", "--app", str(assembly))
    iam = cloud.client("iam")
    iam.create_role(RoleName="own", AssumeRolePolicyDocument=json.dumps(TRUST))
    policy = f"arn:aws:iam::{cloud.config.account}:policy/cpt-endpoint"
    iam.attach_role_policy(RoleName="own", PolicyArn=policy)
    # The machines of the transfers above are still there.
    assert "DELETE_FAILED" in cdk(*destroy, succeeds=False)
    assert "DELETE_FAILED" in statuses(cloud).values()
    left = leave(cloud, SETTINGS, tmp_path, monkeypatch, "--yes")
    assert left.code == ExitCode.UNFIT
    assert {tie["message"].split(" is ")[0] for tie in left.of("holds")} >= {
        f"the machine {machine}" for region in (HOME, OTHER) for machine in machines(cloud, region)
    }
    for region in (HOME, OTHER):
        cloud.client("ec2", region).terminate_instances(InstanceIds=machines(cloud, region))
    cloud.wait_for(lambda: not machines(cloud, HOME) and not machines(cloud, OTHER), 30)
    # Attached again: what the first look undid was this as well.
    iam.attach_role_policy(RoleName="own", PolicyArn=policy)
    assert "DELETE_FAILED" in cdk(*destroy, succeeds=False)
    assert statuses(cloud)["cpt-control"] == "DELETE_FAILED"
    last = leave(cloud, SETTINGS, tmp_path, monkeypatch, "--yes")
    assert last.code == ExitCode.SUCCEEDED
    cdk(*destroy)
    assert set(statuses(cloud)) == {"CDKToolkit"}
    tables = set(cloud.client("dynamodb").list_tables()["TableNames"])
    buckets = {one["Name"] for one in cloud.client("s3").list_buckets()["Buckets"] if one["Name"].startswith("cpt-")}
    assert tables == {"cpt-transfers", "cpt-profiles"}
    assert {tie["about"] for tie in last.of("stays")} == {"CDKToolkit", *tables, *buckets}
    assert cloud.client("lambda").list_functions()["Functions"] == []


def machines(cloud: LocalCloud, region: str) -> list[str]:
    """Instances that are not terminated."""
    found = cloud.client("ec2", region).describe_instances()["Reservations"]
    every = [one for group in found for one in group["Instances"]]
    return [one["InstanceId"] for one in every if one["State"]["Name"] != "terminated"]
