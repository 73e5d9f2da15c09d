"""The time from a transfer's start to its report: the stages around the data, and how far estimates have been off.

Both are learnt between two regions, from each transfer's end on; until then they are what was measured on emulated
networks. Seconds, as means with standard deviations.
"""

from dataclasses import dataclass
from statistics import NormalDist

from lambdas.core.estimate.profile import Metric, Profile

TRANSFERS = "transfers"
"""Subject of the profile about all transfers between two regions."""
PRIOR_SAMPLES = 3
"""So many transfers weigh as much as the prior."""
BOUND_SIGMAS = 1.645
"""A bound of what is not known counts as 95 %, so that 90 % lie between the two."""
_PRIORS: dict[Metric, NormalDist] = {
    # From the start to the estimate's end, then to the first byte (docs/design/023-first-byte.md): 9.7 and 3.4 s.
    "survey": NormalDist(10.0, 3.0),
    "planning": NormalDist(4.0, 2.0),
    # Digests compared, relays released, daemons stopped by two rounds of Run Command, the report.
    "closing": NormalDist(15.0, 5.0),
    # 90 % of the estimates were within 8.6 % (docs/design/006-estimate.md): 1.645 standard deviations.
    "accuracy": NormalDist(1.0, 0.086 / 1.645),
}


@dataclass(frozen=True)
class WholeTime:
    """`around`: all stages but that of the data, s; `accuracy`: measured over estimated data time."""

    around: NormalDist
    accuracy: NormalDist

    def of(self, seconds: float, worst: float = 0.0) -> NormalDist:
        """From start to report, for an estimate of the data time; `worst`: with all figures at their worse bounds."""
        unknown = max(worst - seconds, 0.0) / BOUND_SIGMAS
        return self.around + self.accuracy * seconds + NormalDist(0.0, unknown)


def whole_time(profile: Profile | None, elapsed_seconds: float | None = None) -> WholeTime:
    """What `profile` of `TRANSFERS` has taught; `elapsed_seconds`: since the start, where the survey is past."""
    survey = _known(profile, "survey") if elapsed_seconds is None else NormalDist(elapsed_seconds, 0.0)
    around = survey + _known(profile, "planning") + _known(profile, "closing")
    return WholeTime(around, _known(profile, "accuracy"))


def until_first_byte(profile: Profile | None) -> float:
    """Seconds from a transfer's start to its first byte, as expected."""
    return _known(profile, "survey").mean + _known(profile, "planning").mean


def at_most(time: NormalDist, confidence: float) -> float:
    """What `time` does not exceed with `confidence`, a share."""
    return time.mean + NormalDist().inv_cdf(confidence) * time.stdev


def _known(profile: Profile | None, metric: Metric) -> NormalDist:
    """The prior and what was measured, as one mixture: where they are far apart, nobody is sure."""
    prior, known = _PRIORS[metric], profile.known(metric) if profile else None
    if known is None:
        return prior
    share = known.samples / (known.samples + PRIOR_SAMPLES)
    mean = share * known.value + (1 - share) * prior.mean
    variance = share * (known.sigma**2 + (known.value - mean) ** 2)
    variance += (1 - share) * (prior.variance + (prior.mean - mean) ** 2)
    return NormalDist(mean, variance**0.5)
