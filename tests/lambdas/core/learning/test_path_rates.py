from collections.abc import Sequence

from lambdas.core.learning.arrivals import Arrivals
from lambdas.core.learning.path_rates import BYTES_PER_MB, Expected, Judgement, judge, windows

PATHS = frozenset({"direct", "pair-1", "pair-2"})
OWN = Expected(own={"direct": 20.0, "pair-1": 25.0, "pair-2": 25.0})


def seen(sums: Sequence[float]) -> Judgement:
    return judge({PATHS: [{path: total / len(PATHS) for path in PATHS} for total in sums]}, OWN)


def test_a_flat_sum_below_what_the_paths_can_do_is_the_ends_limit() -> None:
    assert len(seen([60.0, 61.0, 60.0, 60.5]).held) == 4


def test_a_sum_that_somebody_else_disturbed_is_no_limit() -> None:
    found = seen([69.0, 69.0, 61.0, 60.0, 61.0, 63.0])
    assert (found.free, found.held) == ([], [])


def test_a_sum_that_arrives_late_but_never_ahead_of_its_mean_is_the_limit_of_full_ends() -> None:
    # What three paths of 117 MB/s brought whose source sends 100: relays filled their buffers, then emptied them.
    late = [47.9, 43.7, 37.1, 95.9, 67.6, 60.5]
    found = seen(late)
    assert (found.free, found.held) == ([], [])
    assert [round(sum(rates.values()), 1) for rates in found.delayed] == late


def test_a_sum_that_was_ahead_at_first_or_is_whole_at_last_is_no_limit_of_ends() -> None:
    for sums in ([69.0, 69.0, 61.0, 60.0, 61.0, 63.0], [40.0, 45.0, 60.0, 70.0, 70.0]):
        assert seen(sums) == Judgement(most=20.0)


def test_ends_that_carried_more_beside_fewer_paths_are_not_what_delays_more() -> None:
    two = {frozenset({"direct", "pair-1"}): [{"direct": 30.0, "pair-1": 40.0}] * 4}
    late = {PATHS: [{path: total / len(PATHS) for path in PATHS} for total in (47.9, 43.7, 37.1, 95.9, 67.6, 60.5)]}
    known = Expected(own={"direct": 30.0})
    assert judge({**two, **late}, known).delayed == []


def test_paths_that_do_what_they_can_are_free() -> None:
    assert len(seen([70.0, 69.0, 68.0]).free) == 3


def test_what_a_path_did_beside_fewer_others_tells_when_more_hold_it_back() -> None:
    two = [{"direct": 20.0, "pair-1": 25.0}] * 4
    three = [{"direct": 20.0, "pair-1": 10.0, "pair-2": 30.0}] * 4
    known = Expected(own={"direct": 20.0})
    found = judge({frozenset({"direct", "pair-1"}): two, PATHS: three}, known)
    assert (len(found.free), len(found.held)) == (4, 4)
    assert judge({PATHS: three}, known).held == []


def test_two_seconds_tell_nothing() -> None:
    assert seen([40.0, 40.0]) == Judgement(most=20.0)


def test_full_ends_are_told_to_the_end_where_all_paths_were_in_use_for_seconds_only() -> None:
    full = [dict.fromkeys(PATHS, 16.0)] * 4
    assert judge({PATHS: full[:2]}, OWN, {PATHS: full}).held == full
    assert judge({}, OWN, {PATHS: full}).held == full
    # Three seconds and more before the end tell more.
    assert judge({PATHS: full[:3]}, OWN, {PATHS: full}).held == full[:3]
    # Paths that run dry, and those that do what they can, are not held back.
    for seconds in ([*full[:2], dict.fromkeys(PATHS, 10.0)], [dict.fromkeys(PATHS, 23.0)] * 4):
        assert judge({}, OWN, {PATHS: seconds}) == Judgement(most=20.0)


def test_the_run_out_is_no_sign_of_the_ends() -> None:
    arrivals = Arrivals(begun=dict.fromkeys(PATHS, 100.0), drained=109.0)
    for second in range(100, 109):
        for path in PATHS:
            # A slow path leaves the last chunks to the others.
            idle = path == "pair-2" and second >= 107
            arrivals.per_second[second, path] = 0.0 if idle else 20.0 * BYTES_PER_MB
    found = windows(arrivals, limit=1000.0)
    assert {paths: len(seconds) for paths, seconds in found.items()} == {PATHS: 6}
    assert len(judge(found, OWN).held) == 6
