"""Each look of the reconciler sets the limit that the timetable says, unless a person has set one."""

from typing import Any

import pytest

from lambdas.core.fleet.membership import Membership
from lambdas.core.record import transfer_life
from lambdas.core.record.transfer_record import TransferRecord
from lambdas.core.request.bandwidth import BandwidthLimit, LimitRequest
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.handlers.calls.limit_transfer import limit_transfer
from tests.lambdas.builders import (
    SHARED,
    progress,
    transfer,
)
from tests.lambdas.cloud import Cloud
from tests.lambdas.handlers.reactions.test_reconcile import run, running

NIGHTS = {
    "timetable": [{"from": "00:00", "mbps": 400}, {"from": "00:20", "mbps": 80}, {"from": "00:30", "mbps": "none"}]
}


def followed(cloud: Cloud) -> int | None:
    current = cloud.agents.membership(SHARED)
    assert current is not None
    return current.bandwidth_limit_mbps


def test_each_look_sets_what_the_timetable_says_now() -> None:
    cloud = running(bandwidthLimitMbps=NIGHTS)
    limits = []
    for minute in range(17, 34):
        cloud.clock.time = minute * 60.0
        said = progress(minute).model_copy(update={"at": cloud.clock.time})
        cloud.agents.progresses |= {(SHARED, "s0"): said, (SHARED, "r0"): said}
        assert run(cloud)["first"]["limit"] == followed(cloud)
        limits.append(followed(cloud))
    assert limits == [400] * 3 + [80] * 10 + [None] * 4
    record = cloud.transfers.get("first")
    assert record is not None
    assert [(one.at, one.mbps, one.by) for one in record.limit.changes] == [
        (1200.0, 80, "timetable"),
        (1800.0, None, "timetable"),
    ]
    assert (record.limit.mbps, record.limit.lowest_mbps) == (None, 80)


def test_a_limit_that_is_as_the_timetable_has_it_is_written_once() -> None:
    cloud = running(bandwidthLimitMbps=NIGHTS)
    run(cloud)
    before = cloud.agents.membership(SHARED)
    run(cloud)
    assert cloud.agents.membership(SHARED) == before


def test_a_limit_that_was_noted_by_a_look_that_died_reaches_the_sender_with_the_next_one() -> None:
    cloud = running(bandwidthLimitMbps=NIGHTS)
    run(cloud)
    cloud.transfers.change(
        transfer(), transfer_life.note(bandwidth=BandwidthLimit(mbps=400).changed_to(80, 1, "timetable"))
    )
    cloud.clock.time = 1200.0
    run(cloud)
    assert followed(cloud) == 80


def test_without_a_timetable_no_look_changes_a_limit() -> None:
    cloud = running(bandwidthLimitMbps=400)
    before = cloud.agents.membership(SHARED)
    assert run(cloud)["first"]["limit"] is None
    assert cloud.agents.membership(SHARED) == before


def set_by_hand(cloud: Cloud, limit: Any) -> Any:
    return limit_transfer(LimitRequest(transfer_id="first", bandwidth_limit_mbps=limit), cloud.world)[
        "bandwidthLimitMbps"
    ]


@pytest.mark.parametrize("by_hand", [50, None])
def test_what_a_person_sets_holds_until_they_go_back_to_the_timetable(by_hand: int | None) -> None:
    cloud = running(bandwidthLimitMbps=NIGHTS)
    assert set_by_hand(cloud, by_hand) == by_hand
    cloud.clock.time = 1200.0
    assert run(cloud)["first"]["limit"] == by_hand == followed(cloud)
    assert set_by_hand(cloud, "timetable") == 80 == followed(cloud)
    cloud.clock.time = 1800.0
    run(cloud)
    assert followed(cloud) is None


@pytest.mark.parametrize("when", ["before the record is written", "before the membership is written"])
def test_a_limit_that_a_person_sets_during_a_look_holds(when: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cloud = running(bandwidthLimitMbps=NIGHTS)
    cloud.clock.time = 1200.0
    by_hand: list[Any] = []
    change, write = cloud.transfers.change, cloud.agents.write_membership

    def set_once() -> None:
        if not by_hand:
            by_hand.append("begun")
            by_hand.append(set_by_hand(cloud, 50))

    def noted(of: AcceptedTransfer, what: transfer_life.Change) -> TransferRecord | None:
        if "bandwidth" in what.values and when == "before the record is written":
            set_once()
        return change(of, what)

    def written(shared: str, new: Membership) -> bool:
        if when == "before the membership is written":
            set_once()
        return write(shared, new)

    monkeypatch.setattr(cloud.transfers, "change", noted)
    monkeypatch.setattr(cloud.agents, "write_membership", written)
    run(cloud)
    record = cloud.transfers.get("first")
    assert record is not None
    assert by_hand == ["begun", 50]
    assert (record.limit.mbps, record.limit.is_a_persons, followed(cloud)) == (50, True, 50)
