"""One suite for what the pool costs and is paid, in memory and in DynamoDB."""

import pytest

from lambdas.adapters.dynamodb import Table
from lambdas.adapters.dynamodb_pool_accounts import DynamoPoolAccounts
from lambdas.adapters.pool_stores import PoolAccounts
from lambdas.core.pool.month_account import MonthAccount, PoolCharge
from lambdas.core.pool.place_in_queue import QueuedTransfer
from lambdas.core.pool.queue import Use
from lambdas.core.pool.region_price import RegionPrice
from tests.lambdas.builders import IRELAND, WEST
from tests.lambdas.memory.pool_accounts import MemoryPoolAccounts


@pytest.fixture
def accounts(tables: dict[str, Table]) -> PoolAccounts:
    return DynamoPoolAccounts(tables["pool"]) if tables else MemoryPoolAccounts()


def account(until: float = 1000.0, month: str = "2026-12") -> MonthAccount:
    return MonthAccount(
        region=WEST,
        month=month,
        until=until,
        cost_usd=0.125,
        shares={"acme": 0.0625},
        sent={"acme": 12.5},
        moved={"i-0aaaaaaa1 first 1": 25_000_000},
        uses={"acme": Use(sent=12_500_000.0, at=1000.0)},
    )


def test_the_last_price_of_a_region_stands(accounts: PoolAccounts) -> None:
    assert accounts.price(WEST) is None
    for use in (0.25, 0.5):
        accounts.put_price(RegionPrice(region=WEST, at=1000.0, use=use, vm_usd_per_hour=0.125, node_mb_s=100.0))
    found = accounts.price(WEST)
    assert found is not None
    assert found.use == 0.5
    assert accounts.price(IRELAND) is None


def test_a_month_is_written_over_what_was_read_alone(accounts: PoolAccounts) -> None:
    first, second = account(), account(1060.0)
    assert accounts.put_month(first, None)
    assert not accounts.put_month(second, None)
    assert accounts.put_month(second, first)
    assert not accounts.put_month(account(1120.0), first)
    assert accounts.month(WEST, "2026-12") == second
    assert accounts.month(WEST, "2026-11") is None
    assert accounts.put_month(account(month="2027-01"), None), "another month is another account"


def test_a_place_is_kept_until_it_is_forgotten(accounts: PoolAccounts) -> None:
    place = QueuedTransfer(
        transfer_id="first",
        tenant="acme",
        regions=[WEST],
        asked_at=1000.0,
        wanted_bytes=10,
        seconds=1.5,
        until=1125.0,
    )
    accounts.queue_up(place)
    later = place.model_copy(update={"until": 1200.0})
    accounts.queue_up(later)
    assert accounts.queue() == [later]
    accounts.forget_place(later)
    assert accounts.queue() == []


def test_a_charge_can_be_said_again(accounts: PoolAccounts) -> None:
    charge = PoolCharge(
        transfer_id="first", execution="one", tenant="acme", at=1000.0, usd=0.5, sent_bytes=10**9, energy_wh=1.5
    )
    accounts.charge(charge)
    accounts.charge(charge.model_copy(update={"usd": 0.25}))
    assert [one.usd for one in accounts.charges("1970-01")] == [0.25]
    assert accounts.charges("1970-02") == []
