"""How many workers of a cluster serve: as many as there is room for beside the other end."""

from typing import Any

import pytest

from lambdas.core.request.cluster_workers import named_elsewhere, shares, with_cluster
from lambdas.core.request.machine_rules import MOST_TOGETHER
from lambdas.core.request.request import TransferRequest
from tests.lambdas.buckets import bucket
from tests.lambdas.builders import DESTINATION_ID, SOURCE_ID
from tests.lambdas.hdfs import OTHER_CLUSTER, hdfs_destination, hdfs_source, of_cluster
from tests.lambdas.many import machine_ids


def parsed(source: dict[str, Any], destination: dict[str, Any], **keys: Any) -> TransferRequest:
    return TransferRequest.from_document({"source": source, "destination": destination, **keys})


FROM_CLUSTER = parsed(of_cluster(hdfs_source()), hdfs_destination(2))
INTO_CLUSTER = parsed(hdfs_source(2), of_cluster(hdfs_destination()))
BOTH = parsed(of_cluster(hdfs_source()), of_cluster(hdfs_destination(), OTHER_CLUSTER))
TO_BUCKET = parsed(of_cluster(hdfs_source()), bucket("out/"))
MEASURED = parsed(of_cluster(hdfs_source()), of_cluster(hdfs_destination(), OTHER_CLUSTER), profile="measure")


@pytest.mark.parametrize(
    ("request_", "able", "serving"),
    [
        (FROM_CLUSTER, (3, 2), (3, 2)),
        (FROM_CLUSTER, (24, 2), (10, 2)),
        (FROM_CLUSTER, (24, 11), (1, 11)),
        (INTO_CLUSTER, (2, 24), (2, 10)),
        (INTO_CLUSTER, (5, 4), (5, 4)),
        (BOTH, (24, 24), (6, 6)),
        (BOTH, (24, 2), (10, 2)),
        (BOTH, (3, 24), (3, 9)),
        (BOTH, (1, 1), (1, 1)),
        (TO_BUCKET, (24, 0), (6, 0)),
        (TO_BUCKET, (2, 0), (2, 0)),
        (MEASURED, (24, 24), (1, 1)),
    ],
)
def test_workers_of_clusters_share_the_room_that_a_transfer_has(
    request_: TransferRequest, able: tuple[int, int], serving: tuple[int, int]
) -> None:
    assert shares(request_, able) == serving


@pytest.mark.parametrize("request_", [FROM_CLUSTER, INTO_CLUSTER, BOTH])
def test_they_are_never_more_than_a_transfer_can_name_and_never_none(request_: TransferRequest) -> None:
    for source in range(1, 25):
        for destination in range(1, 25):
            named = (
                min(source, 11) if with_cluster(request_.source) is None else source,
                min(destination, 11) if with_cluster(request_.destination) is None else destination,
            )
            found = shares(request_, named)
            assert min(found) >= 1
            assert sum(found) == min(sum(named), MOST_TOGETHER)


def test_an_end_that_names_workers_has_no_cluster_to_look_at_nor_has_one_that_was_accepted() -> None:
    assert with_cluster(FROM_CLUSTER.source) is FROM_CLUSTER.source
    assert with_cluster(FROM_CLUSTER.destination) is None
    assert with_cluster(FROM_CLUSTER.source.model_copy(update={"workers": [SOURCE_ID]})) is None
    assert with_cluster(TO_BUCKET.destination) is None


def test_machines_at_the_other_end_and_lent_ones_are_no_workers_besides() -> None:
    lent = "i-0ccccccccccccccc1"
    found = parsed(of_cluster(hdfs_source()), hdfs_destination(2), relays={"pairs": 1, "existing": [lent]})
    assert named_elsewhere(found) == {*machine_ids(DESTINATION_ID, 2), lent}
