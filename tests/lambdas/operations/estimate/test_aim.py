from lambdas.core.request.request import Objective
from lambdas.operations.estimate.aim import aim_of, of_measuring, of_moving
from tests.lambdas.builders import transfer
from tests.lambdas.cloud import Cloud

GIGABYTE = 10**9


def test_no_relay_is_asked_for_where_there_is_nothing_to_send() -> None:
    asked = transfer(relays={"pairs": 3})
    assert (of_moving(asked, GIGABYTE).requested, of_moving(asked, GIGABYTE).reason) == (3, None)
    assert (of_moving(asked, 0).requested, of_moving(asked, 0).reason) == (0, "there is nothing to send")


def test_measuring_tests_one_pair_whatever_was_asked_for_of_moving() -> None:
    asked = transfer(profile="measure", relays={"pairs": 3}, preTest=False, objective={"deadlineSeconds": 1})
    aim = of_measuring(asked, Cloud().world)
    assert (aim.requested, aim.pre_test, aim.objective, aim.takes_ways) == (1, True, Objective(), False)


def test_errand_says_what_is_estimated() -> None:
    world = Cloud().world
    assert aim_of(transfer(), GIGABYTE, world).takes_ways
    assert not aim_of(transfer(profile="measure"), GIGABYTE, world).takes_ways
