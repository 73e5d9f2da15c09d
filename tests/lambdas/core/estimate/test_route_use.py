"""What every route of a row tells of itself, whatever its shape."""

import pytest

from lambdas.core.estimate.route_use import RouteUse, in_words, one_path_fewer, with_paths
from tests.lambdas.builders import IRELAND, WEST, figure, figures

FRANKFURT = "eu-central-1"


def use(*relays: int, stage: int = 0, **changes: object) -> RouteUse:
    regions = [WEST, FRANKFURT, IRELAND] if len(relays) == 3 else [WEST, IRELAND]
    hours = [0.1] * len(relays)
    plain = RouteUse(
        stage=stage, regions=regions, relays=list(relays), rate=figure(20), usd_per_gb=0.04, hours_usd=hours
    )
    return plain.model_copy(update=changes)


@pytest.mark.parametrize(
    ("relays", "words"),
    [
        ((2, 2), "4 relays straight"),
        ((1, 3), "1 source and 3 destination relays"),
        ((1, 1, 1), "3 relays through eu-central-1"),
        ((2, 0), "2 relays straight into the receiver"),
        ((1, 1, 0), "2 relays through eu-central-1 and straight into the receiver"),
    ],
)
def test_words_name_the_shape(relays: tuple[int, ...], words: str) -> None:
    assert use(*relays).words == words


def test_a_route_that_was_left_is_not_in_words() -> None:
    assert in_words([use(1, 1), use(0, 0, 0, stage=2)]) == "2 relays straight"


@pytest.mark.parametrize(("relays", "paths"), [((2, 3), 2), ((2, 2, 2), 2), ((3, 0), 3), ((0, 1, 0), 0), ((0, 0), 0)])
def test_paths_are_as_many_as_the_smallest_stage_has_relays_and_none_without_the_first(
    relays: tuple[int, ...], paths: int
) -> None:
    assert use(*relays).paths == paths


def test_lent_machines_are_not_paid() -> None:
    assert use(2, 3, lent=[2, 1]).paid == [0, 2]


def test_the_stage_after_a_last_one_without_relays_is_another_routes() -> None:
    assert [use(1, 0, stage=5).has(stage) for stage in (4, 5, 6)] == [False, True, False]
    assert [use(1, 1, stage=5).has(stage) for stage in (5, 6, 7)] == [True, True, False]
    assert [use(1, 1, 1).is_beside(stage, -1) for stage in (1, 2)] == [False, True]


def test_all_of_it_may_be_carried_as_long_as_any_relay_lives() -> None:
    assert use(2, 2).most_of({1: 1}) == 20.0
    assert use(2, 2).most_of({2: 1}) == 0.0


def test_relays_carry_once_they_are_there_and_the_pre_test_is_over() -> None:
    (serving,) = use(1, 1, 1).servings(figures(spawn=60.0), 10.0)
    assert (serving.limit.rate, serving.joins) == (20.0, 70.0)


def test_another_number_of_paths_keeps_the_proportion_of_the_sides() -> None:
    (more,) = with_paths([use(2, 3)], 4)
    assert more.relays == [4, 6]
    several = [use(1, 1), use(1, 1, 1, stage=2)]
    assert with_paths(several, 7) == several


def test_path_by_path_goes_from_the_last_route_on() -> None:
    uses = [use(1, 1), use(2, 2, 2, stage=2)]
    fewer = one_path_fewer(uses)
    assert [one.relays for one in fewer] == [[1, 1], [1, 1, 1]]
    assert one_path_fewer(fewer) == uses[:1]
    assert one_path_fewer(uses[:1]) == []
