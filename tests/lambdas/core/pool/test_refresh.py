"""Refreshes against nodes that hear late or never: what they forward together is never more than a bound."""

from random import Random

import pytest

from lambdas.core.pool.pool_node import LeaseLimit
from lambdas.core.pool.refresh import FELT_SECONDS, LIMIT_SECONDS, Refreshed, ToldLimit, Wanted, refreshed

NODE = ("n1",)


def told(state: dict[str, ToldLimit]) -> dict[str, float]:
    return {name: one.limit.mb_s for name, one in state.items()}


def begun(**rates: float) -> dict[str, ToldLimit]:
    """Leases that follow limits which they were told at 0 s."""
    found = refreshed({}, {}, {name: Wanted(rate, NODE) for name, rate in rates.items()}, {"n1": 1000.0}, 0.0)
    return found.state


def again(
    state: dict[str, ToldLimit], now: float, follow: bool = True, cap: float = 100.0, **rates: float
) -> Refreshed:
    followed = {name: one.limit.number for name, one in state.items()} if follow else {}
    return refreshed(state, followed, {name: Wanted(rate, NODE) for name, rate in rates.items()}, {"n1": cap}, now)


def test_less_is_told_at_once_and_more_once_less_is_followed() -> None:
    first = again(begun(a=100.0), 10.0, a=50.0, b=50.0)
    assert told(first.state) == {"a": 50.0, "b": 0.0}
    assert first.after == {"b": 50.0}
    unheard = again(first.state, 11.0, follow=False, a=50.0, b=50.0)
    assert told(unheard.state) == {"a": 50.0, "b": 0.0}
    assert unheard.now == {}
    followed = again(first.state, 12.0, a=50.0, b=50.0)
    assert told(followed.state) == {"a": 50.0, "b": 50.0}
    assert followed.after == {}


def test_what_is_free_is_told_at_once_to_all_alike() -> None:
    first = again(begun(a=40.0), 10.0, a=20.0, b=60.0, c=20.0)
    assert told(first.state) == {"a": 20.0, "b": 45.0, "c": 15.0}


def test_a_node_that_never_answers_is_waited_for_until_its_limit_has_ended() -> None:
    first = again(begun(a=100.0), 10.0, a=50.0, b=50.0)
    at = LIMIT_SECONDS + FELT_SECONDS
    assert told(again(first.state, at - 1, follow=False, a=50.0, b=50.0).state)["b"] == 0.0
    assert told(again(first.state, at, follow=False, a=50.0, b=50.0).state)["b"] == 50.0


def test_changes_of_less_than_a_tenth_are_left_alone() -> None:
    found = again(begun(a=50.0, b=50.0), 1.0, a=46.0, b=54.0)
    assert (told(found.state), found.now) == ({"a": 50.0, "b": 50.0}, {})
    assert set(again(begun(a=50.0, b=50.0), 1.0, a=45.0, b=55.0).now) == {"a"}


def test_they_are_told_where_the_bound_would_be_exceeded_or_much_left_unused() -> None:
    assert told(again(begun(a=50.0, b=50.0), 1.0, cap=92.0, a=46.0, b=46.0).state) == {"a": 46.0, "b": 46.0}
    assert told(again(begun(a=46.0, b=46.0), 1.0, a=50.0, b=50.0).state) == {"a": 50.0, "b": 50.0}


def test_a_guarantee_is_told_however_little_is_missing() -> None:
    wanted = {"a": Wanted(50.0, NODE, guarantee=50.0)}
    assert refreshed(begun(a=49.0), {"a": 1}, wanted, {"n1": 100.0}, 1.0).now["a"].mb_s == 50.0


def test_a_limit_that_stays_is_told_again_before_it_ends() -> None:
    state = begun(a=50.0)
    assert again(state, 40.0, a=50.0).now == {}
    assert again(state, 60.0, a=50.0).now == {"a": LeaseLimit(number=2, mb_s=50.0, until=60.0 + LIMIT_SECONDS)}


def test_a_lease_that_has_ended_keeps_its_room_until_its_node_says_so() -> None:
    state = begun(a=60.0, b=40.0)
    first = refreshed(state, {"a": 1, "b": 1}, {"b": Wanted(100.0, NODE)}, {"n1": 100.0}, 1.0, {"a": NODE})
    assert told(first.state) == {"a": 0.0, "b": 40.0}
    last = refreshed(first.state, {"a": 2, "b": 1}, {"b": Wanted(100.0, NODE)}, {"n1": 100.0}, 2.0, {"a": NODE})
    assert told(last.state) == {"b": 100.0}


def test_a_bound_without_a_capacity_is_an_error() -> None:
    with pytest.raises(KeyError, match="n2"):
        refreshed({}, {}, {"a": Wanted(1.0, ("n2",))}, {"n1": 1.0}, 0.0)


def test_whoever_hears_what_a_bound_is_never_exceeded() -> None:
    """60 refreshes of each of 60 drawn pools: nodes hear the newest limit, or nothing for long, and then fall back."""
    random = Random(44)
    raised = 0
    for _ in range(60):
        bounds = {"n1": 100.0, "n2": 60.0, "tenant": 90.0}
        leases = {
            f"l{number}": (random.choice(["n1", "n2"]), *(["tenant"] if number % 2 else [])) for number in range(6)
        }
        guarantees = {name: random.choice([0.0, 8.0]) for name in leases}
        state: dict[str, ToldLimit] = {}
        heard: dict[str, tuple[LeaseLimit, float]] = {}
        now = 0.0
        for _ in range(60):
            weights = {name: random.choice([0.0, random.random(), 3.0]) for name in leases}
            sums = {bound: sum(weights[n] for n, over in leases.items() if bound in over) for bound in bounds}
            wanted = {
                name: Wanted(min(bounds[b] * weights[name] / (sums[b] or 1.0) for b in over), over, guarantees[name])
                for name, over in leases.items()
            }
            numbers = {name: limit.number for name, (limit, _) in heard.items() if random.random() < 0.8}
            found = refreshed(state, numbers, wanted, bounds, now)
            raised += len(found.now)
            state = found.state
            for moment in (0.0, 0.5):
                for name in leases:
                    if random.random() < 0.4:
                        heard[name] = (state[name].limit, state[name].guarantee_mb_s)
                for bound, most in bounds.items():
                    sent = 0.0
                    for name, (limit, guarantee) in heard.items():
                        if bound in leases[name]:
                            is_over = now + moment >= limit.until
                            sent += min(limit.mb_s, guarantee) if is_over else limit.mb_s
                    assert sent <= most + 1e-6
            now += random.choice([1.0, 5.0, 60.0, 200.0])
    assert raised > 1000
