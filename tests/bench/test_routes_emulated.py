"""What `make bench-routes-emulated` draws and computes; its bytes need root and minutes."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest

from bench.data_plane.network import Node
from bench.routes.changing import MINUTES, RELAYS, SHARED, SPREAD, Weather
from bench.routes.emulated import drawn_pairs, whole
from bench.routes.emulated.figure_nine import COMPARED, Setting, simulated
from bench.routes.emulated.regions import Place
from bench.routes.emulated.runner import MOST_NEIGHBOURS, Runner, crossings
from bench.routes.emulated.samples import at
from lambdas.core.routes.route_plan import RoutePlan, Scheme
from local.caps import changed


def places(region: str, count: int) -> list[Place]:
    return [Place(region, Node("n", "10.0.0.2"), 4600 + number) for number in range(count)]


@pytest.mark.parametrize("counts", [(1, 1), (3, 3), (2, 3, 1), (5, 5, 1), (12, 13), (4, 4, 4, 4)])
def test_every_relay_of_a_route_is_on_a_path_and_no_path_is_there_twice(counts: Sequence[int]) -> None:
    stages = [places(region, count) for region, count in zip("abcd", counts, strict=False)]
    paths = crossings(stages)
    assert {place for path in paths for place in path} == {place for stage in stages for place in stage}
    assert len({tuple(path) for path in paths}) == len(paths) <= MOST_NEIGHBOURS * max(counts)
    assert all([place.region for place in path] == list("abcd"[: len(counts)]) for path in paths)


def runner(*regions: str) -> Any:
    one = Runner.__new__(Runner)
    one._crews, one._places = {}, [place for region in regions for place in places(region, 3)]
    return one


def test_relays_stay_at_their_stage_when_a_scheme_changes() -> None:
    one = runner("a", "b", "c")
    one._assign(Scheme((RoutePlan(("a", "b"), (2, 2)),)))
    before = dict(one._crews)
    one._assign(Scheme((RoutePlan(("a", "c", "b"), (1, 1, 1)), RoutePlan(("a", "b"), (1, 2)))))
    assert one._crews[("a", "b"), 0] == before[("a", "b"), 0][:1]
    assert one._crews[("a", "b"), 1] == before[("a", "b"), 1]
    used = [place for crew in one._crews.values() for place in crew]
    assert len(used) == len(set(used)) == 6


def test_pairs_of_regions_are_those_that_third_regions_help() -> None:
    for seed in range(5):
        drawn = drawn_pairs.draw(seed)
        assert drawn == drawn_pairs.draw(seed)
        assert any(len(plan.regions) > 2 for plan in drawn.routes)
        assert drawn.planned >= 1
        assert {scheme.relays for scheme in drawn.schemes.values()} <= set(range(2, drawn_pairs.RELAYS + 1))
        fastest = max(
            drawn.network.link(*link).rate * drawn.scale
            for scheme in drawn.schemes.values()
            for plan in scheme.routes
            for link in pairwise(plan.regions)
        )
        assert fastest == pytest.approx(drawn_pairs.WIDEST)


def test_minutes_and_rates_of_the_simulation_are_scaled_together() -> None:
    weather = Weather.drawn(3, SHARED)
    small = simulated(weather, Setting(True, SHARED, True, scale=0.1, minute_seconds=6, relays=RELAYS))
    large = simulated(weather, Setting(True, SHARED, True, scale=0.2, minute_seconds=12, relays=RELAYS))
    assert set(small) == set(COMPARED)
    assert all(large[name] == pytest.approx(4 * small[name]) for name in COMPARED)


def test_caps_of_whole_transfers_change_each_minute_and_never_compound() -> None:
    drawn = whole.drawn(7)
    assert drawn.planned >= whole.LEAST_PLANNED
    caps = whole.caps(drawn.weather)
    assert len(caps) == len(whole.SIX) * (len(whole.SIX) - 1)
    for pair, cap in caps.items():
        assert len(cap.changes) == MINUTES - 1
        rates = [changed(cap.mb_s, cap.changes, 0.0, minute * whole.MINUTE_SECONDS) for minute in range(MINUTES)]
        one, other = pair.split(">")
        expected = [minute.link(one, other).rate * whole.SCALE for minute in drawn.weather.minutes]
        assert rates == pytest.approx(expected)
        assert max(rates) / min(rates) <= (1 + SPREAD) / (1 - SPREAD)


def test_what_had_arrived_at_a_moment_lies_between_two_samples() -> None:
    samples = [(0.5, 1.0), (1.5, 3.0), (2.5, 9.0)]
    assert [at(samples, seconds) for seconds in (0.0, 0.25, 0.5, 1.0, 2.0, 99.0)] == [0.0, 0.5, 1.0, 2.0, 6.0, 9.0]
