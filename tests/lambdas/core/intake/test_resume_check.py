"""A transfer is resumed as it began: by the same machines, from and to the same paths."""

import pytest

from lambdas.core.intake.resume_check import differences
from lambdas.core.transfer.accepted import AcceptedTransfer
from tests.lambdas.buckets import from_bucket
from tests.lambdas.builders import transfer
from tests.lambdas.hdfs import CLUSTER, OTHER_CLUSTER, between_clusters
from tests.lambdas.many import many


def fields(before: AcceptedTransfer, now: AcceptedTransfer) -> list[str]:
    return [line.partition(": ")[0] for line in differences(before, now)]


@pytest.mark.parametrize("one", [transfer(), many(), from_bucket(), between_clusters(2, 2)])
def test_what_is_as_it_was_goes_on(one: AcceptedTransfer) -> None:
    assert differences(one, one) == []


@pytest.mark.parametrize(
    ("before", "now", "changed"),
    [
        (many(2, 1), many(3, 1), ["$.source.instanceIds"]),
        (many(2, 1), many(1, 1), ["$.source.instanceId"]),
        (between_clusters(2, 2), between_clusters(2, 3), ["$.destination.workers"]),
        (between_clusters(1), between_clusters(2), ["$.source.workers"]),
        (
            between_clusters(source={"paths": ["/a"]}, destination={"path": "/b"}),
            between_clusters(),
            ["$.source.paths", "$.destination.path"],
        ),
        (
            between_clusters(),
            transfer(),
            ["$.source.kind", "$.source.paths", "$.destination.kind", "$.destination.path"],
        ),
        (from_bucket(), transfer(), ["$.source.kind", "$.source.paths"]),
    ],
)
def test_other_machines_and_paths_are_named(
    before: AcceptedTransfer, now: AcceptedTransfer, changed: list[str]
) -> None:
    assert fields(before, now) == changed


def test_what_lies_in_hdfs_is_joined_in_blocks_of_one_size() -> None:
    small, large = (between_clusters(destination={"blockSizeMiB": size}) for size in (64, 128))
    assert fields(small, large) == fields(small, between_clusters()) == ["$.destination.blockSizeMiB"]
    assert differences(small, between_clusters(destination={"blockSizeMiB": 64, "replication": 2, "user": "x"})) == []


def test_a_cluster_goes_on_with_the_workers_that_it_has_now() -> None:
    one, other = {"clusterId": CLUSTER}, {"clusterId": OTHER_CLUSTER}
    began = between_clusters(2, 2, source=one, destination=other)
    assert differences(began, between_clusters(3, 1, source=one, destination=other)) == []
    assert fields(began, between_clusters(3, 2, source=other, destination=other)) == ["$.source.clusterId"]
    assert fields(began, between_clusters(3, 2, destination=other)) == ["$.source.workers"]
    assert differences(began, between_clusters(2, 2, destination=other)) == [], "the same workers, named one by one"
