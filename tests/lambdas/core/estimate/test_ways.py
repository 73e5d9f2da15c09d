"""Relays of both sides of a border: enough of each for what the other side carries, and no more."""

from itertools import product
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lambdas.core.estimate.figures import LENT_SECONDS, Figure
from lambdas.core.estimate.route_use import RouteUse
from lambdas.core.estimate.ways import Border, SideRate, Ways
from tests.lambdas.builders import IRELAND, WEST, figure, figures

NO_LIMIT = inf
RATES = st.floats(1, 100)
LENT = st.lists(RATES, max_size=3)
QUOTAS = st.integers(1, 16)


def rate(value: float) -> SideRate:
    return SideRate(figure(value), value)


def sides(
    sent: float,
    received: float,
    quotas: tuple[int, int] = (64, 64),
    lent: tuple[list[float], list[float]] = ([], []),
    straight: float = 0.0,
) -> Ways:
    machines: tuple[tuple[Figure, ...], ...] = tuple(tuple(map(figure, side)) for side in lent)
    return Ways(
        source=WEST,
        destination=IRELAND,
        borders={(WEST, IRELAND): Border(rate(sent), rate(received), 0.02, lent=(machines[0], machines[1]))},
        hours={WEST: figure(0.1), IRELAND: figure(0.02)},
        most_in_region={WEST: quotas[0] + len(lent[0]), IRELAND: quotas[1] + len(lent[1])},
        first_stage={((WEST, IRELAND), False): 0, ((WEST, IRELAND), True): 2},
        straight=straight,
    )


def only(ways: Ways, relays: int, useful: float = NO_LIMIT) -> RouteUse:
    (use,) = ways.uses(relays, useful)
    return use


def carried(count: int, each: float, lent: list[float]) -> float:
    return sum((lent + [each] * count)[:count])


@given(RATES, RATES, QUOTAS, QUOTAS, LENT, LENT, st.integers(1, 24))
def test_chosen_relays_carry_the_maximum_flow_and_none_of_them_can_go(
    sent: float,
    received: float,
    most_source: int,
    most_destination: int,
    lent_source: list[float],
    lent_destination: list[float],
    pairs: int,
) -> None:
    quotas, lent = (most_source, most_destination), (lent_source, lent_destination)
    use = only(sides(sent, received, quotas, lent), 2 * pairs)
    flows = {
        (m, n): min(carried(m, sent, lent_source), carried(n, received, lent_destination))
        for m, n in product(
            range(1, most_source + len(lent_source) + 1), range(1, most_destination + len(lent_destination) + 1)
        )
        if m + n <= 2 * pairs
    }
    best = max(flows.values())
    assert use.rate.now == pytest.approx(flows[use.relays[0], use.relays[1]])
    assert use.rate.now >= 0.97 * best
    assert use.count == min(sum(crew) for crew, flow in flows.items() if flow >= use.rate.now * (1 - 1e-9))
    assert use.paid == [max(use.relays[0] - len(lent_source), 0), max(use.relays[1] - len(lent_destination), 0)]


def test_weaker_side_has_more_relays() -> None:
    use = only(sides(60, 20), 16)
    assert (use.relays, use.rate.now, use.words) == ([4, 12], 240, "4 source and 12 destination relays")
    assert use.hours_usd == [0.1, 0.02]


def test_no_more_relays_than_the_ends_can_use() -> None:
    assert only(sides(60, 20), 16, useful=50).relays == [1, 3]


def test_lent_machines_come_first_and_only_the_others_are_launched() -> None:
    use = only(sides(40, 20, lent=([10.0, 10.0], [])), 8)
    assert (use.relays, use.lent, use.paid) == ([4, 4], [2, 0], [2, 4])
    assert use.rate.now == 80


def test_machines_that_run_carry_before_others_are_launched() -> None:
    ways = sides(20, 20, lent=([10.0], [10.0]))
    use = only(ways, 4)
    assert use.relays == [2, 2]
    known = figures(spawn=60.0)
    first, later = use.servings(known, 0.0)
    assert [first.limit.rate, later.limit.rate] == pytest.approx([10.0, 20.0])
    assert [first.joins, later.joins] == [LENT_SECONDS, 60.0]
    (alone,) = only(sides(20, 20, lent=([10.0], [])), 4).servings(known, 0.0)
    assert alone.joins == 60.0


def test_last_stage_has_no_relays_where_the_receiver_takes_what_they_send() -> None:
    use = only(sides(20, 20, straight=70.0), 4)
    assert (use.stage, use.relays, use.stages(), use.rate.now) == (2, [4, 0], {2: 4}, 70)
    assert use.words == "4 relays straight into the receiver"


def test_receiver_that_takes_little_gets_relays_beside_it() -> None:
    assert only(sides(20, 20, straight=5.0), 9).relays == [4, 4]
