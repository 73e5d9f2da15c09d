"""File systems of AWS, told by the names that machines have mounted them by."""

import pytest

from lambdas.core.survey.served import Served, of_all, recognised, server_of, unrecognised
from lambdas.core.survey.whereabouts import FileSystem

REGION = "us-west-2"
EFS, FSX, SVM = "fs-0123456789abcdef0", "fs-0fedcba9876543210", "svm-0123456789abcdef0"


def mounted(source: str, kind: str = "nfs4") -> FileSystem:
    """As `cpt-relay scan` tells of a mount of `source`."""
    return FileSystem(kind=kind, mount_point="/mnt/set", id=source.replace(":", "%3A"))


@pytest.mark.parametrize(
    ("source", "kind", "expected"),
    [
        (f"{EFS}.efs.eu-west-1.amazonaws.com:/", "nfs4", Served("EFS", EFS, "eu-west-1")),
        (f"{EFS}.efs.eu-west-1.amazonaws.com:/set/a", "nfs4", Served("EFS", EFS, "eu-west-1")),
        (f"eu-west-1a.{EFS}.efs.eu-west-1.amazonaws.com:/", "nfs4", Served("EFS", EFS, "eu-west-1")),
        ("fs-01234567.efs.cn-north-1.amazonaws.com.cn:/", "nfs4", Served("EFS", "fs-01234567", "cn-north-1")),
        (f"{FSX}.fsx.us-west-2.amazonaws.com:/fsx", "nfs4", Served("FSx", FSX, REGION)),
        (f"{FSX}.fsx.us-west-2.amazonaws.com:/fsx", "nfs", Served("FSx", FSX, REGION)),
        (f"{SVM}.{FSX}.fsx.us-gov-west-1.amazonaws.com:/vol1", "nfs4", Served("FSx", FSX, "us-gov-west-1")),
        (f"{FSX}.fsx.us-west-2.amazonaws.com@tcp:/abcdefgh", "lustre", Served("FSx", FSX, REGION)),
        ("127.0.0.1:/", "nfs4", Served("EFS", "", REGION)),
        ("[::1]:/", "nfs4", Served("EFS", "", REGION)),
    ],
)
def test_a_mount_by_the_name_that_aws_gives_tells_the_file_system(source: str, kind: str, expected: Served) -> None:
    assert recognised(mounted(source, kind), REGION) == expected


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        (f"{EFS}.efs.eu-west-1.amazonaws.com.example.org:/", "nfs4"),
        (f"evil-{EFS}.efs.eu-west-1.amazonaws.com:/", "nfs4"),
        (f"{SVM}.{EFS}.efs.eu-west-1.amazonaws.com:/", "nfs4"),
        (f"us-west-2a.{FSX}.fsx.us-west-2.amazonaws.com:/fsx", "nfs4"),
        (f"{EFS}.efs.eu-west-1.amazonaws.com", "nfs4"),
        ("fs-xyz.efs.eu-west-1.amazonaws.com:/", "nfs4"),
        (f"{EFS}.efs.eu-west-1.amazonaws.com\n:/", "nfs4"),
        ("files.example:/", "nfs4"),
        ("10.0.0.7:/", "nfs4"),
        ("127.0.0.1:/", "fuse.sshfs"),
        ("/dev/nvme1n1", "xfs"),
    ],
)
def test_what_is_only_like_such_a_name_is_none(source: str, kind: str) -> None:
    assert recognised(mounted(source, kind), REGION) is None


def test_a_disk_of_the_machine_and_what_tells_nothing_are_none() -> None:
    assert recognised(None, REGION) is None
    assert recognised(FileSystem(kind="tmpfs", mount_point="/tmp"), REGION) is None
    assert server_of(FileSystem(kind="ext4", mount_point="/", id="0b1c2d3e-0000-0000-0000-000000000000")) == ""


def test_paths_on_one_file_system_are_one_and_servers_that_may_be_anybodys_are_told_of() -> None:
    efs = mounted(f"{EFS}.efs.us-west-2.amazonaws.com:/")
    places = [efs, mounted("10.0.0.7:/"), efs, None, mounted("10.0.0.7:/deep"), mounted("h:/x", "fuse.sshfs")]
    assert of_all(places, REGION) == [Served("EFS", EFS, REGION)]
    assert unrecognised(places, REGION) == ["10.0.0.7"]
