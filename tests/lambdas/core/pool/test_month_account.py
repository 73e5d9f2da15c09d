"""A month's account of a pool: what machines cost goes to who used them, and the rest is idle."""

import pytest

from lambdas.core.pool.month import MICRO, summed
from lambdas.core.pool.month_account import MonthAccount, month_of
from tests.lambdas import pools
from tests.lambdas.builders import WEST
from tests.lambdas.core.pool.leases import lease

BEGUN = MonthAccount(region=WEST, month="2026-12", until=1000.0)


def test_a_span_is_shared_by_bytes_and_the_rest_is_idle() -> None:
    node = pools.node(state="SERVING", leases=2)  # 100 MB/s, ready since 920
    leases = [lease("ann-x", node, tenant="ann", bytes=4_000_000_000), lease("bob-x", node, tenant="bob")]
    found = BEGUN.after([node], leases, 3.6, 1060.0)
    assert found.cost_usd == pytest.approx(0.06)
    assert found.sent == {"ann": 2000.0}
    assert found.shares == {"ann": pytest.approx(0.06 * 2000 / 6000)}
    assert found.node_seconds == 60.0


def test_what_was_counted_is_not_counted_again() -> None:
    node = pools.node(state="SERVING", leases=1)
    once = BEGUN.after([node], [lease("ann-x", node, tenant="ann", bytes=2_000_000)], 3.6, 1060.0)
    twice = once.after([node], [lease("ann-x", node, tenant="ann", bytes=6_000_000)], 3.6, 1120.0)
    assert twice.sent == {"ann": pytest.approx(3.0)}
    assert twice.cost_usd == pytest.approx(0.12)
    assert twice.after([node], [], 3.6, 1100.0).cost_usd == pytest.approx(0.12), "a clock that goes back costs nothing"


def test_a_node_costs_from_its_request_to_its_end_and_carries_from_when_it_is_ready() -> None:
    late = pools.node(requested_at=1010.0, ready_at=None, state="STARTING")
    ended = pools.node(number=2, state="ENDED", ended_at=1020.0)
    found = BEGUN.after([late, ended], [lease("ann-x", ended, tenant="ann", bytes=4_000_000_000)], 3.6, 1060.0)
    assert found.node_seconds == 50.0 + 20.0
    # Both together could carry the 2 000 MB of 20 s alone, so nothing was idle.
    assert found.shares == {"ann": pytest.approx(found.cost_usd)}


def test_the_next_month_goes_on_where_the_last_one_ended() -> None:
    node = pools.node(state="SERVING", leases=1)
    december = BEGUN.after([node], [lease("ann-x", node, tenant="ann", bytes=2_000_000)], 3.6, 1060.0)
    january = december.begin("2027-01").after(
        [node], [lease("ann-x", node, tenant="ann", bytes=4_000_000)], 3.6, 1120.0
    )
    assert (january.month, january.sent, january.node_seconds) == ("2027-01", {"ann": 1.0}, 60.0)


def test_sums_are_whole_micro_dollars() -> None:
    found = summed(1 / 3, {"ann": 0.1, "bob": 1 / 7}, [("ann", 0.25)])
    assert found.cost == sum(found.shared.values()) + found.idle == round(MICRO / 3)
    assert found.margin == 250_000 - found.cost


def test_a_month_is_that_of_utc() -> None:
    assert month_of(1_796_083_199) == "2026-11"
    assert month_of(1_796_083_200) == "2026-12"
