"""EFS and FSx: what answers mean that the local cloud does not give. tests/local runs the same adapter."""

from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.exceptions import ReadTimeoutError

from lambdas.adapters.file_systems import MOST_ASKED, AwsFileSystems
from lambdas.core.survey.served import Served, Told
from tests.lambdas.adapters.test_services import stub

ONE = Served("EFS", "fs-0123456789abcdef0", "us-west-2")
THEN = datetime(2026, 11, 29, tzinfo=UTC)


def efs(**more: Any) -> dict[str, Any]:
    return {
        "OwnerId": "000000000000",
        "CreationToken": "x",
        "FileSystemId": ONE.file_system_id,
        "CreationTime": THEN,
        "LifeCycleState": "available",
        "NumberOfMountTargets": 1,
        "SizeInBytes": {"Value": 0},
        "PerformanceMode": "generalPurpose",
        "Tags": [],
        **more,
    }


def told(answer: dict[str, Any]) -> dict[Served, Told]:
    client, stubber = stub("efs")
    stubber.add_response("describe_file_systems", {"FileSystems": [answer]})
    return AwsFileSystems(client, stub("fsx")[0]).told([ONE])


def test_efs_tells_what_is_in_which_class() -> None:
    sizes = {"Value": 60, "ValueInStandard": 10, "ValueInIA": 20, "ValueInArchive": 30}
    expected = Told("elastic", standard_bytes=10, infrequent_bytes=20, archive_bytes=30)
    assert told(efs(ThroughputMode="elastic", SizeInBytes=sizes)) == {ONE: expected}


def test_without_classes_all_is_in_standard() -> None:
    assert told(efs(ThroughputMode="bursting", SizeInBytes={"Value": 60})) == {ONE: Told("bursting", standard_bytes=60)}


@pytest.mark.parametrize("answer", [efs(), efs(ThroughputMode="later"), efs(FileSystemId="fs-0fedcba9876543210")])
def test_what_is_told_of_no_mode_or_of_another_file_system_is_nothing(answer: dict[str, Any]) -> None:
    assert told(answer) == {}


class Silent:
    """A client whose service does not answer; `asked` counts."""

    asked = 0

    def describe_file_systems(self, **_request: Any) -> Any:
        self.asked += 1
        raise ReadTimeoutError(endpoint_url="efs")


def test_a_service_that_does_not_answer_is_asked_for_a_few_file_systems_at_most() -> None:
    silent = Silent()
    many = [Served("EFS", f"fs-{number:017x}", "us-west-2") for number in range(20)]
    assert AwsFileSystems(silent, silent).told(many) == {}
    assert silent.asked == MOST_ASKED


@pytest.mark.parametrize(
    "answer",
    [
        {"FileSystemType": "WINDOWS", "WindowsConfiguration": {"ThroughputCapacity": 64}},
        {"FileSystemType": "OPENZFS"},
        {
            "FileSystemType": "LUSTRE",
            "StorageCapacity": 1200,
            "LustreConfiguration": {"DeploymentType": "PERSISTENT_1"},
        },
    ],
)
def test_an_fsx_whose_capacity_does_not_follow_is_unknown(answer: dict[str, Any]) -> None:
    client, stubber = stub("fsx")
    wanted = Served("FSx", ONE.file_system_id, ONE.region)
    stubber.add_response("describe_file_systems", {"FileSystems": [{"FileSystemId": ONE.file_system_id, **answer}]})
    assert AwsFileSystems(stub("efs")[0], client).told([wanted]) == {}


def test_lustre_that_grows_with_its_data_has_the_throughput_that_was_chosen() -> None:
    client, stubber = stub("fsx")
    wanted = Served("FSx", ONE.file_system_id, ONE.region)
    answer = {"FileSystemType": "LUSTRE", "LustreConfiguration": {"ThroughputCapacity": 4000}}
    stubber.add_response("describe_file_systems", {"FileSystems": [{"FileSystemId": ONE.file_system_id, **answer}]})
    assert AwsFileSystems(stub("efs")[0], client).told([wanted]) == {wanted: Told("capacity", throughput_mb_s=4000.0)}
