"""`make aws-smoke` as the first person runs it: an empty account, with the delays of AWS, deployed and destroyed."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from local.cloud import CHECKOUT, LocalCloud
from local.config import LocalConfig
from tests.chaos.extent import only_full
from tests.e2e.account import HOME, OTHER
from tests.e2e.person import Person, by_role

DELAYS = {
    "launchSeconds": 5,
    "bootSeconds": 45,
    "ssmRegistrationSeconds": 15,
    "terminateSeconds": 20,
    "coldStartSeconds": 2,
    "latency": {"remoteRegionSeconds": 0.13, "ssmSeconds": 0.2},
    "invocationDoesNotExist": 1,
}
# A relay carries data 75 s after its launch; at 5 Mbit/s 80 MB take 128 s.
ARGUMENTS = ["--max-cost-usd", "0.5", "--megabytes", "80", "--relay-seconds", "120"]

pytestmark = only_full


@pytest.fixture
def person(tmp_path: Path) -> Iterator[Person]:
    config = LocalConfig.model_validate({"port": 0, **DELAYS})
    with LocalCloud(config, tmp_path / "state", None) as cloud:
        found = by_role(cloud, CHECKOUT)
        found.environment["CDK_HOME"] = str(Path(".cache/cdk").absolute())
        accounts = [f"aws://{config.account}/{region}" for region in (HOME, OTHER)]
        command = ["npx", "--no-install", "cdk", "bootstrap", "--app", "cdk.out", *accounts]
        subprocess.run(command, env={**os.environ, **found.environment}, check=True, capture_output=True)
        yield found


def test_an_empty_account_is_empty_again(person: Person, tmp_path: Path) -> None:
    record = tmp_path / "record.json"
    synthesized = Path("cdk.out/cpt-control.assets.json").read_bytes()
    process = person.start("--record", str(record), *ARGUMENTS)
    output, _ = process.communicate(timeout=800)
    assert process.returncode == 0, output
    timings = json.loads(record.read_text())["timings"]
    assert min(start["agent"] for start in timings["relayStarts"]) > 60
    stacks = [
        stack["StackName"]
        for region in (HOME, OTHER)
        for stack in person.cloud.client("cloudformation", region).describe_stacks()["Stacks"]
    ]
    assert set(stacks) == {"CDKToolkit"}
    assert Path("cdk.out/cpt-control.assets.json").read_bytes() == synthesized  # it deploys again
    assert {state for states in person.machines().values() for state in states} == {"terminated"}
