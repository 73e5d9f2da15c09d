import json
from math import inf
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from lambdas.core.errors import InvalidRequest, NoCapacity, NoSuchTransfer, NotMoving
from lambdas.core.record import transfer_life
from lambdas.core.request.bandwidth import BandwidthLimit, LimitRequest
from lambdas.handlers.calls.limit_transfer import limit_transfer
from lambdas.operations.spending import metering
from tests.lambdas.builders import SHARED, delivered, transfer
from tests.lambdas.cloud import Cloud
from tests.lambdas.fleet import path_ids, spawned
from tests.paths import CONTRACTS

EXAMPLES = CONTRACTS / "examples"


def limit(cloud: Cloud, mbps: int | None) -> dict[str, Any]:
    return limit_transfer(LimitRequest(transfer_id="first", bandwidth_limit_mbps=mbps), cloud.world)


def followed(cloud: Cloud) -> tuple[int, int | None]:
    membership = cloud.agents.membership(SHARED)
    assert membership is not None
    return membership.version, membership.bandwidth_limit_mbps


def noted(cloud: Cloud) -> BandwidthLimit:
    record = cloud.transfers.get("first")
    assert record is not None
    return record.limit


def test_the_sender_follows_and_the_paths_stay() -> None:
    cloud = spawned(1)
    (before, none), paths = followed(cloud), path_ids(cloud)
    assert none is None
    assert limit(cloud, 80) == {"transferId": "first", "bandwidthLimitMbps": 80}
    assert followed(cloud) == (before + 1, 80)
    assert path_ids(cloud) == paths
    limit(cloud, None)
    assert followed(cloud) == (before + 2, None)


def test_the_lowest_limit_is_remembered_whatever_holds_now() -> None:
    cloud = spawned(1, bandwidthLimitMbps=400)
    assert noted(cloud) == BandwidthLimit(mbps=400, lowest_mbps=400)
    for mbps in (80, 800, None):
        limit(cloud, mbps)
    found = noted(cloud)
    assert (found.mbps, found.lowest_mbps) == (None, 80)


def test_changes_are_kept_with_their_times_for_the_report_the_last_hundred() -> None:
    cloud = spawned(1)
    for mbps in (80, None, *range(1, 100)):
        cloud.clock.sleep(1.0)
        limit(cloud, mbps)
    changes = noted(cloud).changes
    assert [change.mbps for change in changes] == [None, *range(1, 100)]
    assert changes[-1].at == cloud.clock.now()


@pytest.mark.parametrize("ended", ["finish", "fence"])
def test_a_transfer_that_is_over_is_not_limited(ended: str) -> None:
    cloud = spawned(1)
    before = followed(cloud)
    over = transfer_life.finish(delivered()) if ended == "finish" else transfer_life.FENCE
    cloud.transfers.change(transfer(), over)
    with pytest.raises(NotMoving, match="'first' is over, or is being taken down"):
        limit(cloud, 80)
    assert followed(cloud) == before


def test_without_a_timetable_there_is_none_to_go_back_to() -> None:
    cloud = spawned(1, bandwidthLimitMbps=400)
    before = followed(cloud)
    with pytest.raises(InvalidRequest, match=r"the request of 'first' has no timetable; give Mbit/s or none"):
        limit_transfer(LimitRequest(transfer_id="first", bandwidth_limit_mbps="timetable"), cloud.world)
    assert followed(cloud) == before


def test_a_transfer_that_has_no_plan_yet_is_not_limited() -> None:
    cloud = Cloud()
    cloud.transfers.create(transfer())
    with pytest.raises(NotMoving, match="moves nothing yet; limit it when it does"):
        limit(cloud, 80)


def test_measuring_is_not_limited() -> None:
    cloud = Cloud()
    cloud.transfers.create(transfer(profile="measure"))
    with pytest.raises(NotMoving, match="all that is measured"):
        limit(cloud, 80)


def test_a_name_that_nobody_has_is_refused() -> None:
    with pytest.raises(NoSuchTransfer, match="there is no transfer 'first'"):
        limit(Cloud(), 80)


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("good/limit-request/*.json")), ids=lambda path: path.stem)
def test_good_example_is_read(path: Path) -> None:
    document = json.loads(path.read_text())
    assert LimitRequest.from_document(document).bandwidth_limit_mbps == document["bandwidthLimitMbps"]


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("bad/limit-request/*.json")), ids=lambda path: path.stem)
def test_bad_example_names_the_field(path: Path) -> None:
    with pytest.raises(ValidationError, match="bandwidthLimitMbps"):
        LimitRequest.from_document(json.loads(path.read_text()))


def tight(mbps: int) -> Cloud:
    """A transfer whose budget bears its limit until the next look at the meter, and no more than that."""
    for step in range(200, 600):
        try:
            cloud = spawned(1, bandwidthLimitMbps=mbps, objective={"maxCostUsd": step / 10_000})
        except NoCapacity:
            continue
        record = cloud.transfers.get("first")
        assert record
        if metering.bears(cloud.world, record, mbps):
            assert not metering.bears(cloud.world, record, None)
            return cloud
    raise AssertionError("no budget bears the limit")


def test_a_limit_is_not_raised_above_what_the_budget_bears_until_the_meter_looks_again() -> None:
    cloud = tight(8)
    before = followed(cloud), noted(cloud)
    with pytest.raises(InvalidRequest, match=r"\$\.bandwidthLimitMbps: with no limit the budget, 0\.0\d+ dollars"):
        limit(cloud, None)
    assert (followed(cloud), noted(cloud)) == before
    limit(cloud, 4)
    assert noted(cloud).mbps == 4


def test_the_meter_goes_by_the_limit_that_was_set_since() -> None:
    cloud, found = spawned(1, bandwidthLimitMbps=8), []
    for mbps in (8, 80, None):
        limit(cloud, mbps)
        record = cloud.transfers.get("first")
        assert record
        found.append(metering.highest_mb_s(cloud.world, record))
    assert found == [1.0, 10.0, inf]
