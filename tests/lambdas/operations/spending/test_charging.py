"""What a transfer pays for the pool: in its report, in its tenant's ledger, and in the month's account."""

import json

import pytest
from jsonschema import Draft202012Validator

from lambdas.core.pool.region_price import PoolPrice
from lambdas.core.record import transfer_life
from lambdas.operations.spending import metering
from tests.lambdas.builders import IRELAND, WEST, node, transfer
from tests.lambdas.cloud import Cloud
from tests.lambdas.finished import finished, run
from tests.paths import CONTRACTS

SCHEMA = Draft202012Validator(json.loads((CONTRACTS / "report.schema.json").read_text()))
PRICE = PoolPrice(
    at=1000.0, sides={WEST: 0.2, IRELAND: 0.3}, use=0.5, relays=2, rate=40.0, node_mb_s=100.0, a=3.0, c=1.2
)


def through_the_pool() -> Cloud:
    """Two of its three chunks went through leases."""
    cloud = finished()
    cloud.nodes.forget("first")
    cloud.transfers.change(transfer(), transfer_life.note(pool_price=PRICE))
    for role in ("source", "destination"):
        cloud.nodes.put(node(role, state="TERMINATED", provider="pool", joined_at=1005.0, ended_at=1090.0))
    return cloud


def test_the_charge_is_in_report_and_account_and_the_total_has_it_once() -> None:
    cloud = through_the_pool()
    found = run(cloud)
    SCHEMA.validate(found)
    cost, pool = found["cost"], found["pool"]
    # The sender has sent 2 GB, of which two thirds went through both sides.
    assert pool["usd"] == cost["pool"] == pytest.approx(2 * 0.5 * 2 / 3, abs=1e-6)
    parts = ("relays", "egress", "crossZone", "controlPlane", "pool")
    assert cost["total"] == pytest.approx(sum(cost[part] for part in parts))
    assert cost["relays"] == 0
    (charge,) = cloud.pool_accounts.paid.values()
    assert (charge.tenant, charge.usd, charge.sent_bytes) == ("operator", pool["usd"], pool["bytes"])
    assert charge.energy_wh == found["energy"]["wattHours"]


def test_a_report_that_is_written_again_charges_once() -> None:
    cloud = through_the_pool()
    run(cloud)
    run(cloud)
    assert len(cloud.pool_accounts.paid) == 1


def test_without_leases_nothing_is_charged_whatever_the_price() -> None:
    cloud = finished()
    cloud.transfers.change(transfer(), transfer_life.note(pool_price=PRICE))
    found = run(cloud)
    assert "pool" not in found
    assert "pool" not in found["cost"]
    assert cloud.pool_accounts.paid == {}


def test_what_was_sent_before_the_first_lease_stays_out_of_the_meter() -> None:
    cloud = finished()
    cloud.nodes.forget("first")
    cloud.transfers.change(transfer(), transfer_life.note(pool_price=PRICE))
    record = cloud.transfers.get("first")
    assert record is not None
    before = metering.look(cloud.world, record)
    assert (before.pool, before.unpooled_bytes) == (0.0, 2 * 10**9)
    cloud.nodes.put(node("source", provider="pool", joined_at=1005.0))
    record = cloud.transfers.get("first")
    assert record is not None
    after = metering.look(cloud.world, record)
    assert (after.pool, after.unpooled_bytes) == (0.0, 2 * 10**9)
