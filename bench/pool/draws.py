"""Transfers of a week, drawn from a seed: by day more than by night, some of which wait for a price."""

from dataclasses import dataclass
from math import cos, pi
from random import Random

WEEK_SECONDS = 7 * 86400.0
TENANTS = 50
# GB (10^9 bytes): half of them have less than the median, and their mean is 1.65 times that.
MEDIAN_GB, SIGMA = 30.0, 1.0
PATIENT_ONE_IN = 10
PATIENCE_SECONDS = 6 * 3600.0


@dataclass(frozen=True)
class Asked:
    """A transfer: asked for at so many seconds from Monday's midnight, by whom, MB, and whether it awaits a price."""

    name: str
    tenant: str
    at: float
    size_mb: float
    is_patient: bool


def busy(second: float) -> float:
    """How likely a transfer comes in a moment of the week, from 0 to 1: most at 14 o'clock, a third at weekends."""
    day, of_day = divmod(second / 86400.0, 1.0)
    daily = 0.55 - 0.45 * cos(2 * pi * (of_day - 2 / 24))
    return daily * (1.0 if day < 5 else 1 / 3)


def week(random: Random, count: int, seconds: float = WEEK_SECONDS) -> list[Asked]:
    """So many transfers in order of time. Some tenants have ten times as many as others."""
    tenants = [f"tenant{number}" for number in range(TENANTS)]
    weights = [10.0 ** random.random() for _ in tenants]
    times: list[float] = []
    while len(times) < count:
        at = random.uniform(0, seconds)
        if random.random() < busy(at):
            times.append(at)
    return [
        Asked(
            f"t{number}",
            random.choices(tenants, weights)[0],
            at,
            1000.0 * MEDIAN_GB * random.lognormvariate(0, SIGMA),
            random.randrange(PATIENT_ONE_IN) == 0,
        )
        for number, at in enumerate(sorted(times))
    ]
