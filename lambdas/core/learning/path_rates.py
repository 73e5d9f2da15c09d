"""What each path carried in each second, and whether the ends held it back."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from math import ceil
from statistics import fmean, median, pstdev

from lambdas.core.fleet.membership import DIRECT
from lambdas.core.learning.arrivals import Arrivals

BYTES_PER_MB = 1e6
WARM_UP_SECONDS = 1.0
"""A path's first second tells little: TCP opens its window, and a cap lets a burst pass."""
RUN_OUT_SECONDS = 2.0
"""Before the queue is empty: slow paths leave the last chunks to fast ones, so the sum falls."""
LEAST_SECONDS = 3
NOISE = 0.07
"""Two measurements of the same thing differ by less; a sum that lacks more than this share was held back."""

STEADY = 0.04
"""Full ends send the same each second; where the sums spread by more (σ over mean), they do not arrive so evenly."""

Rates = dict[str, float]
Windows = dict[frozenset[str], list[Rates]]


def windows(
    arrivals: Arrivals,
    limit: float,
    run_out_seconds: float = RUN_OUT_SECONDS,
    beside: Sequence[tuple[float, float]] = (),
) -> Windows:
    """Rates in MB/s of whole seconds in which no path began and none runs dry, by the set of paths in use.

    Seconds in which the paths reached `limit`, MB/s in all, tell only what the request allowed. With `run_out_seconds`
    of 0 some paths may run dry in the last of them. `beside`: when other transfers used the same ends (Unix s, from and
    until); what they left says nothing.
    """
    found: Windows = {}
    if not arrivals.begun or arrivals.drained is None:
        return found
    for second in range(ceil(min(arrivals.begun.values()) + WARM_UP_SECONDS), int(arrivals.drained - run_out_seconds)):
        if any(second - WARM_UP_SECONDS < at < second + 1 for at in arrivals.begun.values()):
            continue
        if any(since < second + 1 and second < until for since, until in beside):
            continue
        every = {path: arrivals.per_second.get((second, path), 0.0) / BYTES_PER_MB for path in arrivals.begun}
        rates = {path: rate for path, rate in every.items() if rate > 0}
        if rates and sum(rates.values()) < limit * (1 - NOISE):
            found.setdefault(frozenset(rates), []).append(rates)
    return found


@dataclass(frozen=True)
class Expected:
    """What is known beforehand, MB/s: paths measured by themselves, likely rates of others, and min(V_src, V_dst).

    `passed`: the most that the ends were ever seen to move, whether that was their limit or not.
    """

    own: Mapping[str, float]
    likely: Mapping[str, float] = field(default_factory=dict)
    ends: float | None = None
    passed: float = 0.0


@dataclass
class Judgement:
    """Seconds in which every path had its own rate (`free`), and those in which the ends held them back (`held`).

    `bounded`: nobody can tell which of the two, since several paths were new. Each carried so much at least, and with
    paths that can do more the ends were full.
    `delayed`: the ends held them back, but relays took in what arrived later, so only the mean of these seconds is what
    the ends send. `most`: MB/s of all paths together in the best free window.
    """

    free: list[Rates] = field(default_factory=list)
    held: list[Rates] = field(default_factory=list)
    delayed: list[Rates] = field(default_factory=list)
    bounded: list[Rates] = field(default_factory=list)
    most: float = 0.0

    @property
    def suspected(self) -> float | None:
        """MB/s at which the ends may have been full: the most that passed, where that was in `bounded` seconds."""
        found = median(sum(rates.values()) for rates in self.bounded) if self.bounded else 0.0
        return found if found and found >= (1 - NOISE) * self.most else None


def judge(found: Windows, expected: Expected, to_the_end: Windows | None = None) -> Judgement:
    """Windows of several paths, each as a whole; those of under `LEAST_SECONDS` are left out.

    Fewer paths come first: what they do unhindered tells when more of them are held back. Where paths have too few
    seconds, those `to_the_end` may still show that the ends are full: no path runs dry while all together are steady.
    """
    own, at_least = dict(expected.own), dict[str, float]()
    judgement = Judgement(most=own.get(DIRECT, 0.0))
    sums = {paths: _sum(seconds) for paths, seconds in found.items() if len(seconds) >= LEAST_SECONDS}
    passed = max([*sums.values(), expected.passed, expected.ends or 0.0])
    for paths, seconds in sorted(found.items(), key=lambda item: (len(item[0]), sorted(item[0]))):
        if len(seconds) < LEAST_SECONDS:
            continue
        total = sums[paths]
        every = {**expected.likely, **at_least, **own}
        known = {path: every[path] for path in paths & every.keys()}
        if _lacks(seconds, known) or _meets(total, expected.ends):
            # Ends that carried more before are not what holds back now.
            if _steady(seconds):
                judgement.held += seconds if total > (1 - NOISE) * judgement.most else []
            elif _delayed(seconds, known) and _mean(seconds) > (1 - NOISE) * judgement.most:
                judgement.delayed += seconds
            continue
        judgement.most = max(judgement.most, total)
        rates_of_new = [median(rates[path] for rates in seconds) for path in paths - {DIRECT, *expected.likely, *own}]
        has_known = bool(paths & ({*expected.likely, *own} - {DIRECT}))
        if not (has_known or total < (1 - NOISE) * passed or _in_proportion(rates_of_new, own.get(DIRECT))):
            judgement.bounded += seconds
            at_least |= {path: median(rates[path] for rates in seconds) for path in paths - own.keys()}
            continue
        judgement.free += seconds
        for path in paths:
            own.setdefault(path, median(rates[path] for rates in seconds))
    for paths, seconds in (to_the_end or {}).items():
        if len(found.get(paths, ())) < LEAST_SECONDS <= len(seconds) and _steady(seconds):
            lacking = _lacks(seconds, {path: own[path] for path in paths & own.keys()})
            judgement.held += seconds if lacking and _mean(seconds) > (1 - NOISE) * judgement.most else []
    return judgement


def _in_proportion(rates_of_new: list[float], direct: float | None) -> bool:
    """Whether several new paths each add what the direct path does, so that no end can have been full.

    One alone adds what it can: `LEAST_SECONDS` of it are what a pre-test would find.
    """
    return len(rates_of_new) < 2 or (direct is not None and abs(fmean(rates_of_new) - direct) <= NOISE * direct)


def _sum(seconds: list[Rates]) -> float:
    return median(sum(rates.values()) for rates in seconds)


def _steady(seconds: list[Rates]) -> bool:
    sums = [sum(rates.values()) for rates in seconds]
    return pstdev(sums) <= STEADY * fmean(sums)


def _delayed(seconds: list[Rates], known: Mapping[str, float]) -> bool:
    """Whether bytes that full ends sent arrived unevenly, since relays filled their buffers first.

    What arrives is never ahead of what was sent, so a network that was faster first and then fell is told apart; and
    it still lacks at the end, so one that was slower first is too.
    """
    sums = [sum(rates.values()) for rates in seconds]
    ahead = any(got > (1 + NOISE) * count * fmean(sums) for count, got in enumerate(accumulate(sums), 1))
    lacking = _lacks_on(fmean, seconds, known) and _lacks_on(fmean, seconds[-1:], known)
    return bool(known) and lacking and not ahead


def _lacks(seconds: list[Rates], known: Mapping[str, float]) -> bool:
    return _lacks_on(median, seconds, known)


def _lacks_on(average: Callable[[Iterable[float]], float], seconds: list[Rates], known: Mapping[str, float]) -> bool:
    together = average(sum(rates[path] for path in known) for rates in seconds)
    return together < (1 - NOISE) * sum(known.values())


def _mean(seconds: list[Rates]) -> float:
    return fmean(sum(rates.values()) for rates in seconds)


def _meets(total: float, ends: float | None) -> bool:
    return ends is not None and abs(total - ends) <= NOISE * ends
