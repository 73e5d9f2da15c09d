"""From where to where, of requests as people write them."""

import pytest

from lambdas.core.watch.moved import from_and_to

MACHINE = "i-0123456789abcdef0"
OTHER = "i-0fedcba9876543210"


def test_one_machine_at_each_end() -> None:
    request = {
        "source": {"instanceId": MACHINE, "paths": [{"path": "/a/b", "as": "c"}, "/d", "/e"]},
        "destination": {"instanceId": OTHER, "path": "/out"},
    }
    assert from_and_to(request) == (f"{MACHINE}:/a/b as c and 2 more", f"{OTHER}:/out")


def test_several_machines_and_a_bucket() -> None:
    request = {
        "source": {"instanceIds": [MACHINE, OTHER], "paths": ["/a"]},
        "destination": {"kind": "bucket", "bucket": "b", "prefix": "backup/", "region": "eu-west-1"},
    }
    assert from_and_to(request) == (f"{MACHINE},{OTHER}:/a", "s3://b/backup/")
    turned = {"source": {"kind": "bucket", "bucket": "b"}, "destination": {"instanceId": OTHER, "path": "/out"}}
    assert from_and_to(turned) == ("s3://b/", f"{OTHER}:/out")


def test_paths_of_hdfs_by_workers() -> None:
    request = {
        "source": {"kind": "hdfs", "workers": [MACHINE, OTHER], "paths": ["/a", "/b"]},
        "destination": {"kind": "hdfs", "workers": [OTHER], "path": "/out"},
    }
    assert from_and_to(request) == (f"hdfs:/a and 1 more by {MACHINE},{OTHER}", f"hdfs:/out by {OTHER}")


def test_paths_of_hdfs_by_a_cluster_before_and_after_its_workers_are_found() -> None:
    asked = {"kind": "hdfs", "clusterId": "j-3KVTXXXXXX7UG", "paths": ["/a"]}
    there = {"kind": "hdfs", "clusterId": "j-1ABCDEFGHIJKL", "workers": [OTHER], "path": "/out"}
    expected = ("hdfs:/a by j-3KVTXXXXXX7UG", "hdfs:/out by j-1ABCDEFGHIJKL")
    assert from_and_to({"source": asked, "destination": there}) == expected


@pytest.mark.parametrize("written", [None, [], "text", {}, {"source": {}}, {"source": {"paths": []}, "destination": 1}])
def test_what_says_nothing_has_no_words(written: object) -> None:
    assert from_and_to(written) is None
