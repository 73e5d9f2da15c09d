"""Weighted sample integration: one metric's mean and spread, refined by every sample (GEO-DMS, Eq. 1-4).

A sample far from a steady mean is probably a glitch and counts little; where the metric varies it counts more; after
a long silence it counts more. Values in the metric's own unit (MB/s, seconds), times in seconds of one clock.
"""

from dataclasses import dataclass
from math import exp, inf, isfinite, sqrt

from lambdas.core.models.checks import at_least_one, not_negative, positive

WINDOW = 5
"""h, samples: a settled mean goes at least a tenth of the way to a sample that comes `REFERENCE_SECONDS` after the
last, at most a fifth to any; nine tenths of a lasting change are taken in after 14 such samples, or 44 at once."""
REFERENCE_SECONDS = 3600.0
"""T: transfers that follow each other within an hour meet much the same network, so each of them counts less."""
LEAST_WEIGHT = 0.1
"""Without it samples in quick succession could never move a mean that never varied."""
LEAST_SPREAD = 0.05
"""σ in Eq. 4 is this share of the mean at least: two measurements of an unchanged link differ by a few percent."""


@dataclass(frozen=True)
class History:
    """What is kept of a metric: mean (μ), second moment (γ), how many samples, and when the last came (seconds).

    `longest_seconds`: of all samples of a rate, the longest time for which one was measured at a stretch. `weight`: the
    sum of the samples' weights, `measurements`: how many values they were made of; None where each was one, in full.
    """

    mean: float
    second_moment: float
    samples: int
    at_seconds: float
    longest_seconds: float = 0.0
    weight: float | None = None
    measurements: int | None = None

    @property
    def sigma(self) -> float:
        """Standard deviation (Eq. 2); 0 after one sample."""
        return sqrt(max(self.second_moment - self.mean * self.mean, 0.0))


@dataclass(frozen=True)
class Event:
    """What one transfer has shown of a metric: the mean of `count` values that differed by `sigma`, in its unit.

    However many values it is made of, it is one sample: what they have in common, the next transfer may not have.
    `weight`: how much it tells, from 0 to 1. `lasted_seconds`: for so long a rate was measured.
    """

    mean: float
    sigma: float = 0.0
    count: int = 1
    weight: float = 1.0
    lasted_seconds: float = 0.0


def weight(history: History, sample: float, at_seconds: float, reference_seconds: float = REFERENCE_SECONDS) -> float:
    """Eq. 4: the trust in a sample, from `LEAST_WEIGHT` to 1.

    The paper's 1 - tf/T is taken as the silence since the last sample in units of T, at most 1.
    """
    silence = min(1.0, max(0.0, at_seconds - history.at_seconds) / reference_seconds)
    spread = max(history.sigma, LEAST_SPREAD * history.mean)
    # A metric that was always 0 has no scale: only another 0 is near it.
    off = (history.mean - sample) / spread if spread else (0.0 if sample == history.mean else inf)
    return max(LEAST_WEIGHT, (exp(-off * off / 2) + silence) / 2)


def integrate(
    history: History | None,
    sample: float | Event,
    at_seconds: float,
    *,
    window: int = WINDOW,
    reference_seconds: float = REFERENCE_SECONDS,
    lasted_seconds: float = 0.0,
) -> History:
    """Eq. 1 and 3 (whose printed weights are swapped); the first sample is the mean.

    The first `window` samples teach: each counts by its own weight alone, so the mean is theirs. A sample that arrives
    late counts as if it came with the last one. Raises ValueError for a sample that is negative or not finite, or
    weighs nothing.
    """
    event = sample if isinstance(sample, Event) else Event(sample, lasted_seconds=lasted_seconds)
    not_negative("sample", event.mean, "the metric's unit")
    if not isfinite(event.mean):
        raise ValueError(f"sample: {event.mean}; must be finite")
    positive("weight", event.weight, "of a sample")
    at_least_one("window", window)
    positive("reference_seconds", reference_seconds, "seconds")
    moment = event.mean * event.mean + event.sigma * event.sigma
    is_whole = event.weight == 1.0 and event.count == 1
    if history is None:
        kept = (None, None) if is_whole else (event.weight, event.count)
        return History(event.mean, moment, 1, at_seconds, event.lasted_seconds, *kept)
    before = float(history.samples) if history.weight is None else history.weight
    trust = 1.0 if before < window else weight(history, event.mean, at_seconds, reference_seconds)
    share = trust * event.weight / min(window, before + event.weight)
    values = history.measurements or history.samples
    in_full = is_whole and history.weight is None and history.measurements is None
    return History(
        mean=history.mean + share * (event.mean - history.mean),
        second_moment=history.second_moment + share * (moment - history.second_moment),
        samples=history.samples + 1,
        at_seconds=max(at_seconds, history.at_seconds),
        longest_seconds=max(event.lasted_seconds, history.longest_seconds),
        weight=None if in_full else before + event.weight,
        measurements=None if in_full else values + event.count,
    )
