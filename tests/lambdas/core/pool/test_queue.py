from random import Random

import pytest

from lambdas.core.pool.queue import (
    HALF_LIFE_SECONDS,
    Active,
    Class,
    Forecast,
    Terms,
    Use,
    Waiting,
    admitted_now,
    forecast,
    ordered,
)

TERMS = {"ann": Terms(), "bob": Terms(), "cat": Terms(weight=2.0)}


def waiting(transfer: str, tenant: str, asked_at: float = 0.0, size: float = 10.0, rank: Class = "normal") -> Waiting:
    return Waiting(transfer, tenant, asked_at, size, seconds=100.0, rank=rank)


def names(turns: list[Waiting]) -> list[str]:
    return [one.transfer for one in turns]


def test_use_counts_half_after_an_hour() -> None:
    use = Use(sent=100.0, at=0.0)
    assert use.counted(HALF_LIFE_SECONDS) == pytest.approx(50.0)
    assert use.counted(-5.0) == 100.0
    assert use.plus(10.0, 2 * HALF_LIFE_SECONDS) == Use(sent=35.0, at=2 * HALF_LIFE_SECONDS)


def test_class_comes_before_use_and_use_before_age() -> None:
    turns = [
        waiting("late", "bob", 5.0),
        waiting("early", "ann", 1.0),
        waiting("idle", "bob", 0.0, rank="background"),
        waiting("now", "ann", 9.0, rank="urgent"),
    ]
    uses = {"ann": Use(sent=50.0, at=0.0)}
    assert names(ordered(turns, uses, TERMS, 0.0)) == ["now", "late", "early", "idle"]
    assert names(ordered(turns[:2], {}, TERMS, 0.0)) == ["early", "late"]


def test_use_counts_by_weight() -> None:
    uses = {"ann": Use(sent=60.0, at=0.0), "cat": Use(sent=100.0, at=0.0)}
    assert names(ordered([waiting("a", "ann"), waiting("c", "cat")], uses, TERMS, 0.0)) == ["c", "a"]


def test_a_tenant_with_many_does_not_get_all_of_its_turns_at_once() -> None:
    many = [waiting(f"a{number}", "ann", number) for number in range(3)]
    assert names(ordered([*many, waiting("b", "bob", 50.0)], {}, TERMS, 60.0)) == ["a0", "b", "a1", "a2"]


def test_time_alone_changes_no_order() -> None:
    random = Random(44)
    for _ in range(200):
        turns = [waiting(f"t{n}", random.choice(sorted(TERMS)), n, size=0.0) for n in range(8)]
        uses = {name: Use(sent=random.uniform(0, 100), at=0.0) for name in TERMS}
        assert ordered(turns, uses, TERMS, 10.0) == ordered(turns, uses, TERMS, 7200.0)


def test_over_time_tenants_get_turns_by_weight() -> None:
    turns = [waiting(f"{name}{n}", name, n) for name in TERMS for n in range(100)]
    first = ordered(turns, {}, TERMS, 0.0)[:120]
    counts = {name: sum(one.tenant == name for one in first) for name in TERMS}
    assert counts == {"ann": 30, "bob": 30, "cat": 60}


def test_whoever_has_its_number_active_is_passed_over() -> None:
    turns = [waiting("a1", "ann"), waiting("a2", "ann"), waiting("b", "bob")]
    terms = {"ann": Terms(active=2), "bob": Terms()}
    assert names(admitted_now(turns, 3, {"ann": 1}, terms)) == ["a1", "b"]
    assert names(admitted_now(turns, 1, {}, terms)) == ["a1"]
    assert admitted_now(turns, 0, {}, terms) == []


def test_a_start_is_forecast_from_the_ends_before_it() -> None:
    turns = [waiting("a", "ann"), waiting("b", "bob"), waiting("c", "cat")]
    active = [Active("x", 50.0), Active("x", 80.0)]
    assert forecast(turns, active, 2, TERMS, 10.0) == {
        "a": Forecast(1, 50.0),
        "b": Forecast(2, 80.0),
        "c": Forecast(3, 150.0),
    }
    assert forecast(turns, active, 4, TERMS, 10.0)["b"] == Forecast(2, 10.0)


def test_a_tenant_that_must_wait_for_its_own_keeps_nobody_else_waiting() -> None:
    terms = {"ann": Terms(active=1), "bob": Terms()}
    turns = [waiting("a", "ann"), waiting("b", "bob")]
    found = forecast(turns, [Active("ann", 500.0)], 2, terms, 0.0)
    assert found["a"].starts_at == 500.0
    assert found["b"].starts_at == 0.0


def test_a_pool_for_nobody_is_refused() -> None:
    with pytest.raises(ValueError, match="most: 0"):
        forecast([], [], 0, {}, 0.0)
