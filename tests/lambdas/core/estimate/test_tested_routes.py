"""Which routes are kept after a pre-test: values that can be worked out by hand."""

from itertools import count

import pytest

from lambdas.core.documents import MAX_TRANSIT_REGIONS
from lambdas.core.estimate import tested_routes
from lambdas.core.estimate.figures import Figures
from lambdas.core.estimate.preference import preference as preference_of
from lambdas.core.estimate.route_use import RouteUse
from lambdas.core.estimate.rows import Row
from lambdas.core.estimate.tested_routes import measured, told_by, worth_keeping
from lambdas.core.request.request import Objective
from tests.lambdas.builders import IRELAND, WEST, figure, figures, node
from tests.lambdas.core.estimate.test_replanning import ways

FRANKFURT, TOKYO = "eu-central-1", "ap-northeast-1"
SIZE = 6 * 10**9
TIME = Objective(minimise="time")


def use(stage: int, rate: float, *between: str, usd_per_gb: float = 0.04, relays: int = 1) -> RouteUse:
    regions = [WEST, *between, IRELAND]
    return RouteUse(
        stage=stage,
        regions=regions,
        relays=[relays] * len(regions),
        rate=figure(rate),
        usd_per_gb=usd_per_gb,
        hours_usd=[0.1] * len(regions),
    )


def kept(uses: list[RouteUse], objective: Objective, elapsed: float = 0.0) -> list[int]:
    return [one.stage for one in worth_keeping(SIZE, uses, figures(), objective, elapsed)]


def test_the_slowest_hop_of_all_paths_together_is_the_rate_of_a_route() -> None:
    found = measured(use(2, 80.0, FRANKFURT, relays=2), [[40.0, 30.0], [20.0, 35.0]])
    assert (found.rate.value, found.rate.origin) == (60.0, "measured")
    assert found.rate.note == "the pre-test: 60.0, 65.0 MB/s hop by hop"


def test_more_relays_of_one_stage_carry_more_of_the_hop_that_they_share() -> None:
    route = use(2, 80.0, FRANKFURT).model_copy(update={"relays": [1, 2, 2]})
    assert measured(route, [[60.0, 25.0]]).rate.value == 50.0


def test_what_nobody_measured_before_the_receiver_is_as_planned() -> None:
    route = use(2, 30.0, FRANKFURT).model_copy(update={"relays": [1, 1, 0]})
    assert measured(route, [[60.0]]).rate.value == 30.0
    assert measured(route, [[20.0]]).rate.value == 20.0


def test_a_route_of_which_nothing_was_measured_carries_nothing_and_goes() -> None:
    silent = measured(use(2, 80.0, FRANKFURT), [])
    assert silent.rate.value == 0.0
    assert kept([silent, use(5, 20.0, TOKYO)], TIME) == [5]


@pytest.mark.parametrize(
    ("objective", "stages"),
    [
        # 6 GB at 20 MB/s take 300 s. A route of 1 MB/s saves 14 s, which are worth 4 cents, and takes about 3 cents.
        (TIME, [0, 2]),
        (Objective(minimise="cost"), []),
        (Objective(minimise="balanced", value_of_time_usd_per_hour=0.0), []),
        (Objective(minimise="balanced", value_of_time_usd_per_hour=1000.0), [0, 2]),
    ],
)
def test_the_objective_says_which_are_kept(objective: Objective, stages: list[int]) -> None:
    assert kept([use(0, 20.0, usd_per_gb=0.02), use(2, 1.0, FRANKFURT, usd_per_gb=0.2)], objective) == stages


def test_choices_among_as_many_routes_as_a_plan_can_have_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    judged, plain = count(), preference_of

    def preference(row: Row, objective: Objective, of_rest: Figures) -> object:
        next(judged)
        return plain(row, objective, of_rest)

    monkeypatch.setattr(tested_routes, "preference", preference)
    uses = [use(5 * place, 3.0 + place, FRANKFURT) for place in range(MAX_TRANSIT_REGIONS + 1)]
    assert kept(uses, TIME) == [one.stage for one in uses]
    assert next(judged) == 512


def test_balanced_gives_up_the_route_that_turned_out_slow_and_keeps_the_other() -> None:
    slow, wide = use(2, 0.5, FRANKFURT, usd_per_gb=0.1), use(5, 40.0, TOKYO)
    assert kept([slow, wide], Objective(minimise="balanced", value_of_time_usd_per_hour=10.0)) == [5]


def test_a_deadline_keeps_what_it_needs_and_counts_from_the_start() -> None:
    uses = [use(2, 20.0, FRANKFURT, usd_per_gb=0.2), use(5, 20.0, TOKYO, usd_per_gb=0.1)]
    # 300 s by the direct path alone, 150 s with one route, 100 s with both.
    assert kept(uses, Objective(deadline_seconds=160)) == [5]
    assert kept(uses, Objective(deadline_seconds=160), elapsed=50.0) == [2, 5]


def test_what_the_ends_cannot_move_is_not_paid_for() -> None:
    wide = [use(2, 140.0, FRANKFURT), use(5, 140.0, TOKYO)]
    assert len(kept(wide, TIME)) == 1


def test_plans_made_later_count_on_what_the_pre_test_saw_of_a_link() -> None:
    known = {(WEST, FRANKFURT): 60.0, (FRANKFURT, IRELAND): 60.0, (WEST, IRELAND): 10.0}
    relays = [
        node(2, region=WEST, measured_hop=55.0),
        node(3, region=FRANKFURT, measured_hop=4.0, state="REJECTED"),
        node(3, 2, region=FRANKFURT, measured_hop=6.0, state="REJECTED"),
        node(4, region=IRELAND),
        node(0, region=WEST),
    ]
    regions = {0: WEST, 1: IRELAND, 2: WEST, 3: FRANKFURT, 4: IRELAND}
    borders = told_by(ways(known), relays, regions).borders
    assert {pair: border.sent.counted for pair, border in borders.items()} == {
        (WEST, FRANKFURT): 55.0,
        (FRANKFURT, IRELAND): 6.0,
        (WEST, IRELAND): 10.0,
    }
