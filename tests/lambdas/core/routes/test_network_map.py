import pytest

from lambdas.core.routes.network_map import STALE_SECONDS, Link, NetworkMap
from tests.lambdas.core.routes.builders import network


def test_each_further_relay_adds_its_gain() -> None:
    link = Link("a", "b", 10, gain=0.5)
    assert [link.carried(relays, relays) for relays in (1, 2, 3)] == [10, 15, 20]


def test_smaller_side_limits_where_both_are_alike() -> None:
    link = Link("a", "b", 10, gain=0.8)
    assert link.carried(3, 1) == link.carried(1, 3) == 10
    assert link.carried(3, 2) == pytest.approx(18)


def test_sides_that_differ_limit_each_by_its_own_rate() -> None:
    link = Link("a", "b", 10, receive=30)
    assert [link.carried(3, 1), link.carried(4, 1), link.carried(1, 4)] == [30, 30, 10]
    assert (link.width, Link("a", "b", 10, receive=4).width) == (10, 4)


def test_only_the_sender_counts_where_the_last_stage_has_no_relays() -> None:
    assert Link("a", "b", 10, receive=1).carried(3, 0) == 30


def test_a_link_counts_with_a_sigma_less_once_its_last_sample_is_a_day_old() -> None:
    link = Link("a", "b", 10, receive=20, sigma=3, at_seconds=1000)
    assert link.expected(1000 + STALE_SECONDS) == link
    stale = link.expected(1001 + STALE_SECONDS)
    assert (stale.rate, stale.receive) == (7, 17)
    assert Link("a", "b", 10, sigma=12).expected(0).rate == 0
    assert NetworkMap.of([link]).expected(1e6).link("a", "b") == stale


def test_map_knows_its_links_and_regions() -> None:
    known = network({"ab": 10, "bc": 20})
    assert (known.link("a", "b").rate, known["b", "c"].rate, known.regions) == (10, 20, ["a", "b", "c"])
    assert ("b", "a") not in known
    with pytest.raises(LookupError, match="no link from b to a is on the map"):
        known.link("b", "a")


def test_map_among_some_regions_has_no_link_to_others() -> None:
    assert list(network({"ab": 10, "bc": 20}).among("ab")) == [("a", "b")]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"destination": "a"}, "a link joins two regions"),
        ({"rate": -1}, "rate of a to b: -1; must be a finite number of MB/s, 0 or more"),
        ({"rate": float("inf")}, "rate of a to b: inf"),
        ({"gain": 0}, "gain of a to b: 0; must be a share above 0, 1 at most"),
        ({"gain": 1.1}, "gain of a to b: 1.1"),
        ({"receive": -1}, "receive of a to b: -1"),
        ({"usd_per_gb": -1}, "usd_per_gb of a to b: -1"),
        ({"sigma": float("nan")}, "sigma of a to b: nan"),
    ],
)
def test_impossible_links_are_refused(changes: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Link(**{"origin": "a", "destination": "b", "rate": 10, **changes})  # type: ignore[arg-type]
