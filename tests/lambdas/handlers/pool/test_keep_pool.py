import pytest

from lambdas.core.errors import LaunchRefused
from lambdas.handlers.pool.keep_pool import keep_pool
from lambdas.runtime.handler import BusEvent
from tests.lambdas import pools
from tests.lambdas.builders import IRELAND, WEST
from tests.lambdas.cloud import Cloud


def test_each_region_is_looked_at_and_what_one_refuses_costs_no_other() -> None:
    cloud = Cloud(pool_regions=pools.regions())
    cloud.compute[WEST].refusals["c6in.large"] = "InsufficientInstanceCapacity"
    with pytest.raises(LaunchRefused):
        keep_pool(BusEvent(), cloud.world)
    assert [len(cloud.pool.nodes(region)) for region in (WEST, IRELAND)] == [0, 1]
    cloud.compute[WEST].refusals.clear()
    cloud.clock.sleep(60)
    assert keep_pool(BusEvent(), cloud.world)[WEST]["started"] == 1


def test_without_a_pool_nothing_is_looked_at() -> None:
    assert keep_pool(BusEvent(), Cloud().world) == {}
