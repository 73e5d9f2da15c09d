from itertools import pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lambdas.core.routes.growth import crews, growth
from lambdas.core.routes.network_map import Link, NetworkMap
from lambdas.core.routes.route_plan import RoutePlan
from tests.lambdas.core.routes.builders import network

RATES = st.floats(1, 50)


def counts(
    known: NetworkMap, regions: str, most: int, quotas: dict[str, int] | None = None, straight: float = 0.0
) -> list[tuple[int, ...]]:
    return [step.plan.relays for step in growth(known, tuple(regions), most, quotas or {}, straight)]


def test_pairs_are_added_where_both_sides_are_alike() -> None:
    assert counts(network({"ab": 10}), "ab", 7) == [(1, 1), (2, 2), (3, 3)]


def test_relays_are_added_at_the_side_that_limits() -> None:
    known = NetworkMap.of([Link("a", "b", 10, receive=30)])
    assert counts(known, "ab", 6) == [(1, 1), (2, 1), (3, 1), (4, 2)]


def test_relays_are_added_at_the_slow_link_and_at_both_of_two_equally_slow_ones() -> None:
    assert counts(network({"ac": 30, "cb": 10}), "acb", 8) == [(1, 1, 1), (1, 2, 2), (1, 3, 3)]
    assert counts(network({"ac": 10, "cb": 10}), "acb", 8) == [(1, 1, 1), (2, 2, 2)]


def test_region_with_a_quota_is_not_filled_above_it() -> None:
    known = network({"ac": 10, "cb": 30})
    assert counts(known, "acb", 12, {"c": 2}) == [(1, 1, 1), (2, 2, 1)]
    assert counts(known, "acb", 12, {"c": 0}) == []


def test_last_stage_has_no_relays_where_data_goes_straight_to_the_receiver() -> None:
    known = network({"ab": 10, "ac": 20, "cb": 10})
    assert counts(known, "ab", 8, straight=25) == [(1, 0), (2, 0), (3, 0)]
    assert counts(known, "acb", 8, straight=25) == [(1, 1, 0), (1, 2, 0), (2, 3, 0)]
    assert [step.rate for step in growth(known, ("a", "b"), 8, straight=25)] == [10, 20, 25]


def test_relay_that_the_way_to_the_end_makes_useless_is_not_added() -> None:
    known = NetworkMap.of([Link("a", "b", 10)], {"a": 5.0})
    assert counts(known, "ab", 9) == [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (6, 3)]


def test_link_that_carries_nothing_has_no_sizes() -> None:
    assert counts(network({"ab": 0}), "ab", 9) == []


@given(RATES, RATES, st.floats(0.1, 1), st.integers(1, 8), st.integers(1, 8))
def test_crews_are_the_fewest_relays_of_each_side_for_every_rate(
    send: float, receive: float, gain: float, most_source: int, most_destination: int
) -> None:
    known = NetworkMap.of([Link("a", "b", send, receive=receive, gain=gain)])
    found = crews(known, "a", "b", most_source, most_destination)
    every = [
        RoutePlan(("a", "b"), relays) for relays in product(range(1, most_source + 1), range(1, most_destination + 1))
    ]
    assert max(plan.rate(known) for plan in every) == pytest.approx(found[-1].rate(known))
    for plan in every:
        enough = next(crew for crew in found if crew.rate(known) >= plan.rate(known) * (1 - 1e-6))
        assert all(one <= other for one, other in zip(enough.relays, plan.relays, strict=True))


@given(st.lists(st.tuples(RATES, RATES, st.floats(0.1, 1)), min_size=1, max_size=3), st.integers(2, 10))
def test_no_relay_of_any_size_can_go_without_a_loss(links: list[tuple[float, float, float]], most: int) -> None:
    regions = tuple("abcd"[: len(links) + 1])
    known = NetworkMap.of(
        Link(*pair, rate=send, receive=receive, gain=gain)
        for pair, (send, receive, gain) in zip(pairwise(regions), links, strict=True)
    )
    for step in growth(known, regions, most):
        assert step.rate == pytest.approx(step.plan.rate(known))
        for stage, relays in enumerate(step.plan.relays):
            fewer = list(step.plan.relays)
            fewer[stage] -= 1
            assert relays == 1 or RoutePlan(regions, tuple(fewer)).rate(known) < step.rate
