from math import inf

import pytest

from lambdas.core.fleet.fair import Claim, fair

ALL = ("all",)


def test_what_one_does_not_need_goes_to_the_others_alike() -> None:
    claims = {"idle": Claim(10.0, ALL), "one": Claim(inf, ALL), "two": Claim(inf, ALL)}
    assert fair(claims, {"all": 100.0}) == pytest.approx({"idle": 10.0, "one": 45.0, "two": 45.0})


def test_nobody_gets_more_than_they_need() -> None:
    assert fair({"one": Claim(10.0, ALL), "two": Claim(20.0, ALL)}, {"all": 100.0}) == {"one": 10.0, "two": 20.0}


def test_a_limit_within_a_limit_leaves_the_rest_to_those_outside() -> None:
    claims = {"a": Claim(inf, ("all", "night")), "b": Claim(inf, ("all", "night")), "c": Claim(inf, ALL)}
    assert fair(claims, {"all": 100.0, "night": 20.0}) == pytest.approx({"a": 10.0, "b": 10.0, "c": 80.0})


def test_without_room_nobody_has_anything() -> None:
    assert fair({"one": Claim(inf, ALL)}, {"all": -5.0}) == {"one": 0.0}
    assert fair({}, {"all": 5.0}) == {}


def test_a_thousand_have_their_shares() -> None:
    claims = {str(at): Claim(float(at), ALL) for at in range(1000)}
    shares = fair(claims, {"all": 10_000.0})
    assert sum(shares.values()) == pytest.approx(10_000.0)
    assert max(shares.values()) == pytest.approx(shares["999"])
