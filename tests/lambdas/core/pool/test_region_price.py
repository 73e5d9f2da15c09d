"""The price of a region's pool, and of a transfer: Equation 1 by use, half of it at each side."""

import pytest

from lambdas.core.pool.price import Gains, price_range, usd_per_gb
from lambdas.core.pool.region_price import PoolPrice, RegionPrice, region_price, transfer_price
from tests.lambdas import pools
from tests.lambdas.builders import IRELAND, WEST


def of(region: str, use: float, hour: float = 0.36) -> RegionPrice:
    return RegionPrice(region=region, at=1000.0, use=use, vm_usd_per_hour=hour, node_mb_s=100.0)


def test_the_use_is_of_the_leases_that_nodes_can_give() -> None:
    nodes = [pools.node(number=1, state="SERVING", leases=1), pools.node(number=2)]
    found = region_price(WEST, nodes, 2, 0.36, 1000.0)
    assert found == RegionPrice(region=WEST, at=1000.0, use=0.25, vm_usd_per_hour=0.36, node_mb_s=100.0)


def test_a_pool_that_has_nothing_to_give_is_as_good_as_full() -> None:
    found = region_price(WEST, [pools.node(state="DRAINING", leases=1)], 2, 0.36, 1000.0)
    assert found is not None
    assert found.use == 1.0
    assert region_price(WEST, [pools.node(state="ENDED")], 2, 0.36, 1000.0) is None


@pytest.mark.parametrize("use", [0.0, 0.3, 1.0])
def test_both_sides_together_cost_the_service_by_the_rate(use: float) -> None:
    found = transfer_price({WEST: of(WEST, use), IRELAND: of(IRELAND, 0.0)}, 8, 200.0, Gains(), 1000.0)
    service = price_range(0.36 / 3600, 8).at(use)
    assert found.usd_per_gb([WEST, IRELAND]) == pytest.approx(usd_per_gb(service, 200.0))
    assert found.use == use


def test_each_side_costs_half_at_its_own_price_of_a_machine() -> None:
    found = transfer_price({WEST: of(WEST, 0.0), IRELAND: of(IRELAND, 0.0, hour=0.72)}, 2, 100.0, Gains(), 1000.0)
    assert found.sides[IRELAND] == pytest.approx(2 * found.sides[WEST])
    assert found.sides[WEST] == pytest.approx(usd_per_gb(3.0 * 0.0001 / 2, 100.0))
    assert found.usd_per_gb([WEST]) == found.sides[WEST]
    assert found.usd_per_gb([WEST, WEST]) == pytest.approx(2 * found.sides[WEST])
    assert found.usd_per_gb(["eu-north-1"]) == 0.0


def test_it_is_read_as_it_is_written() -> None:
    found = transfer_price({WEST: of(WEST, 0.5)}, 4, 100.0, Gains(a=2.0, c=1.1), 1000.0)
    assert PoolPrice.from_document(found.to_document()) == found
    assert "overdue" not in found.to_document()
