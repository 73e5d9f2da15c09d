"""`make aws-smoke` itself, against the local cloud: in an account without default VPC, by a role with a path."""

import json
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bench.aws_smoke import transfer
from bench.aws_smoke.options import least_usd
from local.cloud import CHECKOUT, LocalCloud
from local.config import LocalConfig
from tests.chaos.extent import only_full
from tests.conformance.compare import differences
from tests.e2e.account import HOME, OTHER
from tests.e2e.person import Person, by_role

RECORDED = sorted((CHECKOUT / "tests/conformance/recorded").glob("*.json"))
# Relays join 7 s after their launch: a boot of 3 s, an agent that takes 1 s, 0.13 s to the other region, the install.
# At 8 Mbit/s the data moves for 20 s.
DELAYS = {"bootSeconds": 3, "ssmRegistrationSeconds": 1, "latency": {"remoteRegionSeconds": 0.13}}
MEGABYTES, RELAY_SECONDS = 20, 18
# The least that it asks for has to do.
USD = round(least_usd((HOME, OTHER), "t3.small", MEGABYTES, RELAY_SECONDS) + 0.005, 2)
OPTIONS = [
    "--deployed",
    "--max-cost-usd",
    str(USD),
    "--megabytes",
    str(MEGABYTES),
    "--relay-seconds",
    str(RELAY_SECONDS),
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
        yield by_role(cloud, work)


@dataclass
class Finished:
    """Two runs side by side: one whole, and one that was interrupted once it had relays."""

    code: int
    output: str
    results: dict[str, Any]
    record: dict[str, Any]
    cut_code: int
    cut_output: str
    left_before_the_cut: list[str]


@pytest.fixture(scope="module")
def finished(person: Person) -> Iterator[Finished]:
    record = person.work / "record.json"
    with ExitStack() as stack:
        cut, whole = (
            stack.enter_context(person.start("--record", str(path), *OPTIONS))
            for path in (person.work / "cut.json", record)
        )
        stack.callback(cut.kill)
        stack.callback(whole.kill)
        cut_run = f"-{cut.pid}"
        tagged = {"Name": "tag:cpt:transfer", "Values": [f"*{cut_run}"]}
        ec2 = person.cloud.client("ec2", OTHER)
        relay = person.cloud.wait_for(lambda: ec2.describe_instances(Filters=[tagged])["Reservations"], 90)[0]
        tags = {tag["Key"]: tag["Value"] for tag in relay["Instances"][0]["Tags"]}
        left = transfer.left(person.cloud.client, (OTHER,), tags["cpt:transfer"])
        cut.send_signal(signal.SIGINT)
        cut_output, _ = cut.communicate(timeout=120)
        output, _ = whole.communicate(timeout=200)
        rows = json.loads((person.work / "bench/out/aws-smoke.json").read_text())
        results = {row["case"]: row for row in rows}
        kept = json.loads(record.read_text())
        yield Finished(whole.returncode, output, results, kept, cut.returncode, cut_output, left)


@only_full
def test_it_proves_a_transfer_through_a_pair_and_says_what_it_cost(finished: Finished) -> None:
    assert finished.code == 0, finished.output
    assert finished.results["through pair-1"]["measured"] > 0.05
    assert finished.results["data"]["measured"] >= RELAY_SECONDS
    assert 0 < finished.results["cost of everything"]["measured"] < USD
    assert "role/team/data/mover" in finished.output


@only_full
def test_ctrl_c_in_the_middle_of_the_transfer_is_a_failure_that_stops_it(person: Person, finished: Finished) -> None:
    assert finished.cut_code == 1
    assert "interrupted" in finished.cut_output
    states = person.cloud.client("stepfunctions")
    machines = {one["name"]: one["stateMachineArn"] for one in states.list_state_machines()["stateMachines"]}
    executions = states.list_executions(stateMachineArn=machines["cpt-transfer"])["executions"]
    assert sorted(one["status"] for one in executions) == ["ABORTED", "SUCCEEDED"]


@only_full
def test_nothing_that_either_made_is_left(person: Person, finished: Finished) -> None:
    assert any(what.startswith("i-") for what in finished.left_before_the_cut)  # the script would have seen it
    assert finished.code == 0
    machines = person.machines()
    assert {run: set(states) for run, states in machines.items()} == {run: {"terminated"} for run in machines}
    assert sorted(map(len, machines.values())) == [4, 4]  # two ends, two relays
    assert not [run for run in machines if Path(f"/var/tmp/cpt-smoke-{run}").exists()]


@only_full
def test_its_recording_names_nobody(person: Person, finished: Finished) -> None:
    answers = json.dumps(finished.record["calls"])
    keys = (person.environment["AWS_ACCESS_KEY_ID"], person.environment["AWS_SESSION_TOKEN"])
    secrets = [person.cloud.config.account, '"i-', "127.", "arn:aws", "amazonaws", "mover", HOME, *keys]
    assert [secret for secret in secrets if secret in answers] == []
    assert finished.record["cloud"] == "local"
    assert finished.record["timings"]["relayStarts"]


@only_full
@pytest.mark.parametrize("file", RECORDED, ids=lambda file: file.stem)
def test_the_emulator_answers_as_was_recorded(file: Path, finished: Finished) -> None:
    assert differences(json.loads(file.read_text()), finished.record) == []
