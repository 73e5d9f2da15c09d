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
        ("/secret is in an encryption zone, whose keys this daemon does not have", "outside of the zone"),
        ("/ec is erasure coded, and parts of such files cannot be joined", "hdfs ec -getPolicy"),
        (
            "replication 3 is asked for, and the name node finds 2 data nodes that take a block",
            "$.destination.replication",
        ),
        ("File /a could only be written to 0 of the 1 minReplication nodes", "start more data nodes"),
        ("data transfer error: All nodes failed for write", "dfs.datanode.address"),
    ],
)
def test_a_refusal_has_its_remedy(said: str, words: str) -> None:
    assert words in (remedy_of(said) or "")


def test_what_is_not_of_hdfs_alone_has_none() -> None:
    assert remedy_of("no such file or directory") is None
