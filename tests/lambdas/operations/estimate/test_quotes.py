from dataclasses import replace

from lambdas.core.tariff.prices import Price, PriceItem, needed
from lambdas.operations.estimate.quotes import REFRESH_SECONDS, market_of, price_book
from tests.lambdas.builders import IRELAND, WEST, transfer
from tests.lambdas.cloud import Cloud
from tests.lambdas.core.tariff.test_instance_types import FACTS

ITEMS = needed(["t3.small"], WEST, IRELAND)
SMALL = PriceItem("instance-hour", WEST, "t3.small")


def test_prices_are_asked_for_once_and_kept() -> None:
    cloud = Cloud()
    cloud.price_list.dollars = dict.fromkeys(ITEMS, 0.5)
    first = price_book(ITEMS, cloud.world)
    assert first.found[SMALL] == Price(0.5, "price list", cloud.clock.now())
    assert first.problems == ()
    asked = len(cloud.price_list.asked)
    assert price_book(ITEMS, cloud.world) == first
    assert len(cloud.price_list.asked) == asked == len(ITEMS)


def test_after_a_week_they_are_asked_for_again() -> None:
    cloud = Cloud()
    cloud.price_list.dollars = dict.fromkeys(ITEMS, 0.5)
    price_book(ITEMS, cloud.world)
    cloud.clock.time += REFRESH_SECONDS + 1
    cloud.price_list.dollars = dict.fromkeys(ITEMS, 0.6)
    assert price_book(ITEMS, cloud.world).found[SMALL] == Price(0.6, "price list", cloud.clock.now())


def test_without_an_answer_older_prices_stay_and_the_rest_is_fallback() -> None:
    cloud = Cloud()
    cloud.price_list.dollars = {SMALL: 0.5}
    price_book(ITEMS, cloud.world)
    cloud.clock.time += 2 * REFRESH_SECONDS
    cloud.price_list.dollars = {}
    book = price_book(ITEMS, cloud.world)
    assert book.instance_hour("t3.small", WEST).age_days(cloud.clock.now()) == 14
    assert book.from_fallback(ITEMS) == [item for item in ITEMS if item != SMALL]
    assert len(book.problems) == len(ITEMS)


def test_only_what_is_missing_is_asked_for() -> None:
    cloud = Cloud()
    cloud.price_cache.prices = {item: Price(0.5, "price list", cloud.clock.now()) for item in ITEMS if item != SMALL}
    price_book(ITEMS, cloud.world)
    assert cloud.price_list.asked == [SMALL]


def test_each_side_tells_types_and_the_quota_left() -> None:
    cloud = Cloud()
    for region in (WEST, IRELAND):
        cloud.instance_types[region].known = {"c7gn.large": FACTS, "m5.large": replace(FACTS, instance_type="m5.large")}
        machine = next(iter(cloud.compute[region].machines.values()))
        machine.instance = replace(machine.instance, vcpus=2)
    cloud.quotas[WEST].limits["on-demand"] = 32.0
    found = market_of(transfer(), ["c7gn.large", "z9.huge"], cloud.world)
    assert set(found.source.facts) == {"c7gn.large", "m5.large"}
    assert (found.source.free_vcpus, found.destination.free_vcpus) == (30, None)
    assert found.source.spot == {}


def test_without_the_role_for_spot_relays_count_as_on_demand() -> None:
    cloud = Cloud()
    cloud.spot_market[WEST].prices = {("us-west-2a", "t3.small"): Price(0.01, "spot history", 900.0)}
    cloud.spot_market[WEST].role = False
    cloud.quotas[WEST].limits = {"on-demand": 32.0, "spot": 0.0}
    machine = next(iter(cloud.compute[WEST].machines.values()))
    machine.instance = replace(machine.instance, vcpus=2)
    found = market_of(transfer(relays={"market": "spot"}), ["t3.small"], cloud.world)
    assert (found.market, found.source.spot, found.source.free_vcpus) == ("on-demand", {}, 30)


def test_spot_prices_of_each_sides_own_zone_are_in_the_book_and_not_kept() -> None:
    cloud = Cloud()
    price = Price(0.01, "spot history", 900.0)
    cloud.spot_market[WEST].prices = {("us-west-2a", "t3.small"): price, ("us-west-2b", "t3.medium"): price}
    found = market_of(transfer(relays={"market": "spot"}), ["t3.small", "t3.medium"], cloud.world)
    assert found.source.spot == {"t3.small": price}
    assert found.prices.instance_hour("t3.small", WEST, "spot") == price
    assert found.prices.instance_hour("t3.medium", WEST, "spot").origin == "fallback"
    assert cloud.price_cache.prices == {}
