"""Figures of paths that nobody has measured, and of ends whose limit nothing has certainly met; MB/s.

What AWS publishes is of a machine. It bounds a path between regions from above, and is no expectation of it.
"""

from collections.abc import Sequence
from math import sqrt
from statistics import median

from lambdas.core.estimate import measured
from lambdas.core.estimate.figures import Burst, Figure
from lambdas.core.estimate.profile import Profile

LEAST_PATH = 15.0
"""The slowest path between regions of the dissertation's measurements, that of a t2.small."""
PATHS_DIFFER = 4.0
"""A path may carry so many times less than another one. The dissertation's lay between 15 and 60."""


def path(published: Figure, others: Sequence[Figure] = ()) -> Figure:
    """The direct path of machines; `others`: what is known of other paths, whatever their machines and regions.

    What others carry at first is expected; without them the geometric mean of the bounds, which differ by up to 200
    times. A figure that has bounds already, as that of an "up to" type, keeps them.
    """
    seen = median(other.now for other in others) if others else None
    least = min([other.least_now for other in others], default=LEAST_PATH * PATHS_DIFFER) / PATHS_DIFFER
    note = f"{published.note}, of the machine; {'as other paths' if others else 'no path of it was measured'}"
    if published.burst:
        rate = published.burst.rate
        value = rate.value if seen is None else min(max(seen, rate.least), rate.greatest)
        burst = Burst(rate=rate.model_copy(update={"value": value}), credit=published.burst.credit)
        return published.model_copy(update={"burst": burst})
    if published.is_open:
        value = published.value if seen is None else min(max(seen, published.least), published.greatest)
        return published.model_copy(update={"value": value})
    high = published.value
    low = min(LEAST_PATH if seen is None else least, high)
    value = min(sqrt(low * high) if seen is None else seen, high)
    return Figure(value=value, low=min(low, value), high=high, origin=published.origin, note=note)


def pair(published: Figure, direct: Figure, at_least: Figure | None = None, share: float = 1.0) -> Figure:
    """What a pair of relays carries: as the direct path does, as far as the relays can, until one has served.

    `at_least`: what pairs carried where full ends may have held them back; `share`: of what is published, so much is
    expected of any path.
    """
    note = f"{published.note}; as the direct path until one has served"
    bound = at_least.value if at_least else 0.0
    at_first, lasting = (
        min(max(min(rate * share, direct.now), bound), published.most) for rate in (published.now, published.value)
    )
    low = min(bound or min(published.least_now, direct.least_now / PATHS_DIFFER), at_first)
    if at_least:
        note = f"{note}; {bound:.4g} MB/s and more were seen to pass ({at_least.note})"
    rate = Figure(value=at_first, low=low, high=max(published.most, at_first), origin=published.origin_now, note=note)
    if published.burst is None or lasting >= at_first:
        return rate
    least_lasting = min(published.least, lasting)
    return Figure(
        value=lasting,
        low=min(least_lasting, low),
        burst=Burst(rate=rate, credit=published.burst.credit),
        origin=published.origin,
        note=note,
    )


def ends(machines: Profile | None, in_all: Figure) -> Figure:
    """V where ends may have been full as several new pairs served: expected is what passed then, until more has."""
    seen = measured.figure(machines, "endsSuspected", "all paths of these two machines, which may have been full")
    passed = machines.known("endsAtLeast") if machines else None
    if seen is None or (passed and passed.value > seen.greatest) or seen.value >= in_all.most:
        return in_all
    rate = seen.model_copy(update={"high": in_all.most, "origin": "published"})
    if in_all.burst and seen.value > in_all.value:
        return in_all.model_copy(update={"burst": Burst(rate=rate, credit=in_all.burst.credit)})
    return rate
