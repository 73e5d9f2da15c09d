"""Weighted sample integration beside the last sample and the plain mean, as GEO-DMS' Figure 4."""

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from lambdas.core.estimate.history import REFERENCE_SECONDS, WINDOW, integrate

SEED = 2014
SAMPLES = 120
AHEAD = 30
"""Of a recorded trace the real value is the mean of so many samples that follow: a transfer outlasts a sample. The
result depends on it: the shorter, the better the last sample is."""
RECORDED = Path(__file__).with_name("traces") / "competing-load.json"


@dataclass(frozen=True)
class Trace:
    """Samples in MB/s, and the real value that a prediction made before each should have given."""

    samples: Sequence[float]
    real: Sequence[float]


def synthetic(seed: int = SEED) -> dict[str, Trace]:
    """Traces around 100 MB/s whose real value is known."""
    dice = random.Random(seed)

    def around(real: Sequence[float], spread: float, glitches: float = 0.0) -> Trace:
        samples = [
            dice.uniform(10, 40) if dice.random() < glitches else max(1.0, dice.gauss(mean, spread)) for mean in real
        ]
        return Trace(samples, real)

    level = [100.0] * SAMPLES
    return {
        "stable": around(level, 3),
        "noisy": around(level, 30),
        "outliers": around(level, 3, glitches=0.1),
        "step": around([100.0] * (SAMPLES // 2) + [50.0] * (SAMPLES // 2), 3),
    }


def recorded(ahead: int = AHEAD) -> Trace:
    """A rate measured each second while other streams came and went; the file says how it was made."""
    samples = json.loads(RECORDED.read_text())["samplesMBps"]
    count = len(samples) - ahead
    return Trace(samples[:count], [fmean(samples[at : at + ahead]) for at in range(count)])


def last_sample(samples: Sequence[float]) -> list[float]:
    """What the sample before each predicts; all predictions begin with the second sample."""
    return list(samples[:-1])


def plain_mean(samples: Sequence[float]) -> list[float]:
    """What the mean of the last `WINDOW` samples predicts."""
    return [fmean(samples[max(0, at - WINDOW) : at]) for at in range(1, len(samples))]


def weighted(samples: Sequence[float]) -> list[float]:
    """What our history predicts, with one sample per reference interval."""
    history, means = None, []
    for number, sample in enumerate(samples[:-1]):
        history = integrate(history, sample, number * REFERENCE_SECONDS)
        means.append(history.mean)
    return means


STRATEGIES: Mapping[str, Callable[[Sequence[float]], list[float]]] = {
    "last sample": last_sample,
    "plain mean": plain_mean,
    "weighted": weighted,
}


def errors(trace: Trace) -> dict[str, float]:
    """Mean of |prediction - real| / real per strategy, percent."""
    return {
        name: 100 * fmean(abs(p - real) / real for p, real in zip(predict(trace.samples), trace.real[1:], strict=True))
        for name, predict in STRATEGIES.items()
    }
