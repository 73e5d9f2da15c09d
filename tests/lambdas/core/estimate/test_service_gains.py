"""a, b and c between two regions, from the rates of transfers of three kinds."""

import pytest

from lambdas.core.estimate.profile import Metric, Profile
from lambdas.core.estimate.service_gains import LEAST_SAMPLES, gains
from lambdas.core.pool.price import Gains, price_range

RATES: dict[Metric, float] = {"rateDirect": 20.0, "rateLaunched": 80.0, "ratePooled": 100.0}


def learnt(rates: dict[Metric, float], samples: int = LEAST_SAMPLES) -> Profile:
    profile = Profile()
    for at in range(samples):
        for metric, rate in rates.items():
            profile = profile.refined(metric, rate, 1000.0 + at)
    return profile


def test_gains_are_ratios_of_what_transfers_of_each_kind_have_shown() -> None:
    found = gains(learnt(RATES))
    assert [found.a, found.c, found.b] == pytest.approx([4.0, 0.8, 5.0])
    # A pool that is faster than relays of one's own is worth more, at both ends of the range.
    assert price_range(1.0, 5, found).low > price_range(1.0, 5).low


@pytest.mark.parametrize("missing", list(RATES))
def test_until_all_three_kinds_have_come_the_paper_s_gains_stand(missing: Metric) -> None:
    assert gains(learnt({metric: rate for metric, rate in RATES.items() if metric != missing})) == Gains()
    assert gains(learnt(RATES, LEAST_SAMPLES - 1)) == Gains()
    assert gains(None) == Gains()


def test_what_an_operator_has_configured_counts_at_once() -> None:
    assert gains(Profile(configured=RATES)).a == pytest.approx(4.0)
