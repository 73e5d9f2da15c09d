"""What one tenant sees of a month of the pool."""

from lambdas.core.pool.month_account import MonthAccount, month_of
from lambdas.operations.pool.month_use import of_tenant
from tests.lambdas import pools
from tests.lambdas.builders import IRELAND, WEST
from tests.lambdas.cloud import Cloud


def test_its_own_use_in_all_regions_and_nobody_else_s() -> None:
    cloud = Cloud(pool_regions=pools.regions())
    month = month_of(cloud.clock.now())
    for region in (WEST, IRELAND):
        account = MonthAccount(region=region, month=month, until=1.0, cost_usd=1.0, shares={"acme": 0.25, "beta": 0.5})
        cloud.pool_accounts.put_month(account, None)
    found = of_tenant(cloud.world, "acme")
    assert found is not None
    assert (found.tenant, found.shared_usd, found.charged_usd) == ("acme", 0.5, 0.0)
    assert of_tenant(cloud.world, "none") is None
    assert of_tenant(Cloud().world, "acme") is None
