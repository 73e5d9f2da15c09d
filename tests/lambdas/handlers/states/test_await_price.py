"""A transfer that waits for a price starts at it, or in time at any; what it started with stays."""

from typing import Any

import pytest

from lambdas.core.errors import TransferFenced
from lambdas.core.pool.price_wait import PriceWait
from lambdas.core.record import transfer_life
from lambdas.core.record.transfer_record import TransferRecord
from lambdas.handlers.states.await_price import PriceInput, await_price
from lambdas.handlers.states.estimate_transfer import EstimateInput, estimate_transfer
from tests.lambdas import pools
from tests.lambdas.builders import IRELAND, WEST, profile, survey, transfer
from tests.lambdas.cloud import Cloud
from tests.lambdas.handlers.states.test_estimate_transfer import PAIR, price_of


def cloud_with(use: float = 1.0) -> Cloud:
    cloud = Cloud(pool_regions=pools.regions())
    pools.stand(cloud, 2)
    price_of(cloud, use)
    # Four pairs of 20 MB/s beside a direct path of 20: below four relays the price does not follow the use.
    for kind in ("m5.large", "t3.small"):
        cloud.profiles.profiles[kind, PAIR] = profile(20, 160, 5)
    return cloud


def waiting(cloud: Cloud, usd: float, start_by: str = "1h") -> PriceInput:
    accepted = transfer(relays={"pairs": 4, "maxUsdPerGB": usd, "startBy": start_by})
    cloud.transfers.create(accepted)
    return PriceInput(transfer=accepted)


def after(event: PriceInput, found: dict[str, Any]) -> PriceInput:
    """The next look."""
    return event.model_copy(update={"wait": PriceWait.from_document(found)})


def record(cloud: Cloud) -> TransferRecord:
    found = cloud.transfers.get("first")
    assert found is not None
    return found


def price_per_gb(cloud: Cloud) -> float:
    """As it is for whoever would take any price."""
    found = await_price(waiting(cloud, 1e6), cloud.world)
    cloud.transfers = type(cloud.transfers)()
    return float(found["usdPerGB"])


def test_it_waits_while_the_pool_is_dearer_and_starts_once_it_is_not() -> None:
    low, high = (price_per_gb(cloud_with(use)) for use in (0.0, 1.0))
    assert low < high
    cloud = cloud_with(1.0)
    event = waiting(cloud, (low + high) / 2)
    first = await_price(event, cloud.world)
    assert (first["waitSeconds"], first["usdPerGB"]) == (60, pytest.approx(high))
    assert record(cloud).awaits_price
    assert record(cloud).pool_price is None
    cloud.clock.sleep(60)
    price_of(cloud, 0.0)
    second = await_price(after(event, first), cloud.world)
    assert "waitSeconds" not in second
    kept = record(cloud).pool_price
    assert kept is not None
    assert kept.usd_per_gb([WEST, IRELAND]) == pytest.approx(low)
    assert not kept.is_overdue
    assert not record(cloud).awaits_price


def test_the_price_that_it_started_with_is_that_of_its_estimate_whatever_came_since() -> None:
    cloud = cloud_with(0.0)
    event = waiting(cloud, 1e6)
    await_price(event, cloud.world)
    price_of(cloud, 1.0)
    found = estimate_transfer(EstimateInput(transfer=event.transfer, survey=survey()), cloud.world)
    assert found.pool_price == record(cloud).pool_price


def test_at_its_latest_time_it_starts_at_any_price_and_the_record_says_so() -> None:
    cloud = cloud_with(1.0)
    event = waiting(cloud, 0.0, "20m")
    found = await_price(event, cloud.world)
    # So that the first byte comes in time: 14 s before, as nobody has learnt yet how long that takes.
    cloud.clock.sleep(1200 - 14 - 61)
    looks = 0
    while "waitSeconds" in (found := await_price(after(event, found), cloud.world)):
        cloud.clock.sleep(found["waitSeconds"])
        looks += 1
    assert looks == 2, "after a minute, and for what was left of the last one"
    assert cloud.clock.now() == pytest.approx(1000 + 1200 - 14, abs=1.5)
    kept = record(cloud).pool_price
    assert kept is not None
    assert kept.is_overdue
    assert kept.to_document()["overdue"] is True


def test_where_no_pool_has_a_price_yet_it_waits_and_starts_in_time_without_one() -> None:
    cloud = Cloud(pool_regions=pools.regions())
    event = waiting(cloud, 1.0, "2m")
    found = await_price(event, cloud.world)
    assert found["waitSeconds"] == 60
    cloud.clock.sleep(110)
    assert "waitSeconds" not in await_price(after(event, found), cloud.world)
    assert record(cloud).pool_price is None


def test_a_look_that_comes_twice_changes_nothing() -> None:
    cloud = cloud_with(0.0)
    event = waiting(cloud, 1e6)
    await_price(event, cloud.world)
    before = record(cloud).pool_price
    price_of(cloud, 1.0)
    assert "waitSeconds" not in await_price(event, cloud.world)
    assert record(cloud).pool_price == before


def test_whoever_is_torn_down_waits_no_longer() -> None:
    cloud = cloud_with()
    event = waiting(cloud, 0.0)
    cloud.transfers.change(event.transfer, transfer_life.FENCE)
    with pytest.raises(TransferFenced):
        await_price(event, cloud.world)
