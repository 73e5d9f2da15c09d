import pytest

from lambdas.core.routes.network_map import NetworkMap
from lambdas.core.routes.route_plan import RoutePlan, Scheme
from tests.lambdas.core.routes.builders import network

MAP = network({"ab": 10, "ac": 30, "cb": 20}, {"ab": 0.02, "ac": 0.05, "cb": 0.09})
DIRECT = RoutePlan(("a", "b"), (2, 2))
THROUGH = RoutePlan(("a", "c", "b"), (1, 2, 2))


def test_slowest_link_is_the_rate_of_a_route() -> None:
    assert (DIRECT.rate(MAP), THROUGH.rate(MAP)) == (20, 30)


def test_egress_is_paid_at_every_border() -> None:
    assert [DIRECT.usd_per_gb(MAP), THROUGH.usd_per_gb(MAP)] == pytest.approx([0.02, 0.14])


def test_way_between_an_end_and_its_relays_limits_too() -> None:
    limited = NetworkMap.of(MAP.values(), {"a": 8.0, "b": 12.0})
    assert DIRECT.rate(limited) == 16
    assert RoutePlan(("a", "b"), (2, 0)).rate(limited) == 16
    assert RoutePlan(("a", "c", "b"), (4, 1, 1)).rate(limited) == 12


def test_scheme_shares_bytes_by_rate_and_pays_by_share() -> None:
    scheme = Scheme((DIRECT, THROUGH))
    assert (scheme.relays, scheme.rate(MAP)) == (9, 50)
    assert scheme.shares(MAP) == (0.4, 0.6)
    assert scheme.usd_per_gb(MAP) == pytest.approx(0.4 * 0.02 + 0.6 * 0.14)
    assert scheme.relays_by_region() == {"a": 3, "b": 4, "c": 2}


def test_receiver_limits_what_comes_straight_to_it() -> None:
    scheme = Scheme((RoutePlan(("a", "b"), (2, 0)), RoutePlan(("a", "c", "b"), (1, 1, 0))))
    assert (scheme.rate(MAP), scheme.rate(MAP, straight=25)) == (40, 25)
    assert Scheme((DIRECT, scheme.routes[1])).rate(MAP, straight=15) == 35
    assert scheme.relays_by_region() == {"a": 3, "c": 1}


def test_empty_scheme_carries_nothing_and_costs_nothing() -> None:
    empty = Scheme()
    assert (empty.relays, empty.rate(MAP), empty.shares(MAP), empty.usd_per_gb(MAP)) == (0, 0, (), 0)


@pytest.mark.parametrize(
    ("regions", "relays"),
    [
        (("a",), (1,)),
        (("a", "b", "c", "d", "e"), (1, 1, 1, 1, 1)),
        (("a", "a"), (1, 1)),
        (("a", "b"), (1,)),
        (("a", "b"), (0, 1)),
        (("a", "c", "b"), (1, 0, 1)),
        (("a", "b"), (1, -1)),
    ],
)
def test_routes_that_cannot_be_are_refused(regions: tuple[str, ...], relays: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"regions|relays"):
        RoutePlan(regions, relays)
