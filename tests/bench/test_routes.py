"""The simulations of `make bench-routes`."""

from random import Random

import pytest

from bench.routes.algorithm_one import algorithm_one
from bench.routes.all_pairs import wider
from bench.routes.changing import DESTINATION, GAINS, MINUTES, OURS, RELAYS, SOURCE, Weather, runs
from bench.routes.draws import question
from bench.routes.measured_map import measured_map, priced, within
from bench.routes.optimum import optimum
from bench.routes.shares import Shares
from lambdas.core.routes.route_plan import RoutePlan
from lambdas.core.routes.widest_path import widest
from tests.lambdas.core.routes.builders import network


def test_measured_map_has_every_link_of_its_source() -> None:
    known = measured_map()
    assert (len(known), len(known.regions)) == (5796, 78)
    link = known.link("aws:af-south-1", "aws:ap-east-1")
    assert (link.rate, link.usd_per_gb, link.gain) == (330.1, 0.147, 1)
    assert ("aws:af-south-1", "aws:ap-east-1") in priced()
    assert len(within(known, "aws")) == 600


def test_42_per_cent_of_the_pairs_within_aws_have_a_wider_path_through_one_region() -> None:
    assert wider(within(measured_map(), "aws")) == pytest.approx(0.423, abs=0.001)


def test_solver_finds_the_best_of_what_can_be_counted_by_hand() -> None:
    known = network({"ab": 10, "ac": 30, "cb": 30})
    assert optimum(known, "a", "b", 6).rate == pytest.approx(60)
    assert optimum(known, "a", "b", 8).rate == pytest.approx(70)
    assert optimum(known, "a", "b", 8, {"c": 1}).rate == pytest.approx(50)
    assert optimum(known, "a", "b", 4, straight=25).rate == pytest.approx(40)
    assert optimum(known, "b", "a", 4).rate == 0


def test_algorithm_one_fills_the_widest_path_and_nothing_if_it_is_too_long() -> None:
    known = network({"ab": 10, "ac": 20, "cb": 30})
    assert algorithm_one(known, "a", "b", 5).routes == (RoutePlan(("a", "c", "b"), (2, 2, 1)),)
    assert algorithm_one(known, "a", "b", 2).routes == ()


def test_algorithm_one_keeps_to_its_relays() -> None:
    random = Random(4)
    for _ in range(100):
        asked = question(random)
        scheme = algorithm_one(asked.network, asked.source, asked.destination, asked.most_relays)
        assert scheme.relays <= asked.most_relays


def test_weather_changes_every_minute_within_its_bounds() -> None:
    weather = Weather.drawn(3, 1.0)
    assert len(weather.minutes) == MINUTES
    rates = [minute.link(SOURCE, DESTINATION).rate for minute in weather.minutes]
    assert len(set(rates)) == MINUTES
    assert max(rates) / min(rates) <= 1.4 / 0.6
    assert all(3 <= link.rate <= 35 for minute in weather.minutes for link in minute.values())
    assert weather.known(0) == weather.minutes[0] == weather.known(1)
    assert weather.known(2).link("a", "b").rate == pytest.approx(sum(rates[:2]) / 2)


@pytest.mark.parametrize("gain", GAINS)
def test_planner_that_knows_the_minute_is_never_behind_another_strategy(gain: float) -> None:
    found = runs(range(3), gain, RELAYS, late=False)
    for name, of_seeds in found.items():
        least = 1 if name != "any number of routes" else 1 / 1.05
        assert all(ours[-1] >= least / 1.05 * its[-1] for ours, its in zip(found[OURS], of_seeds, strict=True))
        assert all(minutes == sorted(minutes) for minutes in of_seeds)


def test_widest_path_of_a_minute_may_be_the_direct_link_but_not_of_the_first_draw() -> None:
    paths = {widest(minute, SOURCE, DESTINATION) for seed in range(5) for minute in Weather.drawn(seed, 1.0).minutes}
    assert len(paths) > 3


def test_shares_are_summed_up() -> None:
    shares = Shares([1.0] * 19 + [0.5])
    assert [shares.mean, shares.low, shares.worst] == pytest.approx([0.975, 1, 0.5])
