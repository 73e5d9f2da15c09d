"""The arithmetic behind the fleet's benchmark."""

from typing import Any

import pytest

from bench.fleet.arithmetic import Caps, Mistake, mistakes, replay, spread, steady_rate

CAPS = Caps(direct=10, relay=10, ends=100)
START = 1000.0


def node(name: str, joined: float | None, ended: float = 99.0, state: str = "TERMINATED") -> dict[str, Any]:
    role, slot, generation = name.split("-")
    joins = {} if joined is None else {"joinedAt": START + joined}
    known = {"nodeId": name, "role": role, "slot": int(slot), "generation": int(generation)}
    return {**known, "state": state, "endedAt": START + ended, **joins}


def test_spread_is_from_fastest_to_slowest_over_the_mean() -> None:
    assert spread([9, 10, 11]) == pytest.approx(0.2)
    assert spread([10, 10]) == 0


def test_steady_rate_is_that_of_all_relays_once_all_of_them_carry() -> None:
    first = [9, 9, 30, 20, 10, 10, 10, 10, 4, 4, 4]
    second = [0, 0, 30, 20, 12, 12, 12, 12, 4, 4, 0]
    paths = [("direct", [5] * 11), ("pair-1", first), ("pair-1-2", second)]
    assert steady_rate({"paths": [{"pathId": name, "ratesMBps": rates} for name, rates in paths]}) == 22


def test_a_better_pair_that_was_rejected_is_a_mistake() -> None:
    rates = {1: 10.0, 2: 12.0, 3: 16.0, 4: 6.0}
    assert mistakes(rates, {2, 3}, noise=0.1) == []
    assert mistakes(rates, {1, 3}, noise=0.1) == [Mistake(kept=1, rejected=2)]


def test_pairs_within_the_noise_are_alike() -> None:
    assert mistakes({1: 10.0, 2: 10.9}, {1}, noise=0.1) == []


def test_replay_of_the_direct_path_alone() -> None:
    assert replay(100, CAPS, [], START, {}) == 10


def test_relays_carry_from_when_both_of_a_pair_have_joined() -> None:
    nodes = [node("source-1-0", 2), node("destination-1-0", 4)]
    assert replay(100, CAPS, nodes, START, {}) == pytest.approx(4 + 60 / 20)


def test_a_killed_relay_leaves_when_it_is_killed_and_not_when_that_is_known() -> None:
    nodes = [node("source-1-0", 0, ended=7, state="LOST"), node("destination-1-0", 0)]
    assert replay(100, CAPS, nodes, START, {"source-1-0": START + 3}) == pytest.approx(3 + 40 / 10)
    assert replay(200, CAPS, nodes, START, {}) == pytest.approx(7 + 60 / 10)


def test_a_successor_makes_the_pair_whole_again() -> None:
    nodes = [node("source-1-0", 0, 3, "LOST"), node("source-1-1", 5), node("destination-1-0", 0)]
    assert replay(200, CAPS, nodes, START, {}) == pytest.approx(5 + 120 / 20)


def test_what_only_the_teardown_ends_serves_to_the_end_of_the_model() -> None:
    nodes = [node("source-1-0", 0, ended=4), node("destination-1-0", 0, ended=4)]
    assert replay(200, CAPS, nodes, START, {}) == 10


def test_a_relay_that_never_joined_carries_nothing() -> None:
    nodes = [node("source-1-0", None, 1, "LOST"), node("destination-1-0", 0)]
    assert replay(100, CAPS, nodes, START, {"source-1-0": START + 1}) == 10


def test_the_ends_are_the_limit_of_all_paths() -> None:
    nodes = [node("source-1-0", 0), node("destination-1-0", 0)]
    assert replay(100, Caps(10, 50, 20), nodes, START, {}) == 5
