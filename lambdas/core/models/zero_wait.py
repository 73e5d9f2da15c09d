"""Zero wait: the direct path carries data from the first second, and each relay joins when it is ready.

Units: MB, MB/s, seconds. Paths and ends may burst: a token bucket lets more than the lasting rate pass until its credit
is used up. The time is exact for any schedule: between two events (a path joins or leaves, a bucket runs empty) all
rates are constant.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum, inf

from lambdas.core.models.checks import not_negative, positive_or_unlimited


@dataclass(frozen=True)
class Limit:
    """What passes in all: `rate` MB/s for ever, `burst` MB/s until `credit` MB beyond the rate are used up.

    Credit comes back at `rate`, as far as that is not used, and never exceeds `credit`.
    """

    rate: float
    burst: float = 0.0
    credit: float = 0.0

    def __post_init__(self) -> None:
        not_negative("rate", self.rate, "MB/s")
        not_negative("burst", self.burst, "MB/s")
        not_negative("credit", self.credit, "MB")

    def allows(self, left: float) -> float:
        """MB/s that may pass while `left` MB of credit are there."""
        return max(self.rate, self.burst) if left > 0 else self.rate

    def mean(self, seconds: float) -> float:
        """MB/s over so many seconds, from a whole credit on."""
        most = self.allows(self.credit)
        return min(most, self.rate + self.credit / seconds) if 0 < seconds < inf else most


@dataclass(frozen=True)
class Serving:
    """A path that carries up to `rate` MB/s (0: it is blocked) from `joins` to `leaves`, seconds after the start.

    `burst` and `credit` are those of `Limit`; the credit is whole when the path joins.
    """

    rate: float
    joins: float = 0.0
    leaves: float = inf
    burst: float = 0.0
    credit: float = 0.0

    def __post_init__(self) -> None:
        not_negative("joins", self.joins, "seconds")
        if not self.leaves >= self.joins:
            raise ValueError(f"leaves: {self.leaves}; must not be before joins, {self.joins} seconds")
        _ = self.limit  # refuses what cannot be

    @property
    def limit(self) -> Limit:
        """What passes while the path serves."""
        return Limit(self.rate, self.burst, self.credit)


def rate_at(second: float, paths: Iterable[Serving], source: float, destination: float) -> float:
    """Zero-wait rate of paths and ends that do not burst: the joined paths together, held by either end."""
    # fsum rounds once: the order of the paths cannot show in the result.
    return min(source, destination, fsum(path.rate for path in paths if path.joins <= second < path.leaves))


def zero_wait(
    size: float,
    paths: Iterable[Serving],
    source: float | Limit,
    destination: float | Limit = inf,
    *more: Limit,
    caps: Sequence[Serving] = (),
) -> float:
    """The t at which the integral of the rate reaches `size` MB; 0 for nothing to move, infinite if it never does.

    `source`, `destination` and `more` (disks, processors) hold all paths together, and so do `caps`, each of them from
    when it joins to when it leaves.
    """
    not_negative("size", size, "MB")
    ends = [_end("source", source), _end("destination", destination), *more]
    every = list(paths)
    buckets = _Buckets(ends, [path.limit for path in every])
    changes = sorted({0.0, *(t for one in (*every, *caps) for t in (one.joins, one.leaves) if 0 < t < inf)})
    left = size
    for start, end in zip(changes, [*changes[1:], inf], strict=True):
        joined = [index for index, path in enumerate(every) if path.joins <= start < path.leaves]
        most = min((cap.rate for cap in caps if cap.joins <= start < cap.leaves), default=inf)
        now = start
        while now < end:
            total, used = buckets.flow(joined, most)
            until = min(end, now + buckets.empty_after(total, used))
            if left <= total * (until - now):
                return now + (left / total if left else 0.0)
            if total > 0:
                left -= total * (until - now)
            buckets.spend(total, used, until - now, to_empty=until < end)
            now = until
    return inf if left > 0 else 0.0


def _end(name: str, given: float | Limit) -> Limit:
    positive_or_unlimited(name, given.rate if isinstance(given, Limit) else given, "MB/s")
    return given if isinstance(given, Limit) else Limit(given)


class _Buckets:
    """Credit that is left of ends and paths, MB, and how a rate is shared among them.

    While the ends hold the paths back, each path keeps its lasting rate, or its share of it, and what is beyond is
    shared as the paths could burst. So a bucket that has run empty stays empty until less than its rate passes: between
    two changes of the schedule each runs empty once at most.
    """

    def __init__(self, ends: Sequence[Limit], paths: Sequence[Limit]) -> None:
        self._ends, self._paths = ends, paths
        self._of_ends = [end.credit for end in ends]
        self._of_paths = [path.credit for path in paths]

    def flow(self, joined: Sequence[int], cap: float) -> tuple[float, Mapping[int, float]]:
        """MB/s in all, at most `cap`, and of each of the joined paths."""
        most = {index: self._paths[index].allows(self._of_paths[index]) for index in joined}
        ends = min(cap, *(end.allows(left) for end, left in zip(self._ends, self._of_ends, strict=True)))
        whole = fsum(most.values())
        if whole <= ends:
            return whole, most
        lasting = fsum(self._paths[index].rate for index in joined)
        if ends <= lasting:
            return ends, {index: self._paths[index].rate * (ends / lasting) for index in joined}
        share = (ends - lasting) / (whole - lasting)
        rates = {index: self._paths[index].rate for index in joined}
        return ends, {index: rates[index] + share * (most[index] - rates[index]) for index in joined}

    def empty_after(self, total: float, used: Mapping[int, float]) -> float:
        """Seconds until the first bucket runs empty; infinite where none does."""
        times = [
            left / (total - end.rate)
            for end, left in zip(self._ends, self._of_ends, strict=True)
            if left > 0 and total > end.rate
        ]
        times += [
            self._of_paths[index] / (rate - self._paths[index].rate)
            for index, rate in used.items()
            if self._of_paths[index] > 0 and rate > self._paths[index].rate
        ]
        return min(times, default=inf)

    def spend(self, total: float, used: Mapping[int, float], seconds: float, *, to_empty: bool) -> None:
        """Let so many seconds pass; `to_empty`: they ended because a bucket ran empty, which rounding must not undo."""
        first = self.empty_after(total, used) if to_empty else inf
        self._of_ends = [
            _left(end, left, total, seconds, first) for end, left in zip(self._ends, self._of_ends, strict=True)
        ]
        for index, rate in used.items():
            self._of_paths[index] = _left(self._paths[index], self._of_paths[index], rate, seconds, first)


def _left(limit: Limit, left: float, used: float, seconds: float, first: float) -> float:
    """MB of credit after `seconds` in which `used` MB/s passed; none where it is the first bucket to run empty."""
    if limit.credit == 0 or limit.rate == used:
        return left
    if left > 0 and used > limit.rate and left / (used - limit.rate) <= first < inf:
        return 0.0
    return min(limit.credit, max(0.0, left + (limit.rate - used) * seconds))
