from collections import Counter
from itertools import pairwise
from math import inf
from random import Random

import pytest
from hypothesis import example, given

from bench.routes.draws import Question, question
from lambdas.core.routes.growth import crews
from lambdas.core.routes.network_map import Link, NetworkMap
from lambdas.core.routes.route_plan import RoutePlan, Scheme
from lambdas.core.routes.selection import select
from tests.lambdas.core.routes.builders import network, questions

SLOW_DIRECT = {"ab": 10, "ac": 30, "cb": 30}


def planned(asked: Question, relays: int | None = None, least_gain: float = 0.05) -> Scheme:
    return select(
        asked.network,
        asked.source,
        asked.destination,
        asked.most_relays if relays is None else relays,
        most_in_region=asked.most_in_region,
        straight=asked.straight,
        least_gain=least_gain,
    )


def rate(asked: Question, scheme: Scheme) -> float:
    return scheme.rate(asked.network, asked.straight or inf)


def test_third_region_is_used_where_its_relays_carry_more() -> None:
    assert select(network(SLOW_DIRECT), "a", "b", 6).routes == (RoutePlan(("a", "c", "b"), (2, 2, 2)),)


def test_pairs_are_used_where_a_third_stage_costs_more_than_it_brings() -> None:
    known = network({"ab": 10, "ac": 13, "cb": 13})
    assert select(known, "a", "b", 12).routes == (RoutePlan(("a", "b"), (6, 6)),)


def test_widest_path_that_needs_more_relays_than_there_are_is_left() -> None:
    assert select(network(SLOW_DIRECT), "a", "b", 2).routes == (RoutePlan(("a", "b"), (1, 1)),)


def test_first_relays_of_two_links_carry_more_than_further_ones_of_one_if_these_add_less() -> None:
    known = network({"ab": 10, "ac": 10, "cb": 10}, gain=0.2)
    both = select(known, "a", "b", 5).routes
    assert both == (RoutePlan(("a", "b"), (1, 1)), RoutePlan(("a", "c", "b"), (1, 1, 1)))


def test_route_that_adds_less_than_the_least_gain_is_left_out() -> None:
    known = network({"ab": 20, "ac": 0.9, "cb": 0.9}, gain=0.01)
    assert select(known, "a", "b", 5, least_gain=0.05).routes == (RoutePlan(("a", "b"), (2, 2)),)
    assert len(select(known, "a", "b", 5, least_gain=0.01).routes) == 2


def test_two_routes_that_would_share_the_last_link_are_not_used_together() -> None:
    rates = {"ab": 1, "ac": 10, "ad": 10, "cb": 20, "dc": 20, "db": 5}
    scheme = select(network(rates, gain=0.1), "a", "b", 20, least_gain=0)
    links = [link for route in scheme.routes for link in route.links]
    assert len(links) == len(set(links))
    assert len(scheme.routes) >= 2


def test_quota_of_a_region_holds_for_all_routes_together() -> None:
    known = network({"ab": 10, "ac": 30, "cb": 30}, gain=0.5)
    scheme = select(known, "a", "b", 20, most_in_region={"a": 3, "b": 2, "c": 1}, least_gain=0)
    assert scheme.relays_by_region() == {"a": 2, "b": 2, "c": 1}


def test_routes_dearer_than_the_ceiling_are_left_out() -> None:
    known = network(SLOW_DIRECT, {"ac": 0.09, "cb": 0.09})
    assert select(known, "a", "b", 6, most_usd_per_gb=0.1).routes[0].regions == ("a", "b")
    assert select(known, "a", "b", 6, most_usd_per_gb=0.01).routes == ()


def test_no_relay_is_added_beyond_what_the_ends_can_use() -> None:
    scheme = select(network(SLOW_DIRECT), "a", "b", 30, most_rate=60)
    assert scheme.routes == (RoutePlan(("a", "c", "b"), (2, 2, 2)),)


def test_relays_beside_the_destination_are_saved_where_the_receiver_takes_as_much() -> None:
    known = network({"ab": 10})
    assert select(known, "a", "b", 6, straight=100).routes == (RoutePlan(("a", "b"), (6, 0)),)
    both = select(network(SLOW_DIRECT, gain=0.5), "a", "b", 8, straight=20, least_gain=0)
    assert {route.straight for route in both.routes} == {True, False}


def test_number_of_stages_can_be_limited() -> None:
    assert select(network(SLOW_DIRECT), "a", "b", 6, most_stages=2).routes[0].regions == ("a", "b")


def test_nothing_is_planned_where_nothing_can_be() -> None:
    assert select(network({"ba": 10}), "a", "b", 6) == Scheme()
    assert select(network({"ab": 10}), "a", "b", 1) == Scheme()
    assert select(network({"ab": 10}), "a", "b", 0) == Scheme()


def test_all_regions_of_a_large_map_are_looked_at_before_ten_are_chosen() -> None:
    names = [f"r{number:02}" for number in range(30)]
    rates = {(one, other): 10.0 for one in ("a", *names) for other in (*names, "b") if one != other}
    rates |= {("a", "b"): 5.0, ("a", "r20"): 50.0, ("r20", "r25"): 50.0, ("r25", "b"): 50.0}
    known = NetworkMap.of(Link(*pair, rate) for pair, rate in rates.items())
    assert select(known, "a", "b", 4).routes == (RoutePlan(("a", "r20", "r25", "b"), (1, 1, 1, 1)),)


@given(questions())
def test_no_limit_is_ever_broken(asked: Question) -> None:
    scheme = planned(asked)
    assert scheme.relays <= asked.most_relays
    assert all(count <= asked.most_in_region.get(region, inf) for region, count in scheme.relays_by_region().items())
    links = Counter(link for route in scheme.routes for link in pairwise(route.regions))
    assert set(links.values()) <= {1}
    # After a pre-test every choice among the routes is judged, which bounds their number.
    assert len(scheme.routes) <= len(asked.network.regions) - 1 or not scheme.routes
    assert asked.straight or not any(route.straight for route in scheme.routes)
    assert all(len(set(route.regions)) == len(route.regions) <= 4 for route in scheme.routes)


@given(questions())
def test_no_relay_can_go_without_a_loss(asked: Question) -> None:
    scheme = planned(asked)
    for place, route in enumerate(scheme.routes):
        for stage, relays in enumerate(route.relays):
            if relays > 1:
                fewer = RoutePlan(route.regions, (*route.relays[:stage], relays - 1, *route.relays[stage + 1 :]))
                without = Scheme((*scheme.routes[:place], fewer, *scheme.routes[place + 1 :]))
                assert rate(asked, without) < rate(asked, scheme)


@given(questions())
@example(question(Random(12218605), 6, 12))  # a search that is cut short finds less than with one relay fewer
def test_more_relays_never_carry_less(asked: Question) -> None:
    rates = [rate(asked, planned(asked, relays, least_gain=0)) for relays in range(asked.most_relays + 1)]
    assert all(one <= other * (1 + 1e-6) for one, other in pairwise(rates))


@given(questions())
def test_pairs_on_the_direct_link_never_carry_more(asked: Question) -> None:
    quotas = [asked.most_in_region.get(region, asked.most_relays) for region in (asked.source, asked.destination)]
    if (asked.source, asked.destination) not in asked.network:
        return
    direct = [
        crew
        for crew in crews(asked.network, asked.source, asked.destination, *quotas)
        if crew.count <= asked.most_relays
    ]
    most = max((crew.rate(asked.network) for crew in direct), default=0.0)
    assert rate(asked, planned(asked)) >= most * (1 - 1e-6)


@given(questions())
def test_leaving_out_small_routes_costs_no_more_than_the_least_gain(asked: Question) -> None:
    full, few = planned(asked, least_gain=0), planned(asked, least_gain=0.05)
    assert len(few.routes) <= len(full.routes)
    assert rate(asked, few) * 1.05 >= rate(asked, full) * (1 - 1e-6)


def test_same_question_has_the_same_answer_whatever_the_order_of_the_links() -> None:
    rates = {"ab": 10, "ac": 20, "cb": 20, "ad": 20, "db": 20}
    answers = {select(network(dict(order)), "a", "b", 9) for order in (rates.items(), reversed(rates.items()))}
    assert len(answers) == 1
    assert next(iter(answers)).routes == (RoutePlan(("a", "c", "b"), (3, 3, 3)),)


@pytest.mark.parametrize("relays", [4, 8, 24])
def test_equal_links_have_no_use_for_third_regions(relays: int) -> None:
    names = "abcdefghij"
    known = network({one + other: 10 for one in names for other in names if one != other})
    assert select(known, "a", "b", relays).routes == (RoutePlan(("a", "b"), (relays // 2,) * 2),)
