"""The equations against the published check values, and the zero-wait model against its definition."""

from itertools import pairwise
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lambdas.core import models
from lambdas.core.models import Rates, Serving

T2_SMALL = Rates(split=65, intra=90, inter=15, spawn_seconds=90)


@pytest.mark.parametrize(
    ("pairs", "basic", "pipelined", "piped"),
    [(2, 953.25, 752.14, 645.56), (4, 786.58, 529.91, 478.89), (8, 703.25, 418.80, 395.56)],
)
def test_published_check_values(pairs: int, basic: float, pipelined: float, piped: float) -> None:
    assert models.sequential(10_000, 15) == pytest.approx(666.67, abs=0.005)
    assert models.basic(10_000, pairs, T2_SMALL) == pytest.approx(basic, abs=0.005)
    assert models.pipelined(10_000, pairs, T2_SMALL) == pytest.approx(pipelined, abs=0.005)
    assert models.piped(10_000, pairs, T2_SMALL) == pytest.approx(piped, abs=0.005)


def test_example_of_the_models_page() -> None:
    assert models.sequential(8192, 15) == pytest.approx(546, abs=0.5)
    assert models.piped(8192, 4, T2_SMALL) == pytest.approx(408, abs=1)
    assert models.cut_through(8192, 4, 15, 90, 90, 90) == pytest.approx(227, abs=0.5)
    paths = [Serving(15), *[Serving(15, joins=90)] * 4]
    assert models.zero_wait(8192, paths, 90, 90) == pytest.approx(181, abs=0.5)


def test_pre_test_adds_its_time() -> None:
    assert models.with_pre_test(100, 60) == 160


def test_piped_wins_exactly_above_the_threshold() -> None:
    size, pairs, inter = 10_000.0, 4, 15.0
    threshold = models.piped_gain_threshold(size, pairs, inter, 90)
    above, below = (Rates(65, inter * threshold * factor, inter, 90) for factor in (1.01, 0.99))
    assert models.piped(size, pairs, above) < models.sequential(size, inter) < models.piped(size, pairs, below)
    assert models.piped_gain_threshold(1_000, 4, inter, 90) == inf


def test_a_leaving_path_stops_carrying() -> None:
    paths = [Serving(10), Serving(10, joins=0, leaves=5)]
    assert models.zero_wait(100, paths, inf, inf) == 5.0
    assert models.zero_wait(200, paths, inf, inf) == 15.0


def test_ends_hold_the_rate() -> None:
    assert models.zero_wait(100, [Serving(50), Serving(50)], 20, 25) == 5.0


def test_nothing_serving_never_ends_and_nothing_to_move_takes_no_time() -> None:
    assert models.zero_wait(1, [], 10, 10) == inf
    assert models.zero_wait(1, [Serving(10, joins=0, leaves=0.05)], 10, 10) == inf
    assert models.zero_wait(0, [Serving(10)], 10, 10) == 0.0


rates = st.floats(0.1, 1000)
times = st.floats(0, 1000)
schedules = st.lists(
    st.tuples(rates, times, st.one_of(times, st.just(inf))).map(lambda t: Serving(t[0], t[1], max(t[1], t[2]))),
    max_size=6,
)


@given(size=st.floats(0.1, 1e6), direct=rates, relays=schedules, source=rates, destination=rates)
def test_zero_wait_is_never_slower_than_the_direct_path(
    size: float, direct: float, relays: list[Serving], source: float, destination: float
) -> None:
    alone = models.zero_wait(size, [Serving(direct)], source, destination)
    assert models.zero_wait(size, [Serving(direct), *relays], source, destination) <= alone * (1 + 1e-9)


@given(size=st.floats(0.1, 1e5), direct=rates, relays=schedules, source=rates, destination=rates)
def test_integral_of_the_rate_up_to_the_end_is_the_size(
    size: float, direct: float, relays: list[Serving], source: float, destination: float
) -> None:
    paths = [Serving(direct), *relays]
    end = models.zero_wait(size, paths, source, destination)
    changes = {t for p in paths for t in (p.joins, p.leaves) if 0 < t < end}
    steps = [0.0, *sorted(changes), end]
    moved = sum(models.rate_at(a, paths, source, destination) * (b - a) for a, b in pairwise(steps))
    assert moved == pytest.approx(size, rel=1e-6)
