"""The time from start to report: what is learnt of it, and how sure that is."""

from random import Random
from statistics import NormalDist

import pytest

from lambdas.core.estimate.profile import Metric, Profile
from lambdas.core.estimate.whole_time import PRIOR_SAMPLES, at_most, whole_time


def after(samples: dict[Metric, list[float]]) -> Profile:
    profile = Profile()
    for metric, values in samples.items():
        for number, value in enumerate(values):
            profile = profile.refined(metric, value, 86_400.0 * number)
    return profile


def test_without_a_history_the_measured_table_is_the_prior() -> None:
    time = whole_time(None).of(1000.0)
    assert time.mean == pytest.approx(10 + 4 + 15 + 1000)
    # 90 % of the estimates were within 8.6 %, so 95 % are not more than that too short; the stages add little.
    assert at_most(whole_time(None).accuracy, 0.95) == pytest.approx(1.086, abs=1e-4)
    assert at_most(time, 0.9) == pytest.approx(1029 + 1.2816 * (52.28**2 + 3**2 + 2**2 + 5**2) ** 0.5, abs=0.1)


def test_a_survey_that_is_past_is_no_longer_uncertain() -> None:
    assert whole_time(None, 42.0).around.mean == pytest.approx(42 + 4 + 15)
    assert whole_time(None, 42.0).around.variance == pytest.approx(2**2 + 5**2)


def test_what_transfers_showed_takes_the_place_of_the_prior() -> None:
    steady = whole_time(after({"closing": [60.0] * 30, "accuracy": [1.1] * 30}))
    assert steady.of(1000.0).mean == pytest.approx(10 + 4 + 60 + 1100, rel=0.02)
    few = whole_time(after({"closing": [60.0] * PRIOR_SAMPLES}))
    assert few.around.mean == pytest.approx(10 + 4 + (15 + 60) / 2)
    # The prior and what was seen lie far apart, and neither has been confirmed.
    assert few.around.stdev > 20


@pytest.mark.parametrize("confidence", [0.8, 0.9, 0.99])
def test_learnt_margin_holds_as_often_as_is_said(confidence: float) -> None:
    random = Random(7)
    errors = [random.gauss(1.04, 0.12) for _ in range(400)]
    margin = at_most(whole_time(after({"accuracy": errors[:100]}), 0.0).accuracy, confidence)
    kept = sum(error <= margin for error in errors[100:]) / 300
    # The history remembers some ten transfers: its spread is itself uncertain by a quarter.
    assert kept == pytest.approx(confidence, abs=0.08)


def test_more_confidence_needs_more_time() -> None:
    times = [at_most(NormalDist(100.0, 10.0), confidence) for confidence in (0.5, 0.9, 0.99)]
    assert times == pytest.approx([100.0, 112.8, 123.3], abs=0.1)


def test_a_range_that_is_wide_is_part_of_the_margin() -> None:
    known, unknown = whole_time(None, 0.0).of(1000.0), whole_time(None, 0.0).of(1000.0, 3000.0)
    assert known.mean == unknown.mean
    # The worse bound counts as one that 95 % are within.
    assert at_most(unknown, 0.95) == pytest.approx(3000 + 19, rel=0.01)
    assert at_most(known, 0.95) < 1110
