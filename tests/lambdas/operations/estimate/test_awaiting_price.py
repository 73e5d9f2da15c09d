"""One look at a price that a transfer waits for, where an estimate is not possible."""

import pytest

from lambdas.core.errors import BudgetTooSmall
from lambdas.core.pool.price_wait import PriceWait
from lambdas.operations.estimate import awaiting_price
from lambdas.operations.estimate.estimation import estimate_for
from tests.lambdas import pools
from tests.lambdas.builders import transfer
from tests.lambdas.cloud import Cloud
from tests.lambdas.handlers.states.test_estimate_transfer import price_of


def test_a_budget_that_is_too_small_is_said_by_the_estimate_and_not_while_it_waits() -> None:
    cloud = Cloud(pool_regions=pools.regions())
    price_of(cloud, 0.5)
    accepted = transfer(relays={"maxUsdPerGB": 1, "startBy": "1h"}, objective={"maxCostUsd": 1e-9})
    cloud.transfers.create(accepted)
    found = awaiting_price.look(cloud.world, accepted, None)
    assert (found.usd_per_gb, found.wait_seconds) == (None, 60)
    with pytest.raises(BudgetTooSmall):
        estimate_for(accepted, 10**6, cloud.world)


def test_later_looks_ask_aws_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    cloud = Cloud(pool_regions=pools.regions())
    price_of(cloud, 0.5)
    accepted = transfer(relays={"maxUsdPerGB": 0, "startBy": "1h"})
    cloud.transfers.create(accepted)
    before = PriceWait(since=1000.0, until=4600.0, most_usd_per_gb=0.0, relays=8, rate=100.0)
    monkeypatch.setattr(awaiting_price, "estimate_for", None)
    found = awaiting_price.look(cloud.world, accepted, before)
    assert (found.relays, found.rate, found.wait_seconds) == (8, 100.0, 60)
