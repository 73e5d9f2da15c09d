"""Counted faults: capacity, partial capacity, spot warnings; and a boot that takes its time."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from local.cloud import LocalCloud
from local.config import LocalConfig
from tests.local.assembly import HOME, OTHER

SETTINGS = {
    "port": 0,
    "iam": False,
    "bootSeconds": 60,
    "spotGraceSeconds": 0,
    "capacityErrors": [
        {"region": HOME, "launch": 2},
        {"region": HOME, "launch": 3, "available": 1},
        {"region": OTHER, "launch": 1, "count": 2, "code": "VcpuLimitExceeded"},
    ],
    "spotWarnings": [{"region": HOME, "launch": 1, "afterSeconds": 0}],
}
IMAGE = "resolve:ssm:/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64"


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCloud]:
    state: Path = tmp_path_factory.mktemp("faults")
    with LocalCloud(LocalConfig.model_validate(SETTINGS), state, None) as running:
        yield running


def launch(cloud: LocalCloud, region: str, most: int = 1) -> list[dict[str, Any]]:
    answer = cloud.client("ec2", region).run_instances(
        ImageId=IMAGE, InstanceType="t3.small", MinCount=1, MaxCount=most
    )
    return list(answer["Instances"])


def test_counted_launches_fail_and_the_next_works(faulty: LocalCloud) -> None:
    first = launch(faulty, HOME)[0]["InstanceId"]
    with pytest.raises(ClientError, match=r"InsufficientInstanceCapacity.*t3\.small.*us-west-2a"):
        launch(faulty, HOME)
    assert len(launch(faulty, HOME, most=3)) == 1
    assert len(launch(faulty, HOME, most=3)) == 3
    filters = [{"Name": "instance-id", "Values": [first]}, {"Name": "instance-state-name", "Values": ["terminated"]}]
    faulty.wait_for(lambda: faulty.client("ec2").describe_instances(Filters=filters)["Reservations"], 10)


def test_faults_are_counted_per_region_and_have_their_own_code(faulty: LocalCloud) -> None:
    for _ in range(2):
        with pytest.raises(ClientError, match="VcpuLimitExceeded"):
            launch(faulty, OTHER)
    assert launch(faulty, OTHER)


def test_instance_that_has_not_booted_takes_no_commands(faulty: LocalCloud) -> None:
    instance_id = launch(faulty, HOME)[0]["InstanceId"]
    ec2, ssm = faulty.client("ec2"), faulty.client("ssm")
    filters = [{"Name": "instance-id", "Values": [instance_id]}, {"Name": "instance-state-name", "Values": ["running"]}]
    faulty.wait_for(lambda: ec2.describe_instances(Filters=filters)["Reservations"], 10)
    assert ssm.describe_instance_information()["InstanceInformationList"] == []
    with pytest.raises(ClientError, match="InvalidInstanceId"):
        ssm.send_command(
            InstanceIds=[instance_id], DocumentName="AWS-RunShellScript", Parameters={"commands": ["true"]}
        )
