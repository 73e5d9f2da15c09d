"""What a report says of the pool: bytes that went through it, dollars at the price of the start, parts of nodes."""

import pytest

from lambdas.core.fleet.relay_node import Node
from lambdas.core.pool.region_price import PoolPrice
from lambdas.core.report.pool_report import use_of
from tests.lambdas.builders import IRELAND, WEST, node

PRICE = PoolPrice(
    at=1000.0, sides={WEST: 0.2, IRELAND: 0.3}, use=0.5, relays=2, rate=40.0, node_mb_s=100.0, a=3.0, c=1.2
)
SENT = 5 * 10**9
BYTES = {"direct": 1e9, "pair-1": 3e9, "pair-2": 1e9}


def leases(*slots: int) -> list[Node]:
    return [node(stage, slot, provider="pool") for slot in slots for stage in (0, 1)]


def test_only_what_went_through_the_pool_is_charged() -> None:
    nodes = [*leases(1), node(0, 2), node(1, 2)]
    # The meter counts all 5 GB at both sides' price.
    found = use_of(PRICE, nodes, BYTES, 2.5, SENT)
    assert found is not None
    assert found.sent_bytes == 3 * 10**9
    assert found.usd == pytest.approx(1.5)
    assert found.node_seconds == pytest.approx(2 * 30.0)


def test_one_side_of_the_pool_costs_that_side_alone() -> None:
    found = use_of(PRICE, [node(0, 1, provider="pool"), node(1, 1)], BYTES, 1.0, SENT)
    assert found is not None
    assert found.usd == pytest.approx(0.6)
    assert found.node_seconds == pytest.approx(30.0)


def test_what_was_sent_again_is_charged_as_the_meter_counted_it() -> None:
    found = use_of(PRICE, leases(1), BYTES, 5.0, 2 * SENT)
    assert found is not None
    assert found.usd == pytest.approx(3.0)


def test_whoever_had_no_lease_pays_nothing_and_nothing_is_said() -> None:
    assert use_of(PRICE, [node(0, 1), node(1, 1)], BYTES, 0.0, SENT) is None
    assert use_of(None, leases(1), BYTES, 0.0, SENT) is None
    nothing = use_of(PRICE, leases(1), {}, 0.0, 0)
    assert nothing is not None
    assert nothing.usd == 0.0


def test_no_more_is_charged_than_the_meter_has_counted() -> None:
    found = use_of(PRICE, leases(1), BYTES, 1.25, SENT)
    assert found is not None
    assert found.usd == 1.25
