from math import inf, nan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lambdas.core.tariff import cost
from lambdas.core.tariff.cost import Billing

GB = 10**9


@pytest.mark.parametrize(
    ("billing", "seconds", "billed"),
    [
        (Billing.PER_SECOND, 0, 60),
        (Billing.PER_SECOND, 60.5, 61),
        (Billing.PER_SECOND, 3601, 3601),
        (Billing.PER_MINUTE, 61, 120),
        (Billing.PER_MINUTE, 120, 120),
        (Billing.PER_HOUR, 300, 3600),
        (Billing.PER_HOUR, 5400, 7200),
    ],
)
def test_time_is_rounded_up_to_what_is_billed(billing: Billing, seconds: float, billed: float) -> None:
    assert cost.billed_seconds(seconds, billing) == billed


def test_what_never_ends_costs_without_end() -> None:
    assert all(cost.billed_seconds(inf, billing) == inf for billing in Billing)


def test_sequential_transfer_pays_egress_alone() -> None:
    assert cost.egress(8 * GB, 0.02) == pytest.approx(0.16)
    assert cost.transfer(8 * GB, 0, 545, 0.023, 0.02) == pytest.approx(0.16)


def test_relays_of_both_sides_are_paid_as_long_as_the_transfer_runs() -> None:
    assert cost.transfer(8 * GB, 2, 521, 0.023, 0.02) == pytest.approx(521 * 4 * 0.023 / 3600 + 0.16)


def test_pre_test_makes_equation_4_2() -> None:
    pairs, transfer_seconds, test_seconds, hour = 3, 400, 60, 0.09
    paid = cost.transfer(8 * GB, pairs, transfer_seconds + test_seconds, hour, 0.02)
    paid += cost.pre_test(pairs, test_seconds, hour)
    nodes, egress = 2 * pairs, 0.16
    assert paid == pytest.approx(nodes * hour / 3600 * (transfer_seconds + 2 * test_seconds) + egress)


def test_instances_billed_by_the_hour_pay_an_hour_each_for_five_minutes() -> None:
    assert cost.relays(4, 300, 0.10, Billing.PER_HOUR) == pytest.approx(0.40)


@given(st.floats(0, 1e6))
def test_finer_billing_is_never_dearer(seconds: float) -> None:
    by_second, by_minute, by_hour = (cost.billed_seconds(seconds, billing) for billing in Billing)
    assert seconds <= by_second <= by_minute <= by_hour


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cost.billed_seconds(-1), "seconds: -1; must be a number of seconds, 0 or more"),
        (lambda: cost.billed_seconds(nan), "seconds: nan; must be a number of seconds, 0 or more"),
        (lambda: cost.relays(-2, 60, 0.1), "count: -2; must be a number of instances, 0 or more"),
        (lambda: cost.relays(2, 60, -0.1), r"hour_usd: -0\.1; must be a number of dollars per hour, 0 or more"),
        (lambda: cost.egress(-1, 0.02), "size_bytes: -1; must be a number of bytes, 0 or more"),
        (lambda: cost.egress(1, -0.02), r"usd_per_gb: -0\.02; must be a number of dollars per GB, 0 or more"),
    ],
)
def test_what_cannot_be_is_refused(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
