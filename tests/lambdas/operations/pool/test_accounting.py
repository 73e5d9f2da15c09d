"""What looks keep of a pool's money: the price for who comes next, and the month's account."""

import pytest

from lambdas.core.pool import pool_life
from lambdas.core.pool.month_account import month_of
from lambdas.core.tariff import fallback_prices
from lambdas.operations.pool import accounting
from tests.lambdas import pools
from tests.lambdas.builders import WEST
from tests.lambdas.cloud import Cloud
from tests.lambdas.core.pool.leases import lease
from tests.lambdas.operations.pool.test_keeping import free, keep, nodes


def cloud_with() -> Cloud:
    cloud = Cloud(pool_regions={WEST: pools.settings(WEST)})
    cloud.pool.put(pools.node())
    return cloud


def give(cloud: Cloud, moved: int = 0) -> None:
    node = cloud.pool.nodes(WEST)[0]
    change = pool_life.give(node, 2)
    assert change is not None
    assert cloud.pool.give(node, change, lease("first", node, tenant="acme", bytes=moved))


def test_a_type_without_a_known_price_costs_as_much_as_the_dearest_one_of_its_size() -> None:
    known = Cloud(pool_regions={WEST: pools.settings(WEST)})
    unknown = Cloud(pool_regions={WEST: pools.settings(WEST, instanceType="z9.24xlarge")})
    dear = fallback_prices.dearest_hour("z9.24xlarge", WEST)
    assert accounting.hour_usd(unknown.world, WEST) > dear > accounting.hour_usd(known.world, WEST)


def test_a_look_tells_the_price_by_what_is_leased() -> None:
    cloud = cloud_with()
    accounting.tell_price(cloud.world, WEST, cloud.pool.nodes(WEST))
    empty = cloud.pool_accounts.price(WEST)
    assert empty is not None
    assert (empty.use, empty.node_mb_s) == (0.0, 100.0)
    # $0.1134 for the instance, with 8 GB of disk and an address.
    assert empty.vm_usd_per_hour == pytest.approx(accounting.hour_usd(cloud.world, WEST))
    give(cloud)
    accounting.tell_price(cloud.world, WEST, cloud.pool.nodes(WEST))
    half = cloud.pool_accounts.price(WEST)
    assert half is not None
    assert half.use == 0.5


def test_looks_count_what_machines_cost_and_who_used_them() -> None:
    cloud = cloud_with()
    give(cloud, moved=600_000_000)
    accounting.count(cloud.world, WEST)
    cloud.clock.sleep(60)
    accounting.count(cloud.world, WEST)
    found = cloud.pool_accounts.month(WEST, month_of(cloud.clock.now()))
    assert found is not None
    assert found.sent == {"acme": 300.0}
    assert found.node_seconds == 120.0
    assert found.cost_usd == pytest.approx(120 / 3600 * accounting.hour_usd(cloud.world, WEST))
    assert found.shares == {"acme": pytest.approx(found.cost_usd / 2 * 300 / 6000)}


def test_of_two_looks_that_count_at_once_one_counts() -> None:
    cloud = cloud_with()
    accounting.count(cloud.world, WEST)
    before = cloud.pool_accounts.month(WEST, month_of(cloud.clock.now()))
    assert before is not None
    cloud.clock.sleep(60)
    accounting.count(cloud.world, WEST)
    late = before.after(cloud.pool.nodes(WEST), [], 1.0, cloud.clock.now())
    assert not cloud.pool_accounts.put_month(late, before)


def test_every_look_does_both_before_it_forgets_leases() -> None:
    cloud = Cloud(pool_regions={WEST: pools.settings(WEST)})
    free(cloud)
    give(cloud, moved=600_000_000)
    node, (held,) = nodes(cloud)[0], cloud.pool.leases.values()
    assert cloud.pool.take_back(node, pool_life.take_back(node, cloud.clock.now()), held, cloud.clock.now())
    cloud.pool.leases = {
        key: one.model_copy(update={"stopped_at": cloud.clock.now()}) for key, one in cloud.pool.leases.items()
    }
    keep(cloud)
    found = cloud.pool_accounts.month(WEST, month_of(cloud.clock.now()))
    assert found is not None
    assert found.sent == {"acme": 300.0}
    assert cloud.pool.leases == {}
    assert cloud.pool_accounts.price(WEST) is not None
