"""A month of the pool for people: what was charged, what its machines cost by use, what was idle; by tenant."""

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from lambdas.core.documents import Count, Document, Region
from lambdas.core.pool.month import MICRO, summed
from lambdas.core.pool.month_account import Month, MonthAccount, NonNegative, PoolCharge
from lambdas.core.tariff import energy


class TenantUse(Document):
    """Contract `pool-month`, `tenants`: dollars that its transfers were charged and that the machines cost by its use.

    `sent_gb`: through one node each; a byte that passes a node at both ends counts twice. `energy_wh`: of all machines
    of its transfers that used the pool, ends included.
    """

    tenant: str
    transfers: Count
    charged_usd: NonNegative
    shared_usd: NonNegative
    sent_gb: NonNegative = Field(alias="sentGB")
    energy_wh: NonNegative


class PoolMonth(Document):
    """Contract `pool-month`: `shared_usd` and `idle_usd` are `machines_usd`, to the micro-dollar.

    `margin_usd`: charged over what the machines cost; below 0 where the pool cost more.
    """

    schema_version: Literal[1] = 1
    month: Month
    regions: list[Region]
    charged_usd: NonNegative
    shared_usd: NonNegative
    idle_usd: NonNegative
    machines_usd: NonNegative
    margin_usd: float
    machine_hours: NonNegative
    machines_wh: NonNegative
    tenants: list[TenantUse]


def pool_month(month: str, accounts: Sequence[MonthAccount], charges: Sequence[PoolCharge]) -> PoolMonth:
    """The month of all regions together, each tenant's part with it."""
    shares: dict[str, float] = {}
    sent: dict[str, float] = {}
    for account in accounts:
        for tenant, usd in account.shares.items():
            shares[tenant] = shares.get(tenant, 0.0) + usd
        for tenant, mb in account.sent.items():
            sent[tenant] = sent.get(tenant, 0.0) + mb
    found = summed(
        sum(account.cost_usd for account in accounts), shares, [(charge.tenant, charge.usd) for charge in charges]
    )
    seconds = sum(account.node_seconds for account in accounts)
    tenants = []
    for name in sorted({*found.charged, *found.shared}):
        own = [charge for charge in charges if charge.tenant == name]
        tenants.append(
            TenantUse(
                tenant=name,
                transfers=len(own),
                charged_usd=found.charged.get(name, 0) / MICRO,
                shared_usd=found.shared.get(name, 0) / MICRO,
                sent_gb=round(sent.get(name, 0.0) / 1000, 6),
                energy_wh=round(sum(charge.energy_wh for charge in own), 3),
            )
        )
    return PoolMonth(
        month=month,
        regions=sorted(account.region for account in accounts),
        charged_usd=sum(found.charged.values()) / MICRO,
        shared_usd=sum(found.shared.values()) / MICRO,
        idle_usd=found.idle / MICRO,
        machines_usd=found.cost / MICRO,
        margin_usd=found.margin / MICRO,
        machine_hours=round(seconds / 3600, 6),
        machines_wh=round(energy.watt_hours(seconds), 3),
        tenants=tenants,
    )
