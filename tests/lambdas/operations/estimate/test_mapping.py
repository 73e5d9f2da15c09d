"""The map is gathered from profiles, EC2 and the price list."""

from typing import Any

import pytest

from lambdas.core.errors import InvalidRequest, Throttled
from lambdas.core.estimate.network_map import Wanted
from lambdas.core.estimate.profile import Profile
from lambdas.core.tariff.prices import PriceItem
from lambdas.operations.estimate.mapping import network_map
from tests.lambdas.builders import IRELAND, WEST
from tests.lambdas.cloud import Cloud
from tests.lambdas.maps import FACTS, LARGE

PAIR = f"{WEST}>{IRELAND}"


def cloud(**settings: Any) -> Cloud:
    made = Cloud(instance_types=(LARGE,), regions=(WEST, IRELAND), **settings)
    for region in (WEST, IRELAND):
        made.instance_types[region].known = dict(FACTS)
    made.price_list.dollars = {PriceItem("egress-gb", WEST, IRELAND): 0.02, PriceItem("egress-gb", IRELAND, WEST): 0.03}
    return made


def test_each_link_has_what_is_known_of_it_alone() -> None:
    made = cloud()
    made.profiles.integrate(LARGE, PAIR, "interRegion", 250.0, made.clock.now())
    there, back = network_map(Wanted(), made.world).links
    assert (there.origin, there.counted, there.egress.value) == ("measured", 250.0, 0.02)
    assert (back.origin, back.counted, back.egress.value) == ("published", 390.625, 0.03)
    assert there.age_seconds(made.clock.now()) == 0.0


def test_a_link_is_stale_by_the_clock_of_the_control_plane() -> None:
    made = cloud()
    made.profiles.integrate(LARGE, PAIR, "interRegion", 250.0, made.clock.now())
    made.clock.time += 86_401
    found = network_map(Wanted(), made.world)
    assert [link.is_stale for link in found.links] == [True, False]
    assert found.at == made.clock.now()


def test_prices_are_kept_and_what_the_list_lacks_is_noted() -> None:
    made = cloud()
    del made.price_list.dollars[PriceItem("egress-gb", IRELAND, WEST)]
    found = network_map(Wanted(), made.world)
    assert [link.egress.origin for link in found.links] == ["published", "assumed"]
    assert found.notes == [f"egress-gb to {WEST} in {IRELAND}: not in the price list"]
    assert PriceItem("egress-gb", WEST, IRELAND) in made.price_cache.prices


def test_a_transit_gateway_is_paid_at_each_border() -> None:
    dear, cheap = (
        network_map(Wanted(), cloud(inter_region_path=path).world) for path in ("transit-gateway", "peering")
    )
    assert [one.egress.value - other.egress.value for one, other in zip(dear.links, cheap.links, strict=True)] == (
        pytest.approx([0.02, 0.02])
    )


def test_nothing_is_read_for_what_is_refused() -> None:
    made = cloud()
    with pytest.raises(InvalidRequest, match=r"'c9\.huge' is not a relay type"):
        network_map(Wanted(instance_types=["c9.huge"]), made.world)
    assert made.price_list.asked == []


def test_ec2s_throttling_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    made = cloud()

    def throttled(instance_types: object) -> Profile:
        raise Throttled("ec2")

    monkeypatch.setattr(made.instance_types[IRELAND], "facts", throttled)
    with pytest.raises(Throttled):
        network_map(Wanted(), made.world)
