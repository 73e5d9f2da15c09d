"""The pool in an estimate: what its bytes cost, what its leases take of a node, and what a budget has to bear."""

import pytest

from lambdas.core.estimate.budget import needed
from lambdas.core.estimate.figures import Figures
from lambdas.core.estimate.pool_figures import quoted, with_pool
from lambdas.core.estimate.rows import build_row
from lambdas.core.pool.energy import node_seconds
from lambdas.core.pool.price import Gains, price_range, usd_per_gb
from lambdas.core.pool.region_price import PoolPrice, RegionPrice
from lambdas.core.tariff.energy import watt_hours
from tests.lambdas.builders import IRELAND, WEST, figures

GB = 10**9
GB_USD = 0.5


def price(usd: float = GB_USD) -> PoolPrice:
    return PoolPrice(
        at=1000.0, sides={WEST: usd / 2, IRELAND: usd / 2}, use=0.5, relays=6, rate=80.0, node_mb_s=100.0, a=3.0, c=1.2
    )


def pooled(pairs: int | None = 3, usd: float = GB_USD) -> Figures:
    """Figures of a pool that can give so many pairs."""
    known = with_pool(figures().model_copy(update={"pooled": pairs}), price(usd), [WEST, IRELAND])
    assert isinstance(known, Figures)
    return known


def test_leases_cost_by_the_gb_and_no_machine() -> None:
    plain, row = build_row(2 * GB, 3, figures().model_copy(update={"pooled": 3})), build_row(2 * GB, 3, pooled())
    # Relays from the second second on: all of 2 GB but the direct path's 20 MB/s go through the pool.
    through = 2.0 - 0.02 * row.seconds
    assert row.pool_usd == pytest.approx(through * GB_USD, rel=0.05)
    assert row.cost_usd - plain.cost_usd == pytest.approx(row.pool_usd, abs=1e-4)
    assert plain.pool_usd is None
    launched = build_row(2 * GB, 3, figures())
    assert plain.cost_usd < launched.cost_usd - 6 * 60 * 0.1 / 3600 + 1e-4, "no relay is paid by its hour"


def test_a_budget_bears_all_bytes_through_the_pool() -> None:
    row = build_row(2 * GB, 3, pooled())
    assert row.most_usd >= 2 * GB_USD
    assert needed(row, pooled()) >= row.most_usd
    assert build_row(2 * GB, 0, pooled()).most_usd < 0.1, "the direct path needs none of it"


def test_leases_that_may_come_free_until_the_start_are_borne_too() -> None:
    row = build_row(2 * GB, 3, pooled(pairs=None))
    assert row.pool_usd is None
    assert row.most_usd >= 2 * GB_USD


def test_some_pairs_of_the_pool_and_some_that_are_launched() -> None:
    found = build_row(2 * GB, 3, pooled(pairs=1))
    whole, none = build_row(2 * GB, 3, pooled()), build_row(2 * GB, 3, figures())
    assert found.pool_usd is not None
    assert whole.pool_usd is not None
    assert found.pool_usd == pytest.approx(whole.pool_usd / 3, rel=0.15)
    assert whole.seconds < found.seconds < none.seconds


def test_of_shared_nodes_the_part_counts_that_the_bytes_take() -> None:
    row = build_row(2 * GB, 3, pooled())
    through = (2000 - 20 * row.seconds) * 2
    expected = watt_hours(2 * row.seconds + node_seconds(through, 100.0))
    assert row.energy_wh == pytest.approx(expected, rel=0.05)
    launched = build_row(2 * GB, 3, figures())
    assert launched.energy_wh == pytest.approx(watt_hours(8 * launched.seconds), rel=0.01)


def test_the_price_is_of_as_many_pairs_as_the_ends_can_use() -> None:
    regions = {
        name: RegionPrice(region=name, at=1000.0, use=0.5, vm_usd_per_hour=0.36, node_mb_s=100.0)
        for name in (WEST, IRELAND)
    }
    # Ends of 160, a direct path of 20, pairs of 20 MB/s: seven pairs are of use.
    found = quoted(regions, figures(), 20.0, 64, Gains(), 1000.0)
    assert (found.relays, found.rate) == (14, 160.0)
    service = price_range(0.0001, 14).at(0.5)
    assert found.usd_per_gb([WEST, IRELAND]) == pytest.approx(usd_per_gb(service, 160.0))
    few = quoted(regions, figures(), 20.0, 2, Gains(), 1000.0)
    assert (few.relays, few.rate) == (4, 60.0)
