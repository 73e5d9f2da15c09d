"""The month's three sums, and whose they are."""

import pytest

from lambdas.core.pool.month import MICRO
from lambdas.core.pool.month_account import MonthAccount, PoolCharge
from lambdas.core.pool.month_report import pool_month
from lambdas.core.tariff.energy import watt_hours
from tests.lambdas.builders import IRELAND, WEST


def account(region: str, **changes: float) -> MonthAccount:
    shares = {"ann": 0.25, "bob": 1 / 3}
    whole = MonthAccount(region=region, month="2026-12", until=1000.0, cost_usd=1.0, node_seconds=3600.0, shares=shares)
    return whole.model_copy(update={"sent": {"ann": 1500.0, "bob": 2000.0}, **changes})


def charge(tenant: str, usd: float, execution: str = "one") -> PoolCharge:
    return PoolCharge(
        transfer_id="x", execution=execution, tenant=tenant, at=1000.0, usd=usd, sent_bytes=10**9, energy_wh=5.0
    )


def test_shares_and_idle_are_what_the_machines_cost_in_all_regions() -> None:
    found = pool_month("2026-12", [account(WEST), account(IRELAND)], [charge("ann", 0.5), charge("ann", 0.75, "two")])
    assert round((found.shared_usd + found.idle_usd) * MICRO) == round(found.machines_usd * MICRO) == 2 * MICRO
    assert (found.charged_usd, found.margin_usd) == (1.25, -0.75)
    assert found.regions == [IRELAND, WEST]
    assert found.machines_wh == pytest.approx(watt_hours(7200.0))
    ann, bob = found.tenants
    assert (ann.tenant, ann.transfers, ann.charged_usd, ann.shared_usd) == ("ann", 2, 1.25, 0.5)
    assert (ann.sent_gb, ann.energy_wh) == (3.0, 10.0)
    assert (bob.transfers, bob.charged_usd) == (0, 0.0)
    assert bob.shared_usd == pytest.approx(2 / 3, abs=1e-6)


def test_a_month_that_nobody_counted_is_empty() -> None:
    found = pool_month("2026-11", [], [])
    assert (found.machines_usd, found.tenants, found.regions) == (0.0, [], [])
