"""What each of several senders may use."""

import pytest

from lambdas.core.fleet.layout import Layout
from lambdas.core.fleet.membership import BudgetLease, Retired
from lambdas.core.fleet.shares import divided, shares_of
from tests.lambdas.builders import transfer
from tests.lambdas.many import many

LEASE = BudgetLease(start=3, at=10.0, sent_bytes=7, usd=0.9, usd_per_gb=0.02, usd_per_hour=0.3)


def test_one_sender_has_no_shares() -> None:
    assert shares_of(Layout.of(transfer()), 100, {"s0": LEASE}) is None


def test_several_senders_without_bounds_have_none() -> None:
    assert shares_of(Layout.of(many(3, 1)), None, {}) is None


@pytest.mark.parametrize("mbps", [1, 100, 400, 999])
@pytest.mark.parametrize("senders", [2, 3, 7, 11])
def test_the_shares_of_a_limit_are_equal_and_their_sum_is_the_limit(mbps: int, senders: int) -> None:
    shares = shares_of(Layout.of(many(senders, 1)), mbps, {}) or []
    parts = [share.bandwidth_limit_mbps or 0 for share in shares]
    assert sum(parts) == pytest.approx(mbps, rel=1e-15)
    assert max(parts) - min(parts) < 1e-9
    assert [share.seat_id for share in shares] == [f"s{at}" for at in range(senders)]


def test_a_retired_sender_has_no_share() -> None:
    layout = Layout.of(many(3, 1), [Retired(seat_id="s1", epoch=1, is_gone=True)])
    shares = shares_of(layout, 100, {"s0": LEASE, "s1": LEASE}) or []
    assert [(share.seat_id, share.bandwidth_limit_mbps) for share in shares] == [("s0", 50.0), ("s2", 50.0)]
    assert [share.budget_lease for share in shares] == [LEASE, None]


def test_leases_of_several_senders_bear_together_what_the_whole_one_bears() -> None:
    found = divided(LEASE, {"s0": 3, "s1": 4, "s2": 1}, {"s0": 100, "s2": 5})
    assert {seat_id: (one.start, one.sent_bytes) for seat_id, one in found.items()} == {
        "s0": (3, 100),
        "s1": (4, 0),
        "s2": (1, 5),
    }
    assert sum(one.usd for one in found.values()) == pytest.approx(LEASE.usd)
    assert sum(one.usd_per_hour for one in found.values()) == pytest.approx(LEASE.usd_per_hour)
    assert {one.usd_per_gb for one in found.values()} == {LEASE.usd_per_gb}
