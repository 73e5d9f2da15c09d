"""A budget and a limit of several senders: what is granted to them together, and what they are counted for."""

from typing import Any

import pytest

from lambdas.core.fleet.membership import Membership
from lambdas.core.record import transfer_life
from lambdas.core.record.transfer_record import Planned
from lambdas.core.seats import retirement
from lambdas.core.spending.meter import Decision
from lambdas.core.spending.sent import Sent
from lambdas.operations.fleet import membership
from lambdas.operations.named import transfer as record_of
from lambdas.operations.spending import metering
from tests.lambdas.builders import progress
from tests.lambdas.cloud import Cloud
from tests.lambdas.fleet import attempt
from tests.lambdas.many import begun, many

BUDGET = {"maxCostUsd": 1.0}
SEATS = ("s0", "s1")


class Sending:
    """Two senders of a transfer with a budget."""

    def __init__(self, **asked: Any) -> None:
        self.accepted = many(2, 1, objective=BUDGET, **asked)
        self.cloud: Cloud = begun(self.accepted)
        record = record_of(self.cloud.world, "first")
        assert isinstance(record, Planned)
        membership.begin(self.cloud.world, record)
        self.start = attempt(self.cloud, self.accepted)

    def report(self, seat_id: str, moved: int, start: int = 1) -> None:
        told = progress(1, sent=moved, start=start).model_copy(update={"at": self.cloud.clock.time})
        self.cloud.agents.progresses[self.accepted.partition, seat_id] = told

    @property
    def membership(self) -> Membership:
        found = self.cloud.agents.membership(self.accepted.partition)
        assert found
        return found

    def look(self) -> Decision:
        return metering.enforce(self.cloud.world, record_of(self.cloud.world, "first"))


def test_several_senders_are_granted_together_what_one_would_be() -> None:
    sending = Sending()
    metering.grant(sending.cloud.world, sending.accepted, 1, SEATS)
    whole, shares = sending.membership.budget_lease, sending.membership.shares or []
    leases = [share.budget_lease for share in shares if share.budget_lease]
    assert whole is not None
    assert [share.seat_id for share in shares] == ["s0", "s1"]
    assert sum(lease.usd for lease in leases) == pytest.approx(whole.usd)
    assert [lease.start for lease in leases] == [1, 1]


def test_a_look_counts_the_bytes_of_all_and_renews_each_by_its_own() -> None:
    sending = Sending()
    metering.grant(sending.cloud.world, sending.accepted, 1, SEATS)
    sending.report("s0", 2 * 10**8)
    sending.report("s1", 10**8)
    sending.cloud.clock.time += 60
    sending.look()
    record = record_of(sending.cloud.world, "first")
    assert record.spent is not None
    assert record.spent.sent.bytes == 3 * 10**8
    leases = {share.seat_id: share.budget_lease for share in sending.membership.shares or []}
    assert {seat_id: lease.sent_bytes if lease else 0 for seat_id, lease in leases.items()} == {
        "s0": 2 * 10**8,
        "s1": 10**8,
    }


def test_a_sender_that_is_started_again_has_a_lease_of_its_new_start_and_the_other_keeps_its_own() -> None:
    sending = Sending()
    metering.grant(sending.cloud.world, sending.accepted, 1, SEATS)
    sending.report("s0", 10**8)
    sending.report("s1", 10**8)
    sending.cloud.clock.time += 60
    sending.look()
    metering.grant(sending.cloud.world, sending.accepted, 2, ["s1"])
    told = {
        share.seat_id: (share.budget_lease.start, share.budget_lease.sent_bytes)
        for share in sending.membership.shares or []
        if share.budget_lease
    }
    assert told == {"s0": (1, 10**8), "s1": (2, 0)}
    sending.report("s1", 5, start=2)
    sending.look()
    assert record_of(sending.cloud.world, "first").spent.sent.bytes == 2 * 10**8 + 5  # type: ignore[union-attr]


def test_a_limit_is_divided_and_another_one_too() -> None:
    sending = Sending(bandwidthLimitMbps=100)
    assert [share.bandwidth_limit_mbps for share in sending.membership.shares or []] == [50.0, 50.0]
    membership.set_limit(sending.cloud.world, sending.accepted, lambda limit: limit.changed_to(300, 2.0))
    assert [share.bandwidth_limit_mbps for share in sending.membership.shares or []] == [150.0, 150.0]
    membership.set_limit(sending.cloud.world, sending.accepted, lambda limit: limit.changed_to(None, 3.0))
    assert sending.membership.shares is None


def test_what_a_retired_sender_had_left_goes_to_nobody_before_the_next_look() -> None:
    sending = Sending(bandwidthLimitMbps=100)
    metering.grant(sending.cloud.world, sending.accepted, 1, SEATS)
    before = {share.seat_id: share.budget_lease for share in sending.membership.shares or []}
    record = record_of(sending.cloud.world, "first")

    retired = retirement.with_seat([], sending.accepted.seat("s1"), record.attempt, 1.0, "x", is_gone=True)
    assert sending.cloud.transfers.change(sending.accepted, transfer_life.note_retired(record, retired))
    membership.settle(sending.cloud.world, "first")
    (share,) = sending.membership.shares or []
    assert (share.seat_id, share.bandwidth_limit_mbps, share.budget_lease) == ("s0", 100.0, before["s0"])
    sending.cloud.clock.time += 60
    sending.look()
    (share,) = sending.membership.shares or []
    whole = sending.membership.budget_lease
    assert share.budget_lease is not None
    assert whole is not None
    assert share.budget_lease.usd == whole.usd


def test_bytes_of_each_seat_are_counted_over_its_own_starts() -> None:
    sent = Sent().after(1, 100).after(1, 10, "s1").after(2, 5, "s1").after(1, 50, "s1").after(1, 120)
    assert (sent.bytes, sent.own_bytes, sent.of("s1").own_bytes) == (135, 120, 15)
    assert Sent.from_document(sent.to_document()) == sent
    assert "others" not in Sent().after(1, 100).to_document()
