"""Weighted sample integration: what a sample may do to a mean, and how fast a change is taken in."""

from collections.abc import Iterable
from math import inf, nan
from statistics import fmean, pstdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lambdas.core.estimate.history import LEAST_WEIGHT, REFERENCE_SECONDS, WINDOW, History, integrate, weight

HOUR = REFERENCE_SECONDS
values = st.floats(0.01, 1e4)
gaps = st.floats(0, 10 * HOUR)


def fed(samples: Iterable[float], apart: float = HOUR, history: History | None = None) -> History:
    start = 0.0 if history is None else history.at_seconds + apart
    for number, sample in enumerate(samples):
        history = integrate(history, sample, start + number * apart)
    assert history is not None
    return history


def test_first_sample_is_the_mean_and_has_no_spread() -> None:
    assert integrate(None, 80.0, 7.0) == History(80.0, 6400.0, 1, 7.0)
    assert integrate(None, 80.0, 7.0).sigma == 0.0


def test_equations_with_their_numbers() -> None:
    before = History(mean=100.0, second_moment=10_400.0, samples=20, at_seconds=0.0)
    assert before.sigma == pytest.approx(20.0)
    # One σ away and half an hour after the last: w = (e^-0.5 + 0.5) / 2.
    trust = weight(before, 120.0, HOUR / 2)
    assert trust == pytest.approx((0.60653 + 0.5) / 2, abs=1e-5)
    after = integrate(before, 120.0, HOUR / 2)
    assert after.mean == pytest.approx(((WINDOW - 1) * 100 + (1 - trust) * 100 + trust * 120) / WINDOW)
    assert after.second_moment == pytest.approx(
        ((WINDOW - 1) * 10_400 + (1 - trust) * 10_400 + trust * 14_400) / WINDOW
    )
    assert (after.samples, after.at_seconds) == (21, HOUR / 2)


@given(st.lists(values, min_size=1, max_size=WINDOW))
def test_first_samples_count_in_full(samples: list[float]) -> None:
    learned = fed(samples)
    assert learned.mean == pytest.approx(fmean(samples))
    assert learned.sigma == pytest.approx(pstdev(samples), abs=1e-4 * max(samples))


def test_rare_near_and_expected_variation_raise_the_weight() -> None:
    steady, restless = History(100.0, 10_001.0, 20, 0.0), History(100.0, 10_900.0, 20, 0.0)
    assert weight(steady, 130.0, 0.0) < weight(restless, 130.0, 0.0)
    assert weight(restless, 130.0, 0.0) < weight(restless, 110.0, 0.0)
    assert weight(restless, 130.0, 0.0) < weight(restless, 130.0, HOUR)


def test_sample_of_a_metric_that_never_varied_has_a_weight() -> None:
    never = History(0.0, 0.0, 9, 0.0)
    assert weight(never, 0.0, 0.0) == 0.5
    assert weight(never, 3.0, 0.0) == LEAST_WEIGHT
    assert weight(History(1e-200, 0.0, 9, 0.0), 1e200, 0.0) == LEAST_WEIGHT


def test_late_sample_counts_as_if_it_came_with_the_last() -> None:
    last = History(100.0, 10_100.0, 20, 50.0)
    late = integrate(last, 90.0, 20.0)
    assert late == integrate(last, 90.0, 50.0)
    assert late.at_seconds == 50.0


@given(st.lists(st.tuples(values, gaps), min_size=1, max_size=40))
def test_mean_and_spread_stay_within_the_samples(samples: list[tuple[float, float]]) -> None:
    history, now = None, 0.0
    for sample, gap in samples:
        now += gap
        history = integrate(history, sample, now)
    assert history is not None
    low, high = min(sample for sample, _ in samples), max(sample for sample, _ in samples)
    assert low * (1 - 1e-9) <= history.mean <= high * (1 + 1e-9)
    assert history.sigma <= (high - low) / 2 + 1e-5 * high


# Farther than 40 % is eight times the least spread: the Gaussian term has vanished.
far = st.one_of(st.floats(0, 0.6), st.floats(1.4, 100))


@given(base=values, noise=st.lists(st.floats(-0.02, 0.02), min_size=10, max_size=30), factor=far)
def test_outlier_moves_a_steady_mean_by_a_tenth_of_its_distance_at_most(
    base: float, noise: list[float], factor: float
) -> None:
    steady = fed(base * (1 + share) for share in noise)
    outlier = base * factor
    hour_later = abs(fed([outlier], HOUR, steady).mean - steady.mean)
    at_once = abs(fed([outlier], 0.0, steady).mean - steady.mean)
    assert hour_later <= 0.101 * abs(outlier - steady.mean)
    assert at_once <= 0.0201 * abs(outlier - steady.mean)


@pytest.mark.parametrize(("apart", "samples"), [(HOUR, 14), (HOUR / 2, 21), (0.0, 44)])
@given(old=values, new=values)
def test_real_change_is_taken_in_within_the_stated_number_of_samples(
    apart: float, samples: int, old: float, new: float
) -> None:
    settled = fed([old] * 20)
    changed = fed([new] * samples, apart, settled)
    assert abs(changed.mean - new) <= 0.1 * abs(old - new) + 1e-9


@given(base=values, share=st.floats(0, 0.5), count=st.integers(20, 60))
def test_spread_of_a_restless_metric_is_known(base: float, share: float, count: int) -> None:
    restless = fed(base * (1 + (share if number % 2 else -share)) for number in range(2 * count))
    assert restless.mean == pytest.approx(base, rel=0.25 * share + 1e-9)
    assert restless.sigma == pytest.approx(base * share, rel=0.25, abs=1e-4 * base)


@pytest.mark.parametrize("sample", [-1.0, nan, inf])
def test_sample_that_cannot_be_is_refused(sample: float) -> None:
    with pytest.raises(ValueError, match=f"sample: {sample}; must be"):
        integrate(None, sample, 0.0)


def test_window_and_reference_that_cannot_be_are_refused() -> None:
    with pytest.raises(ValueError, match="window: 0; must be a whole number, 1 or more"):
        integrate(None, 1.0, 0.0, window=0)
    with pytest.raises(ValueError, match="reference_seconds: 0; must be a finite number of seconds above 0"):
        integrate(None, 1.0, 0.0, reference_seconds=0)
