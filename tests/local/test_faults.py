"""Counted faults: aimed at a region, zone, type or document; spot warnings; a boot that takes its time."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from lambdas.adapters import clients
from local.cloud import LocalCloud
from local.config import Fault, LocalConfig
from local.instances.faults import Faults
from tests.local.assembly import HOME, OTHER

SETTINGS = {
    "port": 0,
    "iam": False,
    "bootSeconds": 60,
    "spotGraceSeconds": 0,
    "faults": [
        {"region": HOME, "after": 1},
        {"region": HOME, "after": 2, "available": 1},
        {"region": OTHER, "count": 2, "code": "VcpuLimitExceeded"},
    ],
    "spotWarnings": [{"region": HOME, "launch": 1, "afterSeconds": 0}],
}
IMAGE = "resolve:ssm:/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64"


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCloud]:
    state: Path = tmp_path_factory.mktemp("faults")
    with LocalCloud(LocalConfig.model_validate(SETTINGS), state, None) as running:
        yield running


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCloud]:
    """Without configured faults: each test adds its own."""
    settings = {"port": 0, "iam": False, "vcpuQuota": 32}
    state: Path = tmp_path_factory.mktemp("quick")
    with LocalCloud(LocalConfig.model_validate(settings), state, None) as running:
        yield running


def launch(cloud: LocalCloud, region: str, most: int = 1, kind: str = "t3.small", **more: Any) -> list[dict[str, Any]]:
    answer = cloud.client("ec2", region).run_instances(
        ImageId=IMAGE, InstanceType=kind, MinCount=1, MaxCount=most, **more
    )
    return list(answer["Instances"])


def spoil(cloud: LocalCloud, **fault: Any) -> None:
    cloud.spoil(Fault.model_validate(fault))


def test_counted_launches_fail_and_the_next_works(faulty: LocalCloud) -> None:
    first = launch(faulty, HOME)[0]["InstanceId"]
    with pytest.raises(ClientError, match=r"InsufficientInstanceCapacity.*t3\.small.*us-west-2a") as refused:
        launch(faulty, HOME)
    assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 500
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


def test_launch_fault_is_aimed_at_zone_type_and_market(quick: LocalCloud) -> None:
    spoil(quick, region=HOME, zone="us-west-2a", instanceType="c6in.large", market="spot")
    spot: dict[str, Any] = {"InstanceMarketOptions": {"MarketType": "spot"}}
    subnets = quick.client("ec2", HOME).describe_subnets()["Subnets"]
    elsewhere = next(item["SubnetId"] for item in subnets if item["AvailabilityZone"] != "us-west-2a")
    assert launch(quick, HOME, kind="t3.small", **spot)
    assert launch(quick, HOME, kind="c6in.large")
    assert launch(quick, HOME, kind="c6in.large", SubnetId=elsewhere, **spot)
    with pytest.raises(ClientError, match="InsufficientInstanceCapacity"):
        launch(quick, HOME, kind="c6in.large", **spot)
    assert launch(quick, HOME, kind="c6in.large", **spot)


def test_lack_of_capacity_is_one_call_for_the_client_that_launches(
    quick: LocalCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", quick.endpoint)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    clients._client.cache_clear()
    order: Any = {"ImageId": IMAGE, "InstanceType": "t3.small", "MinCount": 1, "MaxCount": 1}
    spoil(quick, region=OTHER, count=2)
    for _ in range(2):  # each fault spoils one call, so there was one each time
        with pytest.raises(ClientError, match="InsufficientInstanceCapacity"):
            clients.ec2_launching(OTHER).run_instances(**order)
    assert clients.ec2_launching(OTHER).run_instances(**order)["Instances"]
    spoil(quick, region=OTHER)
    assert clients.ec2(OTHER).run_instances(**order)["Instances"]  # the other client asks again, for up to 45 s
    clients._client.cache_clear()


def test_any_action_of_ec2_can_fail(quick: LocalCloud) -> None:
    spoil(quick, operation="DescribeSubnets", region=HOME, code="RequestLimitExceeded")
    client = quick.client("ec2", HOME)
    with pytest.raises(ClientError, match="RequestLimitExceeded") as refused:
        client.describe_subnets()
    assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 503
    assert client.describe_subnets()["Subnets"]


def test_agent_that_fails_to_register_never_comes_online(quick: LocalCloud) -> None:
    spoil(quick, operation="UpdateInstanceInformation", region=OTHER, instanceType="m5.large")
    mute, second = launch(quick, OTHER, most=2, kind="m5.large")
    ssm = quick.client("ssm", OTHER)
    both = {mute["InstanceId"], second["InstanceId"]}

    def online() -> set[str]:
        found = ssm.describe_instance_information()["InstanceInformationList"]
        return both & {item["InstanceId"] for item in found}

    assert len(quick.wait_for(online, 20)) == 1


def test_command_times_out(quick: LocalCloud) -> None:
    (machine,) = launch(quick, HOME)
    ssm, instance_id = quick.client("ssm", HOME), machine["InstanceId"]
    quick.wait_for(
        lambda: [
            item
            for item in ssm.describe_instance_information()["InstanceInformationList"]
            if item["InstanceId"] == instance_id
        ],
        20,
    )
    spoil(quick, operation="SendCommand", region=HOME, document="AWS-RunShellScript", code="TimedOut")
    sent = ssm.send_command(
        InstanceIds=[instance_id], DocumentName="AWS-RunShellScript", Parameters={"commands": ["true"]}
    )
    wanted = {"CommandId": sent["Command"]["CommandId"], "InstanceId": instance_id}
    assert quick.wait_for(lambda: ssm.get_command_invocation(**wanted)["Status"] == "TimedOut", 10)


def test_launch_above_the_quota_of_vcpus_is_refused(quick: LocalCloud) -> None:
    with pytest.raises(ClientError, match="VcpuLimitExceeded"):
        launch(quick, OTHER, kind="c6in.large", most=16)  # 32 vCPUs, and two machines of the tests before run
    assert launch(quick, OTHER, kind="c6in.large", most=2)


def test_all_calls_of_a_service_are_late_while_a_fault_holds() -> None:
    now = [100.0]
    faults = Faults([], lambda: now[0])
    hang = {"operation": "*", "region": OTHER, "count": 1000, "delaySeconds": 65, "duringSeconds": 300}
    faults.add(Fault.model_validate(hang))
    now[0] += 300
    assert [faults.delay(name, OTHER) for name in ("RunInstances", "DescribeInstances")] == [65, 65]
    assert faults.delay("RunInstances", HOME) == 0
    assert faults.hit("RunInstances", OTHER) is None, "what is late does not fail"
    now[0] += 1
    assert faults.delay("RunInstances", OTHER) == 0
