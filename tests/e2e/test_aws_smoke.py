"""`make aws-smoke` itself, against the local cloud: in an account without default VPC, by a role with a path."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bench.aws_smoke.ends import TAG
from local.cloud import CHECKOUT, LocalCloud
from local.config import LocalConfig
from tests.conformance.compare import differences
from tests.e2e.account import HOME, OTHER

RECORDED = sorted((CHECKOUT / "tests/conformance/recorded").glob("*.json"))
# A boot of 4 s, an agent that takes 2 s, 0.13 s to the other region: a transfer of 24 s outlasts it all.
DELAYS = {"bootSeconds": 4, "ssmRegistrationSeconds": 2, "latency": {"remoteRegionSeconds": 0.13}}
MOVED = ["--megabytes", "24", "--relay-seconds", "22"]
TRUST = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "sts:AssumeRole"}],
}
ALL = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}


@dataclass
class Person:
    """Who runs it: credentials of a role with a path, and a directory with `cdk.json`."""

    cloud: LocalCloud
    work: Path
    environment: dict[str, str]

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "bench.aws_smoke", "--yes", "--deployed", *arguments]
        return subprocess.Popen(
            command, cwd=self.work, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def machines(self) -> list[tuple[str, str]]:
        """State and name of every machine that the account has ever had."""
        return [
            (one["State"]["Name"], next(tag["Value"] for tag in one["Tags"] if tag["Key"] in (TAG, "cpt:transfer")))
            for region in (HOME, OTHER)
            for group in self.cloud.client("ec2", region).describe_instances()["Reservations"]
            for one in group["Instances"]
        ]


@pytest.fixture(scope="module")
def person(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Person]:
    work = tmp_path_factory.mktemp("smoke")
    (work / "cdk.json").symlink_to(CHECKOUT / "cdk.json")
    config = LocalConfig.model_validate({"port": 0, "invocationDoesNotExist": 1, **DELAYS})
    with LocalCloud(config, work / "state") as cloud:
        for region in (HOME, OTHER):
            ec2 = cloud.client("ec2", region)
            (default,) = ec2.describe_vpcs(Filters=[{"Name": "is-default", "Values": ["true"]}])["Vpcs"]
            for subnet in ec2.describe_subnets(Filters=[{"Name": "vpc-id", "Values": [default["VpcId"]]}])["Subnets"]:
                ec2.delete_subnet(SubnetId=subnet["SubnetId"])
        iam = cloud.client("iam")
        role = iam.create_role(Path="/team/data/", RoleName="mover", AssumeRolePolicyDocument=json.dumps(TRUST))
        iam.put_role_policy(RoleName="mover", PolicyName="all", PolicyDocument=json.dumps(ALL))
        keys = cloud.client("sts").assume_role(RoleArn=role["Role"]["Arn"], RoleSessionName="me")["Credentials"]
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("AWS_")},
            "PYTHONPATH": str(CHECKOUT),
            "AWS_ENDPOINT_URL": cloud.endpoint,
            "AWS_ACCESS_KEY_ID": keys["AccessKeyId"],
            "AWS_SECRET_ACCESS_KEY": keys["SecretAccessKey"],
            "AWS_SESSION_TOKEN": keys["SessionToken"],
            "AWS_DEFAULT_REGION": HOME,
        }
        yield Person(cloud, work, environment)


@dataclass
class Finished:
    code: int
    output: str
    results: dict[str, Any]
    record: dict[str, Any]


@pytest.fixture(scope="module")
def finished(person: Person) -> Finished:
    """One whole run."""
    record = person.work / "record.json"
    process = person.start("--max-cost-usd", "0.5", "--record", str(record), *MOVED)
    output, _ = process.communicate(timeout=200)
    rows = json.loads((person.work / "bench/out/aws-smoke.json").read_text())
    return Finished(process.returncode, output, {row["case"]: row for row in rows}, json.loads(record.read_text()))


def test_it_proves_a_transfer_through_a_pair_and_says_what_it_cost(finished: Finished) -> None:
    assert finished.code == 0, finished.output
    assert finished.results["through pair-1"]["measured"] > 0.05
    assert finished.results["data"]["measured"] >= 22
    assert 0 < finished.results["cost of everything"]["measured"] < 0.5
    assert "role/team/data/mover" in finished.output


def test_nothing_that_it_made_is_left(person: Person, finished: Finished) -> None:
    assert finished.code == 0
    machines = person.machines()
    assert {state for state, _ in machines} == {"terminated"}
    assert len(machines) == 4  # two ends, two relays
    assert not list(Path("/var/tmp").glob(f"cpt-smoke-{machines[0][1]}*"))


def test_its_recording_names_nobody(person: Person, finished: Finished) -> None:
    text = json.dumps(finished.record)
    account = person.cloud.config.account
    secrets = [account, "i-", "127.", "arn:", "amazonaws", "mover", HOME, person.environment["AWS_ACCESS_KEY_ID"]]
    answers = json.dumps(finished.record["calls"])
    assert [secret for secret in secrets if secret in answers] == []
    assert finished.record["cloud"] == "local"
    assert "<instance" not in text
    assert finished.record["timings"]["relayStarts"]


@pytest.mark.parametrize("file", RECORDED, ids=lambda file: file.stem)
def test_the_emulator_answers_as_was_recorded(file: Path, finished: Finished) -> None:
    assert differences(json.loads(file.read_text()), finished.record) == []


def test_ctrl_c_in_the_middle_of_the_transfer_removes_everything(person: Person) -> None:
    process = person.start("--max-cost-usd", "0.5", "--record", str(person.work / "cut.json"), *MOVED)
    try:
        person.cloud.wait_for(person.cloud.live_relays, 60)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=100)
    finally:
        process.kill()
    assert process.returncode == 1
    assert "interrupted" in output
    assert {state for state, _ in person.machines()} == {"terminated"}
    executions = person.cloud.client("stepfunctions")
    (machine,) = (
        one["stateMachineArn"]
        for one in executions.list_state_machines()["stateMachines"]
        if one["name"] == "cpt-transfer"
    )
    assert executions.list_executions(stateMachineArn=machine, statusFilter="RUNNING")["executions"] == []
