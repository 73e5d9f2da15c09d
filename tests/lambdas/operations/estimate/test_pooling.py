"""The pool's price of a transfer: from its regions' prices, and between two regions from what transfers have taught."""

import pytest

from lambdas.core.estimate.profile import Metric, Profile
from lambdas.core.estimate.whole_time import TRANSFERS
from lambdas.operations.estimate import pooling
from tests.lambdas import pools
from tests.lambdas.builders import IRELAND, WEST, figures, transfer
from tests.lambdas.cloud import Cloud
from tests.lambdas.handlers.states.test_estimate_transfer import PAIR, price_of

RATES: dict[Metric, float] = {"rateDirect": 20.0, "rateLaunched": 80.0, "ratePooled": 100.0}


def cloud_with(use: float = 0.5) -> Cloud:
    cloud = Cloud(pool_regions=pools.regions())
    price_of(cloud, use)
    return cloud


def test_later_looks_at_the_price_count_on_what_the_first_one_did() -> None:
    low, high = (pooling.price_again(transfer(), 8, 100.0, cloud_with(use).world) for use in (0.0, 1.0))
    assert low is not None
    assert high is not None
    assert (low.relays, low.rate) == (high.relays, high.rate) == (8, 100.0)
    assert low.usd_per_gb([WEST, IRELAND]) < high.usd_per_gb([WEST, IRELAND])


def test_gains_between_the_two_regions_are_those_of_the_price() -> None:
    cloud = cloud_with()
    cloud.profiles.profiles[TRANSFERS, PAIR] = Profile(configured=RATES)
    found = pooling.price_again(transfer(), 8, 100.0, cloud.world)
    assert found is not None
    assert (found.a, found.c) == (4.0, 0.8)


def test_whoever_may_have_no_lease_has_no_price() -> None:
    assert pooling.price_again(transfer(relays={"pool": "none"}), 8, 100.0, cloud_with().world) is None
    assert pooling.price_again(transfer(), 8, 100.0, Cloud(pool_regions=pools.regions()).world) is None
    assert pooling.fixed(transfer(), cloud_with().world) is None


def test_a_gb_through_a_pair_costs_what_both_sides_do() -> None:
    price = pooling.price_again(transfer(), 8, 100.0, cloud_with().world)
    assert price is not None
    found = pooling.priced(transfer(), figures(), price)
    assert found.pool_gb_usd == pytest.approx(sum(price.sides.values()))
    assert pooling.priced(transfer(), figures(), None) == figures()
