"""Shares against bisection and the promises of bandwidth functions, on 10 000 drawn pools."""

from dataclasses import replace
from math import inf, isclose
from random import Random

import pytest

from lambdas.core.pool.shares import Claim, divide, divide_among_tenants

DRAWS = 10_000
SEED = 44


def drawn(random: Random) -> tuple[dict[str, Claim], float]:
    """Some claims, with guarantees that add up to the capacity or less in three of four draws."""
    capacity = random.choice([0.0, random.uniform(0, 10), random.uniform(0, 1000)])
    claims = {}
    for number in range(random.randrange(1, 7)):
        claims[f"t{number}"] = Claim(
            demand=random.choice([inf, 0.0, random.uniform(0, 400), 100.0]),
            weight=random.choice([0.0, 1.0, 1.0, 2.0, random.uniform(0.0001, 1000)]),
            guarantee=random.choice([0.0, 0.0, 50.0, random.uniform(0, 200)]),
            limit=random.choice([inf, inf, random.uniform(0, 300)]),
        )
    granted = sum(claim.guarantee for claim in claims.values())
    if random.randrange(4) and granted > capacity:
        claims = {name: replace(one, guarantee=one.guarantee * capacity / granted) for name, one in claims.items()}
    return claims, capacity


def bisected(claims: dict[str, Claim], capacity: float) -> dict[str, float]:
    """The definition, without any thought: the level is halved until the sum is the capacity."""

    every = [(min(one.demand, one.limit), one.guarantee, one.weight) for one in claims.values()]

    def at(level: float) -> list[float]:
        part, beyond = min(1.0, level), max(0.0, level - 1.0)
        return [min(most, guarantee * part + weight * beyond) for most, guarantee, weight in every]

    # At a weight of 0.0001 the level of 400 MB/s is 4 000 001.
    low, high = 0.0, 5e6
    if sum(at(high)) > capacity:
        for _ in range(55):
            middle = (low + high) / 2
            low, high = (middle, high) if sum(at(middle)) <= capacity else (low, middle)
        high = low
    return dict(zip(claims, at(high), strict=True))


def near(one: float, other: float) -> bool:
    return one == other or isclose(one, other, rel_tol=1e-5, abs_tol=1e-5)


@pytest.fixture(scope="module")
def draws() -> list[tuple[dict[str, Claim], float]]:
    random = Random(SEED)
    return [drawn(random) for _ in range(DRAWS)]


Draws = list[tuple[dict[str, Claim], float]]


def test_shares_are_those_of_bisection(draws: Draws) -> None:
    for claims, capacity in draws:
        shares, expected = divide(claims, capacity).shares, bisected(claims, capacity)
        assert all(near(share, expected[name]) for name, share in shares.items()), (claims, capacity)


def test_nothing_is_left_while_somebody_wants_more(draws: Draws) -> None:
    for claims, capacity in draws:
        division = divide(claims, capacity)
        tops = sum(claim.top for claim in claims.values())
        assert near(division.total, min(capacity, tops))
        assert all(0 <= division.shares[name] <= claim.top for name, claim in claims.items())


def test_guarantees_are_met_where_they_fit_and_cut_alike_where_they_do_not(draws: Draws) -> None:
    seen = set()
    for claims, capacity in draws:
        division = divide(claims, capacity)
        due = {name: min(claim.guarantee, claim.top) for name, claim in claims.items()}
        fits = sum(due.values()) <= capacity
        seen.add(fits)
        for name, claim in claims.items():
            if fits:
                assert division.shares[name] >= due[name] - 1e-6
            else:
                assert near(division.shares[name], min(claim.top, claim.guarantee * division.level))
    assert seen == {True, False}


def test_nobody_envies_another_by_weight(draws: Draws) -> None:
    """Who has less than their top has as much beyond the guarantee, for each unit of weight, as anybody else."""
    compared = 0
    for claims, capacity in draws:
        shares = divide(claims, capacity).shares
        beyond = {
            name: (shares[name] - claim.guarantee) / claim.weight for name, claim in claims.items() if claim.weight > 0
        }
        wanting = [name for name in beyond if shares[name] < claims[name].top - 1e-6]
        if not wanting or min(beyond[name] for name in wanting) < -1e-9:
            continue
        least = min(beyond[name] for name in wanting)
        # A rate that differs in its ninth digit, by a weight of 0.0001.
        assert max(beyond.values()) <= least + 1e-6 * max(1.0, least) + 1e-9 / min(
            c.weight for c in claims.values() if c.weight
        )
        compared += 1
    assert compared > DRAWS / 4


def test_a_false_demand_brings_nothing(draws: Draws) -> None:
    random = Random(SEED + 1)
    lies = {"more": 0, "less": 0}
    for claims, capacity in draws:
        name = random.choice(sorted(claims))
        true = claims[name]
        demand = random.choice([inf, true.demand * random.uniform(0, 3) if true.demand < inf else 100.0, 0.0])
        honest = divide(claims, capacity).shares[name]
        lied = divide({**claims, name: replace(true, demand=demand)}, capacity).shares[name]
        assert min(lied, true.demand) <= honest + 1e-6
        lies["more" if demand > true.demand else "less"] += 1
    assert min(lies.values()) > DRAWS / 10


def test_the_order_of_the_claims_does_not_matter(draws: Draws) -> None:
    for claims, capacity in draws[:1000]:
        other = dict(reversed(claims.items()))
        assert divide(other, capacity).shares == pytest.approx(divide(claims, capacity).shares, rel=1e-9, abs=1e-9)


def test_weights_of_one_two_and_four_have_so_many_sevenths() -> None:
    claims = {"one": Claim(weight=1.0), "two": Claim(weight=2.0), "four": Claim(weight=4.0)}
    assert divide(claims, 70.0).shares == pytest.approx({"one": 10.0, "two": 20.0, "four": 40.0})


def test_a_guarantee_comes_first_and_the_rest_by_weight() -> None:
    claims = {"held": Claim(guarantee=50.0), "plain": Claim(), "reserved": Claim(weight=0.0, guarantee=10.0)}
    division = divide(claims, 100.0)
    assert division.shares == pytest.approx({"held": 70.0, "plain": 20.0, "reserved": 10.0})
    assert divide(claims, 30.0).shares == pytest.approx({"held": 25.0, "plain": 0.0, "reserved": 5.0})
    assert divide(claims, 30.0).level == pytest.approx(0.5)


def test_what_one_does_not_want_goes_to_the_others() -> None:
    shares = divide(
        {"idle": Claim(demand=10.0, guarantee=50.0), "one": Claim(), "two": Claim(limit=30.0)}, 100.0
    ).shares
    assert shares == pytest.approx({"idle": 10.0, "one": 60.0, "two": 30.0})


def test_somebody_alone_has_all_of_it() -> None:
    assert divide({"alone": Claim()}, 500.0).shares == {"alone": 500.0}
    assert divide({}, 500.0).shares == {}


def test_whoever_cuts_a_transfer_in_two_has_no_more() -> None:
    tenants = {"ann": Claim(), "bob": Claim()}
    whole = divide_among_tenants(tenants, {"ann": {"a": Claim()}, "bob": {"b": Claim()}}, 100.0)
    cut = divide_among_tenants(tenants, {"ann": {"a": Claim()}, "bob": {"b": Claim(), "c": Claim(weight=3.0)}}, 100.0)
    assert whole == {"ann": {"a": 50.0}, "bob": {"b": 50.0}}
    assert cut["ann"] == {"a": 50.0}
    assert cut["bob"] == pytest.approx({"b": 12.5, "c": 37.5})


def test_a_tenants_limit_holds_for_all_of_its_transfers() -> None:
    found = divide_among_tenants(
        {"ann": Claim(limit=20.0), "bob": Claim()}, {"ann": {"a": Claim(), "b": Claim()}, "bob": {"c": Claim()}}, 100.0
    )
    assert found == {"ann": {"a": 10.0, "b": 10.0}, "bob": {"c": 80.0}}


def test_a_transfer_of_nobody_is_an_error() -> None:
    with pytest.raises(KeyError, match="bob"):
        divide_among_tenants({}, {"bob": {"c": Claim()}}, 100.0)


@pytest.mark.parametrize(
    ("name", "value"),
    [("demand", -1.0), ("limit", float("nan")), ("weight", inf), ("guarantee", inf), ("guarantee", -1.0)],
)
def test_a_claim_that_cannot_be_is_refused_by_name(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"{name}: {value}"):
        Claim(**{name: value})
    with pytest.raises(ValueError, match="capacity: -1"):
        divide({}, -1.0)
