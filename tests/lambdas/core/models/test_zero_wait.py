"""Zero wait with token buckets: against its definition in small steps, and with 20 TB."""

from itertools import pairwise
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lambdas.core.models.zero_wait import Limit, Serving, zero_wait

MINUTE = 60.0


@pytest.mark.parametrize(("minutes", "seconds"), [(0, 11_160), (5, 10_605), (30, 7_826), (60, 4_492)])
def test_20_tb_on_c6in_large_take_what_lasts_after_their_credits(minutes: float, seconds: float) -> None:
    # Baseline 3.125 Gbps; a short transfer had 1 500 MB/s. Three pairs join after 45 s beside 625 MB/s.
    pair = Serving(390.625, joins=45.0, burst=1500.0, credit=(1500.0 - 390.625) * minutes * MINUTE)
    assert zero_wait(20e6, [Serving(625.0), pair, pair, pair], inf, inf) == pytest.approx(seconds, abs=1.0)


def test_20_tb_whose_credits_never_end_take_what_the_short_transfer_promised() -> None:
    paths = [Serving(625.0), *[Serving(390.625, joins=45.0, burst=1500.0, credit=inf)] * 3]
    assert zero_wait(20e6, paths, inf, inf) == pytest.approx(3_942, abs=0.1)


def test_a_bucket_lets_its_burst_pass_and_then_what_lasts() -> None:
    # 80 MB beyond 20 MB/s: 1 s at 100 MB/s, then 20 MB/s.
    path = Serving(20.0, burst=100.0, credit=80.0)
    assert zero_wait(100.0, [path], inf, inf) == 1.0
    assert zero_wait(140.0, [path], inf, inf) == 3.0


def test_an_end_that_runs_out_of_credit_holds_all_paths_back() -> None:
    end = Limit(30.0, burst=100.0, credit=70.0)
    paths = [Serving(60.0), Serving(60.0)]
    for source, destination in ((end, 200.0), (200.0, end)):
        assert zero_wait(130.0, paths, source, destination) == 2.0


def test_credit_comes_back_while_less_than_the_lasting_rate_passes() -> None:
    # The first second at 100 uses all 80 MB; until second 5 the end lets 10 of 20 MB/s pass, which gives 40 MB back.
    path = Serving(20.0, burst=100.0, credit=80.0)
    slow = [Serving(0.0, leaves=1.0), Serving(90.0, leaves=1.0)]
    end = Limit(10.0, burst=190.0, credit=180.0)
    assert zero_wait(190.0 + 4 * 10.0, [path, *slow], end, inf) == 5.0
    late = Serving(20.0, joins=0.0, burst=100.0, credit=80.0)
    # Nothing holds the path back here: without contention credit that is used up does not return.
    assert zero_wait(100.0 + 4 * 20.0, [late], inf, inf) == 5.0


def test_what_a_path_may_burst_is_kept_while_the_ends_are_the_limit() -> None:
    # Two paths of 20 to 100 MB/s behind 120 MB/s: 60 each, so 80 MB last 2 s, and then 40 MB/s pass.
    path = Serving(20.0, burst=100.0, credit=80.0)
    assert zero_wait(240.0, [path, path], 120.0, inf) == 2.0
    assert zero_wait(280.0, [path, path], 120.0, inf) == 3.0


def test_what_all_paths_together_may_carry_for_a_while_holds_for_that_while() -> None:
    paths = [Serving(20.0), Serving(20.0, joins=5.0)]
    # 5 s at 10 MB/s, 5 s at 30, then 40 MB/s.
    caps = [Serving(10.0, leaves=5.0), Serving(30.0, joins=5.0, leaves=10.0)]
    assert zero_wait(200.0, paths, inf, caps=caps) == 10.0
    assert zero_wait(280.0, paths, inf, caps=caps) == 12.0
    # Where two hold, the lower one does.
    assert zero_wait(50.0, paths, inf, caps=[*caps, Serving(1e3)]) == 5.0


@given(st.floats(1, 1e4), st.floats(0.1, 1e3), st.lists(st.floats(0, 60), min_size=1, max_size=5))
def test_caps_that_follow_each_other_take_as_long_as_their_integral(
    size: float, rate: float, changes: list[float]
) -> None:
    """A path that is cut into pieces of its own is the same as one path that is capped piece by piece."""
    starts = sorted({0.0, *changes})
    pieces = [
        Serving(rate / (1 + i), start, end)
        for i, (start, end) in enumerate(zip(starts, [*starts[1:], inf], strict=True))
    ]
    capped = zero_wait(size, [Serving(10 * rate)], inf, caps=pieces)
    assert capped == pytest.approx(zero_wait(size, pieces, inf), rel=1e-9)


rates = st.floats(0.1, 1e3)
limits = st.builds(Limit, rate=rates, burst=st.floats(0, 3e3), credit=st.floats(0, 1e4))
times = st.floats(0, 60)
schedules = st.lists(
    st.tuples(rates, times, st.one_of(times, st.just(inf)), st.floats(0, 3e3), st.floats(0, 1e4)).map(
        lambda t: Serving(t[0], t[1], max(t[1], t[2]), t[3], t[4])
    ),
    max_size=4,
)


def moved_in_steps(seconds: float, step: float, paths: list[Serving], source: Limit, destination: Limit) -> float:
    """MB by the definition, in steps: each bucket is a tank that fills at its rate and is emptied by what passes."""
    tanks = {name: limit.credit for name, limit in (("source", source), ("destination", destination))}
    levels = [path.credit for path in paths]
    moved, at = 0.0, 0.0
    while at < seconds - step / 2:
        joined = [i for i, path in enumerate(paths) if path.joins <= at < path.leaves]
        # Of a tank no more can pass within a step than comes in and is there.
        most = {i: min(max(paths[i].rate, paths[i].burst), paths[i].rate + levels[i] / step) for i in joined}
        ends = min(
            min(max(limit.rate, limit.burst), limit.rate + tanks[name] / step)
            for name, limit in (("source", source), ("destination", destination))
        )
        lasting, whole = sum(paths[i].rate for i in joined), sum(most.values())
        total = min(whole, ends)
        if total <= lasting:
            used = {i: paths[i].rate * total / lasting for i in joined}
        else:
            beyond = (total - lasting) / (whole - lasting)
            used = {i: paths[i].rate + beyond * (most[i] - paths[i].rate) for i in joined}
        moved, at = moved + total * step, at + step
        for name, limit in (("source", source), ("destination", destination)):
            tanks[name] = min(limit.credit, max(0.0, tanks[name] + (limit.rate - total) * step))
        for i in joined:
            levels[i] = min(paths[i].credit, max(0.0, levels[i] + (paths[i].rate - used[i]) * step))
    return moved


@given(st.floats(1, 1e4), rates, schedules, limits, limits)
def test_bursts_are_as_in_a_simulation_in_small_steps(
    size: float, direct: float, relays: list[Serving], source: Limit, destination: Limit
) -> None:
    paths = [Serving(direct), *relays]
    exact = zero_wait(size, paths, source, destination)
    step = exact / 2_000
    # Each join, leave and empty bucket may come a step too late, with at most what passes at once.
    most = min(*(max(end.rate, end.burst) for end in (source, destination)), sum(max(p.rate, p.burst) for p in paths))
    late = (3 * len(paths) + 2) * step * most
    assert moved_in_steps(exact, step, paths, source, destination) == pytest.approx(size, abs=late)


@given(st.floats(1, 1e6), rates, schedules, rates, rates)
def test_bursts_without_credit_or_above_nothing_change_nothing(
    size: float, direct: float, relays: list[Serving], source: float, destination: float
) -> None:
    plain = [Serving(direct), *(Serving(path.rate, path.joins, path.leaves) for path in relays)]
    empty = [Serving(path.rate, path.joins, path.leaves, burst=path.burst) for path in plain]
    lower = [Serving(path.rate, path.joins, path.leaves, path.rate / 2, 1e9) for path in plain]
    known = zero_wait(size, plain, source, destination)
    assert zero_wait(size, empty, source, destination) == known
    assert zero_wait(size, lower, Limit(source, source, 1e9), Limit(destination)) == pytest.approx(known)


@given(st.floats(1, 1e6), rates, schedules, limits, limits)
def test_more_credit_is_never_slower_and_lies_between_what_lasts_and_the_burst(
    size: float, direct: float, relays: list[Serving], source: Limit, destination: Limit
) -> None:
    def seconds(factor: float) -> float:
        paths = [Serving(direct), *relays]
        more = [Serving(one.rate, one.joins, one.leaves, one.burst, one.credit * factor) for one in paths]
        ends = [Limit(end.rate, end.burst, end.credit * factor) for end in (source, destination)]
        return zero_wait(size, more, *ends)

    found = [seconds(factor) for factor in (0.0, 0.5, 1.0, 2.0, 1e9)]
    assert all(slower >= faster * (1 - 1e-9) for slower, faster in pairwise(found))
