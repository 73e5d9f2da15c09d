"""What one tenant has used of the pool this month, and what it has paid."""

from lambdas.adapters.world import World
from lambdas.core.pool.month_account import month_of
from lambdas.core.pool.month_report import TenantUse, pool_month


def of_tenant(world: World, tenant: str) -> TenantUse | None:
    """None without a pool, or where the tenant has not used it yet."""
    if not world.env.pool_regions:
        return None
    month = month_of(world.clock.now())
    known = [world.pool_accounts.month(region, month) for region in world.env.pool_regions]
    found = pool_month(month, [one for one in known if one], world.pool_accounts.charges(month))
    return next((one for one in found.tenants if one.tenant == tenant), None)
