"""What a request says of DistCp: only between two HDFS ends, and each wrong value by its field."""

from typing import Any

import pytest

from lambdas.core.errors import InvalidRequest
from lambdas.core.request.distcp_request import DistCpRequest
from lambdas.core.request.request import Limits, TransferRequest, parse_request
from tests.lambdas.buckets import bucket
from tests.lambdas.builders import IRELAND, WEST, request
from tests.lambdas.hdfs import hdfs_destination, hdfs_source

LIMITS = Limits(regions=(WEST, IRELAND), max_pairs=8, instance_types=())
BETWEEN_CLUSTERS = {"source": hdfs_source(2), "destination": hdfs_destination(2)}
TO_A_MACHINE = {"source": hdfs_source(2), "destination": request()["destination"]}
FROM_A_BUCKET = {"source": bucket("in/", region=WEST), "destination": hdfs_destination(2)}


def parsed(ends: dict[str, Any], **keys: Any) -> TransferRequest:
    return parse_request({**ends, **keys}, LIMITS)


def refused(ends: dict[str, Any], **keys: Any) -> list[str]:
    with pytest.raises(InvalidRequest) as error:
        parsed(ends, **keys)
    return error.value.problems


def test_maps_rate_and_start_are_taken_between_two_clusters() -> None:
    found = parsed(BETWEEN_CLUSTERS, distcp={"maps": 14, "mapMBps": 12.5, "startSeconds": 0}).distcp
    assert found == DistCpRequest(maps=14, map_rate=12.5, start_seconds=0)
    assert parsed(BETWEEN_CLUSTERS).distcp is None
    assert parsed(BETWEEN_CLUSTERS, objective={"minimise": "pairs"}).objective.minimise == "pairs"


@pytest.mark.parametrize(
    ("distcp", "field", "right"),
    [
        ({"maps": 0}, "$.distcp.maps: 0", "write 1 or more"),
        ({"maps": 2.5}, "$.distcp.maps: 2.5", "whole number"),
        ({"mapMBps": 0}, "$.distcp.mapMBps: 0", "write more than 0"),
        ({"mapMBps": -3}, "$.distcp.mapMBps: -3", "write more than 0"),
        ({"startSeconds": -1}, "$.distcp.startSeconds: -1", "write 0.0 or more"),
        ({"mappers": 7}, "$.distcp.mappers", "is not a known key"),
    ],
)
def test_a_wrong_value_is_refused_by_its_field(distcp: dict[str, Any], field: str, right: str) -> None:
    (problem,) = refused(BETWEEN_CLUSTERS, distcp=distcp)
    assert problem.startswith(field)
    assert right in problem


def test_between_other_ends_it_has_no_meaning() -> None:
    assert refused(TO_A_MACHINE, objective={"minimise": "pairs"}) == [
        "$.objective.minimise: 'pairs', and $.destination.kind is 'machine': DistCp copies between two HDFS ends, and "
        "its time is what 'pairs' goes by; write 'time', 'cost', 'energy' or 'balanced'"
    ]
    assert refused(FROM_A_BUCKET, distcp={"maps": 7}) == [
        "$.distcp: {'maps': 7}, and $.source.kind is 'bucket': DistCp copies between two HDFS ends; leave it out"
    ]


def test_fewest_pairs_stand_beside_no_deadline() -> None:
    assert refused(BETWEEN_CLUSTERS, objective={"minimise": "pairs", "deadlineSeconds": 60}) == [
        "$.objective.minimise: 'pairs': with a deadline the cheapest row that meets it is chosen, not the one with the "
        "fewest pairs; leave one of them out"
    ]
