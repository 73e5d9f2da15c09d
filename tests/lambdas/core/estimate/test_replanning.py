from collections.abc import Mapping

import pytest

from lambdas.core.estimate import replanning
from lambdas.core.estimate.figures import Figure
from lambdas.core.estimate.replanning import Carrying, Rest
from lambdas.core.estimate.route_use import RouteUse
from lambdas.core.estimate.ways import Border, SideRate, Ways

A, B, X, Y = "us-west-2", "eu-west-1", "eu-central-1", "us-east-1"
PLENTY = 10_000.0
KNOWN = {(A, B): 10.0, (A, X): 30.0, (X, B): 40.0, (A, Y): 20.0, (Y, B): 25.0}
STAGES = {(A, B): 0, (A, X, B): 2, (A, Y, B): 5}


def figure(value: float) -> Figure:
    return Figure(value=value, origin="measured", note="by the test")


def ways(rates: Mapping[tuple[str, str], float], quotas: Mapping[str, int] | None = None) -> Ways:
    sides = {pair: SideRate(figure(rate), rate) for pair, rate in rates.items()}
    borders = {pair: Border(side, side, 0.02) for pair, side in sides.items()}
    hours = {region: figure(0.05) for region in (A, B, X, Y)}
    return Ways(A, B, borders, hours, quotas or {}, {(regions, False): first for regions, first in STAGES.items()})


def rest(size: float = 100_000.0, direct: float = 5.0, spawn: float = 60.0, ends: float = PLENTY) -> Rest:
    return Rest(size, direct, ends, ends, spawn)


def through(region: str, rate: float, relays: tuple[int, ...] = (1, 1, 1)) -> Carrying:
    regions = (A, region, B)
    return Carrying(STAGES[regions], regions, relays, rate)


def straight(rate: float) -> Carrying:
    return Carrying(0, (A, B), (1, 1), rate)


def counted(of: Ways, *pairs: tuple[str, str]) -> list[float]:
    return [of.borders[pair].sent.counted for pair in pairs]


def test_narrowest_border_of_a_route_is_what_the_route_carries() -> None:
    seen = replanning.seen(ways(KNOWN), [through(X, 12.0)])
    assert counted(seen, (A, X), (X, B)) == [12.0, 40.0]
    assert seen.borders[A, X].sent.figure.origin == "measured"


def test_route_that_carries_more_than_was_known_raises_all_its_borders() -> None:
    assert counted(replanning.seen(ways(KNOWN), [through(X, 60.0)]), (A, X), (X, B)) == [60.0, 60.0]


def test_rate_of_several_relays_is_shared_by_them() -> None:
    seen = replanning.seen(ways(KNOWN), [through(X, 30.0, (2, 2, 2))])
    assert counted(seen, (A, X)) == [pytest.approx(15.0)]


def test_route_that_became_slow_is_left_for_a_wider_one() -> None:
    carrying = [through(X, 4.0)]
    found = replanning.replan(replanning.seen(ways(KNOWN), carrying), carrying, rest(), 3)
    assert found is not None
    assert [use.regions for use in found.uses] == [[A, Y, B]]
    assert found.becomes < 0.95 * found.stays
    assert "through us-east-1" in found.words


def test_nothing_changes_where_routes_carry_what_was_planned() -> None:
    carrying = [through(X, 30.0)]
    assert replanning.replan(replanning.seen(ways(KNOWN), carrying), carrying, rest(), 3) is None


def test_nothing_changes_where_new_relays_would_come_too_late() -> None:
    carrying = [through(X, 4.0)]
    seen = replanning.seen(ways(KNOWN), carrying)
    # 1 000 MB are gone in 111 s; a way of 20 MB/s that serves from second 105 on saves 4 of them.
    assert replanning.replan(seen, carrying, rest(size=1_000, spawn=105.0), 3) is None
    assert replanning.replan(seen, carrying, rest(size=1_000, spawn=10.0), 3) is not None


def test_nothing_changes_where_the_ends_are_full() -> None:
    carrying = [through(X, 4.0)]
    assert replanning.replan(replanning.seen(ways(KNOWN), carrying), carrying, rest(ends=9.5), 3) is None


def test_more_relays_than_now_may_be_added() -> None:
    carrying = [through(X, 30.0)]
    found = replanning.replan(replanning.seen(ways(KNOWN), carrying), carrying, rest(), 6)
    assert found is not None
    changes = replanning.changes(carrying, found.uses)
    assert all(count > 0 for count in changes.values())
    assert sum(changes.values()) in (2, 3)


def test_route_that_carries_nothing_goes_though_nothing_else_helps() -> None:
    carrying = [through(X, 30.0), straight(0.1)]
    seen = replanning.seen(ways(KNOWN, {Y: 0}), carrying)
    found = replanning.replan(seen, carrying, rest(), 5)
    assert found is not None
    assert [use.regions for use in found.uses] == [[A, X, B]]
    assert {0, 1} <= replanning.changes(carrying, found.uses).keys()


def test_quota_bounds_what_is_planned() -> None:
    carrying = [through(X, 4.0)]
    found = replanning.replan(replanning.seen(ways(KNOWN, {Y: 0}), carrying), carrying, rest(), 3)
    assert found is None or all(Y not in use.regions for use in found.uses)


def test_changes_are_relays_more_and_fewer_at_each_stage() -> None:
    known = ways(KNOWN)
    now = [through(X, 30.0, (2, 1, 1)), straight(10.0)]
    then = [known.use_as((A, X, B), (1, 1, 2)), known.use_as((A, Y, B), (1, 1, 1))]
    assert replanning.changes(now, then) == {2: -1, 4: 1, 0: -1, 1: -1, 5: 1, 6: 1, 7: 1}


def test_nothing_changes_while_nothing_moves_at_all() -> None:
    assert replanning.replan(ways(KNOWN), [through(X, 0.0)], rest(direct=0.0), 6) is None


def test_border_that_is_slow_now_may_let_pass_again_what_it_did() -> None:
    of = ways(KNOWN)
    seen = replanning.seen(of, [through(X, 3.0)])
    slow, before = seen.use_as((A, X, B), (1, 1, 1)).rate, of.use_as((A, X, B), (1, 1, 1)).rate
    assert [slow.now, slow.most] == pytest.approx([3.0, before.most])


def use(stage: int, *relays: int) -> RouteUse:
    regions = [A, X, B][: len(relays)] if len(relays) > 2 else [A, B]
    hours = [float(stage)] * len(relays)
    return RouteUse(
        stage=stage, regions=regions, relays=list(relays), rate=figure(20.0), usd_per_gb=stage / 100, hours_usd=hours
    )


@pytest.mark.parametrize("turn", [1, -1])
def test_last_stage_without_relays_is_no_other_routes_first_stage(turn: int) -> None:
    uses = [use(5, 2, 0), use(6, 1, 2, 0)][::turn]
    assert replanning.changes([], uses) == {5: 2, 6: 1, 7: 2}
    serving = [Carrying(5, (A, B), (2, 0), 1.0), Carrying(6, (A, X, B), (1, 2, 0), 1.0)][::turn]
    assert replanning.changes(serving, uses) == {}
