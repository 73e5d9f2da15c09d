"""Two tenants and the operator share a deployment, with IAM enforced: each has a say in his own transfers alone."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from cli.exit_codes import ExitCode
from cli.state_reading import read_state
from local.cloud import LocalCloud
from local.config import LocalConfig
from tests.chaos.extent import only_full
from tests.e2e.account import HOME, OTHER, Account
from tests.e2e.assembly import synthesized
from tests.e2e.files import make_files, tree
from tests.e2e.image import with_daemon
from tests.e2e.people import Person, acting_by, denied, having, refused

# The operator has all policies of people; each tenant has his own and no other.
OPERATOR = ("reader", "starter", "approver")
TENANTS = {"acme": {"activeTransfers": 1, "relays": 4, "usdPerMonth": 5}, "beta": {}}
ACTS = ("approve", "cancel", "limit", "pause", "unpause", "report", "watch", "teardown")


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Account]:
    work = tmp_path_factory.mktemp("tenants")
    templates = synthesized(work / "assembly", (HOME, OTHER), tenants=TENANTS)
    config = LocalConfig.model_validate(
        {
            "port": 0,
            "caps": {"interRegionMBps": 20.0, "intraRegionMBps": 160.0},
            "bootSeconds": 1.0,
            "pollSeconds": 0.2,
            "image": with_daemon(work / "image"),
        }
    )
    with LocalCloud(config, work / "state", templates) as cloud:
        yield Account(cloud, work)


@pytest.fixture(scope="module")
def people(account: Account) -> dict[str, Person]:
    by_part = {part: having(account, part) for part in OPERATOR}
    return {**by_part, **{tenant: of_tenant(account, tenant) for tenant in TENANTS}}


def of_tenant(account: Account, tenant: str) -> Person:
    stacks = account.aws.client("cloudformation").describe_stacks(StackName="cpt-tenants")["Stacks"]
    outputs = {one["OutputKey"]: one["OutputValue"] for one in stacks[0]["Outputs"]}
    return acting_by(account, tenant, outputs[f"{tenant.title()}TenantPolicyArn"])


def asking(account: Account, tmp_path: Path, called: str, **more: Any) -> tuple[Path, Path, Path]:
    """A request's file, the source and where it arrives."""
    source = make_files(tmp_path / f"{called}-set", large_bytes=1000)
    out, request = tmp_path / f"{called}-out", tmp_path / f"{called}.json"
    request.write_text(json.dumps(account.request(source, out, relays={"pairs": 0}, **more)))
    return request, source, out / source.name


def test_a_tenant_starts_approves_and_reads_his_own_and_nobody_else_but_the_operator_does(
    account: Account, people: dict[str, Person], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    acme, beta = people["acme"], people["beta"]
    request, source, arrived = asking(account, tmp_path, "acme-a", approval="required")
    # Not without his alias, nor through another's: neither by IAM, nor, where IAM admits it, by the name.
    refused(acme.cpt("start", request, "--name", "a"))
    refused(acme.cpt("--tenant", "beta", "start", request, "--name", "beta-a"))
    wrong = acme.cpt("--tenant", "acme", "start", request, "--name", "beta-a")
    assert (wrong.exit_code, "does not begin with 'acme-'" in wrong.output) == (ExitCode.REQUEST, True), wrong.output
    began = acme.cpt("--tenant", "acme", "start", request, "--name", "acme-a")
    assert began.exit_code == ExitCode.SUCCEEDED, began.output
    account.cloud.wait_for(lambda: read_state(account.aws, "acme-a").awaits_approval, 60)

    record = account.record("acme-a", "transfer")
    assert record is not None
    assert (record["tenant"], record["request"]["objective"]["maxCostUsd"]) == ("acme", 5)
    for act in ACTS:
        more = {"limit": ("--mbps", "80"), "teardown": ("--yes",)}.get(act, ())
        told = beta.cpt("--tenant", "beta", act, "acme-a", *more)
        # By IAM, where it is a record, an object or an execution; by the function, where it is his own alias.
        is_denied = isinstance(told.exception, ClientError) and "AccessDenied" in str(told.exception)
        assert is_denied or "is not of tenant 'beta'" in told.output, (act, told.output)
        refused(beta.cpt(act, "acme-a", *more))
    for function in ("cpt-pause-transfer", "cpt-decide-approval"):
        # By his own permissions another's alias is out of reach, and so is the function without any.
        for qualifier in ("acme", None):
            named = {"FunctionName": function, **({"Qualifier": qualifier} if qualifier else {})}
            denied(beta.client("lambda").invoke, Payload=json.dumps({"transferId": "acme-a"}), **named)
    assert read_state(account.aws, "acme-a").awaits_approval

    assert "waits for approval" in acme.clicks("cpt-show-transfers:acme", {})
    assert "acme-a" not in beta.clicks("cpt-show-transfers:beta", {})
    assert "is not of tenant" in shown_error(beta, "cpt-show-transfers:beta", "acme-a")

    # One more than may be active is refused, before anything of it is there.
    request_b, _, _ = asking(account, tmp_path, "acme-b")
    assert acme.cpt("--tenant", "acme", "start", request_b, "--name", "acme-b").exit_code == ExitCode.SUCCEEDED
    run = account.wait(arn_of(account, "acme-b"))
    assert (run.error, "tenants.acme.activeTransfers is 1" in str(run.cause)) == ("InvalidRequest", True)
    assert account.record("acme-b", "transfer") is None

    assert acme.cpt("--tenant", "acme", "approve", "acme-a").exit_code == ExitCode.SUCCEEDED
    watched = acme.cpt("--tenant", "acme", "watch", "acme-a", "--json")
    assert watched.exit_code == ExitCode.SUCCEEDED, watched.output
    assert tree(arrived) == tree(source)
    report = acme.cpt("--tenant", "acme", "report", "acme-a", "--json")
    assert (report.exit_code, json.loads(report.stdout)["tenant"]) == (ExitCode.SUCCEEDED, "acme")
    assert people["reader"].cpt("report", "acme-a").exit_code == ExitCode.SUCCEEDED
    assert names(acme.cpt("--tenant", "acme", "list", "--json").stdout) == {"acme-a", "acme-b"}
    refused(acme.cpt("list"))
    assert names(beta.cpt("--tenant", "beta", "list", "--json").stdout) == set()
    assert {"acme-a", "acme-b"} <= names(people["reader"].cpt("list", "--json").stdout)


def test_by_no_way_round_the_command_line_a_tenant_reaches_what_is_not_his(
    account: Account, people: dict[str, Person], tmp_path: Path
) -> None:
    beta = people["beta"]
    states, dynamodb, s3 = beta.client("stepfunctions"), beta.client("dynamodb"), beta.client("s3")
    document = json.dumps(account.request(tmp_path, tmp_path / "out", relays={"pairs": 0}))
    for machine in (account.machine, f"{account.machine}:acme", f"{account.machine}:1"):
        denied(states.start_execution, stateMachineArn=machine, name="beta-x", input=document)
        denied(states.list_executions, stateMachineArn=machine)
    # His alias takes any name; an execution of another's ends before anything is done for it.
    for name in ("acme-x", "x"):
        arn = states.start_execution(stateMachineArn=f"{account.machine}:beta", name=name, input=document)[
            "executionArn"
        ]
        assert (account.wait(arn).error, account.record(name, "transfer")) == ("InvalidRequest", None)
        denied(states.describe_execution, executionArn=arn)
    theirs = arn_of(account, "acme-a")
    for call in (states.describe_execution, states.stop_execution, states.get_execution_history):
        denied(call, executionArn=theirs)
    for key in ("acme-a", "tenant#acme", "limits#", f"{'+'.join(['arn:x'] * 2)}+acme-a"):
        denied(
            dynamodb.get_item, TableName="cpt-transfers", Key={"transferId": {"S": key}, "record": {"S": "transfer"}}
        )
        asked = {"KeyConditionExpression": "transferId = :id", "ExpressionAttributeValues": {":id": {"S": key}}}
        for table in ("cpt-transfers", "cpt-nodes"):
            denied(dynamodb.query, TableName=table, **asked)
    denied(dynamodb.scan, TableName="cpt-transfers")
    denied(s3.get_object, Bucket=account.bucket, Key="transfers/acme-a/report.json")
    for key in ("requests/beta.json", "requests/tenant=acme/a.json", "requests/tenant=betas/a.json"):
        denied(s3.put_object, Bucket=account.bucket, Key=key, Body=b"{}")
    schedule = {
        "ScheduleExpression": "cron(0 0 1 1 ? 2199)",
        "FlexibleTimeWindow": {"Mode": "OFF"},
        "Target": {"Arn": arn_of_function(account, "acme"), "RoleArn": role(account, "acme"), "Input": "{}"},
    }
    for group in ("cpt-starts", "cpt-starts-acme", "cpt-starts-beta"):
        denied(beta.client("scheduler").create_schedule, Name="x", GroupName=group, **schedule)


@only_full
def test_a_request_that_a_tenant_uploads_runs_as_his(
    account: Account, people: dict[str, Person], tmp_path: Path
) -> None:
    beta = people["beta"]
    request, source, arrived = asking(account, tmp_path, "beta-up")
    upload(beta, account.bucket, "requests/tenant=beta/up.json", request)
    answer = account.cloud.wait_for(lambda: found(beta, account.bucket, "requests/tenant=beta/up.started.json"), 60)
    assert answer["transferId"].startswith("beta-up-")
    assert account.wait(answer["executionArn"]).status == "SUCCEEDED"
    record = account.record(answer["transferId"], "transfer")
    assert record is not None
    assert (record["tenant"], tree(arrived)) == ("beta", tree(source))


def test_what_a_tenant_uploads_and_schedules_is_judged_and_kept_as_his(
    account: Account, people: dict[str, Person], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    beta = people["beta"]
    request, _, _ = asking(account, tmp_path, "beta-wrong", name="acme-c")
    upload(beta, account.bucket, "requests/tenant=beta/wrong.json", request)
    told = account.cloud.wait_for(lambda: found(beta, account.bucket, "requests/tenant=beta/wrong.error.json"), 60)
    assert "$.name: 'acme-c' does not begin with 'beta-'" in told["problems"][0]

    request, _, _ = asking(account, tmp_path, "nightly")
    add = ("schedule", "add", "nightly", request, "--expression", "cron(0 0 1 1 ? 2199)")
    added = beta.cpt("--tenant", "beta", *add)
    assert added.exit_code == ExitCode.SUCCEEDED, added.output
    target = beta.client("scheduler").get_schedule(Name="nightly", GroupName="cpt-starts-beta")["Target"]
    assert (target["Arn"], target["RoleArn"]) == (arn_of_function(account, "beta"), role(account, "beta"))
    denied(people["acme"].client("scheduler").get_schedule, Name="nightly", GroupName="cpt-starts-beta")
    assert beta.cpt("--tenant", "beta", "schedule", "remove", "nightly").exit_code == ExitCode.SUCCEEDED


def shown_error(person: Person, function: str, name: str) -> str:
    answer = person.client("lambda").invoke(FunctionName=function, Payload=json.dumps({"transferId": name}))
    return str(json.loads(answer["Payload"].read())["errorMessage"])


def names(lines: str) -> set[str]:
    return {json.loads(line)["name"] for line in lines.splitlines()}


def upload(person: Person, bucket: str, key: str, file: Path) -> None:
    person.client("s3").put_object(Bucket=bucket, Key=key, Body=file.read_bytes())


def found(person: Person, bucket: str, key: str) -> Any:
    """A document, once it is there; of a key that is absent S3 says AccessDenied to whoever may not list."""
    try:
        return json.loads(person.client("s3").get_object(Bucket=bucket, Key=key)["Body"].read())
    except ClientError:
        return None


def arn_of(account: Account, name: str) -> str:
    return f"{account.machine.replace(':stateMachine:', ':execution:')}:{name}"


def arn_of_function(account: Account, tenant: str) -> str:
    prefix = account.machine.replace(":states:", ":lambda:").partition(":stateMachine:")[0]
    return f"{prefix}:function:cpt-start-from-schedule:{tenant}"


def role(account: Account, tenant: str) -> str:
    return f"arn:aws:iam::{account.machine.split(':')[4]}:role/cpt-starts-{tenant}-{HOME}"
