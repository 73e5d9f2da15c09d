"""What HDFS refuses leads to what somebody can do in the cluster."""

import pytest

from lambdas.core.ends.hdfs_refusals import remedy_of


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("org.apache.hadoop.security.AccessControlException: Permission denied: user=etl", "name another user"),
        ("SnapshotAccessControlException: Modification on a read-only snapshot is disallowed", "in no snapshot"),
        ("SafeModeException: Cannot create file/b. Name node is in safe mode.", "dfsadmin -safemode get"),
        ("org.apache.hadoop.hdfs.protocol.DSQuotaExceededException: The DiskSpace quota", "raise the quota"),
    ],
)
def test_a_refusal_has_its_remedy(said: str, words: str) -> None:
    assert words in (remedy_of(said) or "")


def test_what_is_not_of_hdfs_alone_has_none() -> None:
    assert remedy_of("no such file or directory") is None
