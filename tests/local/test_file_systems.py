"""EFS and FSx: the very adapter of the Lambdas against the local cloud."""

from typing import Any

import pytest
from botocore.exceptions import ClientError

from lambdas.adapters.file_systems import AwsFileSystems
from lambdas.core.survey.served import Served, Told
from local.cloud import LocalCloud
from tests.local.assembly import HOME, OTHER
from tests.local.conftest import Acting

MIB = 1.048576


def efs(cloud: LocalCloud, **settings: Any) -> Served:
    token = "-".join(str(settings[name]) for name in sorted(settings)) or "none"
    made = cloud.client("efs").create_file_system(CreationToken=token, **settings)
    return Served("EFS", made["FileSystemId"], HOME)


def fsx(cloud: LocalCloud, kind: str, **settings: Any) -> Served:
    made = cloud.client("fsx").create_file_system(FileSystemType=kind, SubnetIds=["subnet-01234567"], **settings)
    return Served("FSx", made["FileSystem"]["FileSystemId"], HOME)


def adapter(cloud: LocalCloud, region: str = HOME) -> AwsFileSystems:
    return AwsFileSystems(cloud.client("efs", region), cloud.client("fsx", region))


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, Told("bursting")),
        ({"ThroughputMode": "elastic"}, Told("elastic")),
        ({"ThroughputMode": "elastic", "AvailabilityZoneName": f"{HOME}a"}, Told("elastic", one_zone=True)),
        (
            {"ThroughputMode": "provisioned", "ProvisionedThroughputInMibps": 128.0},
            Told("provisioned", throughput_mb_s=128 * MIB),
        ),
    ],
)
def test_efs_tells_its_mode(cloud: LocalCloud, settings: dict[str, Any], expected: Told) -> None:
    served = efs(cloud, **settings)
    assert adapter(cloud).told([served]) == {served: expected}


@pytest.mark.parametrize(
    ("kind", "settings", "mb_s"),
    [
        (
            "OPENZFS",
            {
                "StorageCapacity": 64,
                "OpenZFSConfiguration": {"DeploymentType": "SINGLE_AZ_2", "ThroughputCapacity": 160},
            },
            160.0,
        ),
        (
            "ONTAP",
            {
                "StorageCapacity": 1024,
                "OntapConfiguration": {"DeploymentType": "MULTI_AZ_1", "ThroughputCapacity": 512},
            },
            512.0,
        ),
        (
            "ONTAP",
            {
                "StorageCapacity": 4096,
                "OntapConfiguration": {
                    "DeploymentType": "SINGLE_AZ_2",
                    "HAPairs": 4,
                    "ThroughputCapacityPerHAPair": 1536,
                },
            },
            6144.0,
        ),
        (
            "LUSTRE",
            {
                "StorageCapacity": 2400,
                "LustreConfiguration": {"DeploymentType": "PERSISTENT_2", "PerUnitStorageThroughput": 250},
            },
            250 * 2400 / 1024,
        ),
        ("LUSTRE", {"StorageCapacity": 1200, "LustreConfiguration": {"DeploymentType": "SCRATCH_2"}}, 234.375),
        ("LUSTRE", {"StorageCapacity": 1200}, 234.375),
    ],
)
def test_fsx_tells_its_capacity(cloud: LocalCloud, kind: str, settings: dict[str, Any], mb_s: float) -> None:
    served = fsx(cloud, kind, **settings)
    assert adapter(cloud).told([served]) == {served: Told("capacity", throughput_mb_s=mb_s)}


def test_of_one_that_is_gone_or_elsewhere_nothing_is_told_and_of_the_others_all_is(cloud: LocalCloud) -> None:
    there, gone = efs(cloud, ThroughputMode="elastic"), Served("EFS", "fs-0fedcba9876543210", HOME)
    lost = Served("FSx", "fs-0fedcba9876543210", HOME)
    assert adapter(cloud).told([gone, there, lost]) == {there: Told("elastic")}
    assert adapter(cloud, OTHER).told([there]) == {}


def test_the_permission_is_asked_for_the_file_system_that_is_named(cloud: LocalCloud, acting: Acting) -> None:
    there, other = efs(cloud, ThroughputMode="elastic"), efs(cloud)
    disk = fsx(cloud, "LUSTRE", StorageCapacity=1200)
    one = {
        "Effect": "Allow",
        "Action": "elasticfilesystem:DescribeFileSystems",
        "Resource": f"arn:aws:elasticfilesystem:*:*:file-system/{there.file_system_id}",
    }
    any_fsx = {"Effect": "Allow", "Action": "fsx:DescribeFileSystems", "Resource": "*"}
    asked = AwsFileSystems(acting([one, any_fsx], "efs"), acting([one, any_fsx], "fsx"))
    assert set(asked.told([there, other, disk])) == {there, disk}
    nothing = AwsFileSystems(acting([one], "efs"), acting([one], "fsx"))
    assert set(nothing.told([there, disk])) == {there}


@pytest.mark.parametrize(
    "settings",
    [
        {"ThroughputMode": "provisioned"},
        {"ThroughputMode": "elastic", "ProvisionedThroughputInMibps": 1.0},
        {"ThroughputMode": "fast"},
    ],
)
def test_efs_takes_no_mode_that_aws_has_not(cloud: LocalCloud, settings: dict[str, Any]) -> None:
    with pytest.raises(ClientError, match=r"BadRequest|ValidationException"):
        efs(cloud, **settings)
