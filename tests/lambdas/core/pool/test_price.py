import pytest

from lambdas.core.pool.price import Gains, PriceWish, begins, price_range, unified_usd_per_gb, usd_per_gb


def test_the_papers_gains_agree_with_each_other() -> None:
    assert Gains().b == pytest.approx(2.5)


@pytest.mark.parametrize(("extra", "high"), [(4, 3.0), (5, 4.6 / 1.2), (8, 7.6 / 1.2)])
def test_the_range_of_the_printed_gains(extra: int, high: float) -> None:
    found = price_range(1.0, extra)
    assert (found.low, found.high) == pytest.approx((3.0, high))
    assert not found.is_empty


@pytest.mark.parametrize("extra", [0, 1, 2, 3])
def test_it_is_empty_below_four_vms_and_the_lower_bound_holds(extra: int) -> None:
    found = price_range(1.0, extra)
    assert found.is_empty
    assert [found.at(use) for use in (0.0, 0.5, 1.0)] == [pytest.approx(3.0)] * 3


def test_at_its_bounds_the_service_costs_what_the_other_ways_cost() -> None:
    """Equation 1 from the costs themselves; with the printed + 2c the upper one fails."""
    vm, extra, gains, alone = 0.002, 6.0, Gains(3.5, 1.3), 1000.0
    found = price_range(vm, extra, gains)
    service, end_to_end = alone * gains.c, alone * gains.a
    assert service * (2 * vm + found.low) == pytest.approx(end_to_end * 2 * vm)
    assert service * (2 * vm + found.high) == pytest.approx(alone * (2 + extra) * vm)
    printed = vm * (2 + extra + 2 * gains.c) / gains.c
    assert service * (2 * vm + printed) > 1.5 * alone * (2 + extra) * vm


def test_the_price_follows_the_pools_use() -> None:
    found = price_range(1.0, 8)
    assert found.at(0.5) == pytest.approx((found.low + found.high) / 2)
    with pytest.raises(ValueError, match=r"use: 1\.1"):
        found.at(1.1)


def test_a_service_that_is_slower_than_two_vms_has_no_lower_bound() -> None:
    assert price_range(1.0, 8, Gains(1.0, 1.5)).low == 0.0


def test_a_price_per_second_is_one_per_gb_at_a_rate() -> None:
    assert usd_per_gb(0.0002, 50.0) == pytest.approx(0.004)
    assert unified_usd_per_gb(0.0002, 50.0, 0.02) == pytest.approx(0.024)
    with pytest.raises(ValueError, match="rate_mb_s: 0"):
        usd_per_gb(1.0, 0.0)


def test_a_transfer_waits_for_its_price_and_starts_in_time() -> None:
    wish = PriceWish(0.01, start_by=1000.0)
    assert begins(None, 9.0, 0.0) == "begin"
    assert begins(wish, 0.01, 0.0) == "begin"
    assert begins(wish, 0.02, 0.0) == "wait"
    assert begins(wish, 0.02, 989.0, seconds_until_first_byte=10.0) == "wait"
    assert begins(wish, 0.02, 990.0, seconds_until_first_byte=10.0) == "overdue"
    assert begins(wish, 0.01, 2000.0) == "begin"
    with pytest.raises(ValueError, match="maxUsdPerGB: -1"):
        PriceWish(-1, 0.0)
