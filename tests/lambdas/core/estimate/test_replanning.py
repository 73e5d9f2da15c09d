from collections.abc import Mapping

import pytest

from lambdas.core.estimate import replanning
from lambdas.core.estimate.figures import Figure
from lambdas.core.estimate.link_figures import LinkFigure
from lambdas.core.estimate.replanning import Carrying, Rest
from lambdas.core.estimate.route_rows import Ways
from lambdas.core.routes.route_plan import RoutePlan

A, B, X, Y = "us-west-2", "eu-west-1", "eu-central-1", "us-east-1"
PLENTY = 10_000.0


def figure(value: float) -> Figure:
    return Figure(value=value, origin="measured", note="by the test")


def ways(rates: Mapping[tuple[str, str], float], quotas: Mapping[str, int] | None = None) -> Ways:
    links = {
        (start, end): LinkFigure(
            from_region=start,
            to_region=end,
            instance_type="t3.small",
            rate=figure(rate),
            counted=rate,
            lasting=rate,
            receive=figure(PLENTY),
            sigma=0.0,
            samples=9,
            is_stale=False,
            egress=figure(0.02),
        )
        for (start, end), rate in rates.items()
    }
    hours = {region: figure(0.05) for region in (A, B, X, Y)}
    stages = {(A, B): 0, (A, X, B): 2, (A, Y, B): 5}
    return Ways(A, B, links, hours, quotas or {}, stages)


KNOWN = {(A, B): 10.0, (A, X): 30.0, (X, B): 40.0, (A, Y): 20.0, (Y, B): 25.0}


def rest(size: float = 100_000.0, direct: float = 5.0, spawn: float = 60.0, ends: float = PLENTY) -> Rest:
    return Rest(size, direct, ends, ends, spawn)


def through(region: str, rate: float, relays: tuple[int, ...] = (1, 1, 1)) -> Carrying:
    return Carrying(RoutePlan((A, region, B), relays), rate)


def straight(rate: float, *relays: int) -> Carrying:
    return Carrying(RoutePlan((A, B), relays or (1, 1)), rate)


def test_narrowest_link_of_a_route_is_what_the_route_carries() -> None:
    seen = replanning.seen(ways(KNOWN), [through(X, 12.0)])
    assert (seen.links[A, X].counted, seen.links[X, B].counted) == (12.0, 40.0)
    assert seen.links[A, X].origin == "measured"


def test_route_that_carries_more_than_was_known_raises_all_its_links() -> None:
    seen = replanning.seen(ways(KNOWN), [through(X, 60.0)])
    assert (seen.links[A, X].counted, seen.links[X, B].counted) == (60.0, 60.0)


def test_rate_of_several_relays_is_shared_by_them() -> None:
    seen = replanning.seen(ways(KNOWN), [through(X, 30.0, (2, 2, 2))])
    assert seen.links[A, X].counted == pytest.approx(15.0)


def test_route_that_became_slow_is_left_for_a_wider_one() -> None:
    known = ways(KNOWN)
    found = replanning.replan(replanning.seen(known, [through(X, 4.0)]), [through(X, 4.0)], rest(), 3)
    assert found is not None
    assert [plan.regions for plan in found.scheme.routes] == [(A, Y, B)]
    assert found.becomes < 0.95 * found.stays


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
    changes = replanning.changes({one.plan.regions: one.plan for one in carrying}, found.scheme)
    assert all(count >= 0 for counts in changes.values() for count in counts)
    assert sum(count for counts in changes.values() for count in counts) in (2, 3)


def test_route_that_carries_nothing_goes_though_nothing_else_helps() -> None:
    carrying = [through(X, 30.0), straight(0.1)]
    found = replanning.replan(replanning.seen(ways(KNOWN), carrying), carrying, rest(), 5)
    assert found is not None
    assert next(plan.regions for plan in found.scheme.routes) == (A, X, B)
    assert (A, B) not in [plan.regions for plan in found.scheme.routes]


def test_quota_bounds_what_is_planned() -> None:
    carrying = [through(X, 4.0)]
    none_in_y = ways(KNOWN, {Y: 0})
    found = replanning.replan(replanning.seen(none_in_y, carrying), carrying, rest(), 3)
    assert found is None or all(Y not in plan.regions for plan in found.scheme.routes)


def test_changes_are_relays_more_and_fewer_at_each_stage() -> None:
    now = {(A, X, B): RoutePlan((A, X, B), (2, 1, 1)), (A, B): RoutePlan((A, B), (1, 1))}
    found = replanning.replan(ways(KNOWN), [], rest(), 6)
    assert found is not None
    scheme = found.scheme.__class__((RoutePlan((A, X, B), (1, 1, 2)), RoutePlan((A, Y, B), (1, 1, 1))))
    assert replanning.changes(now, scheme) == {(A, X, B): [-1, 0, 1], (A, B): [-1, -1], (A, Y, B): [1, 1, 1]}
