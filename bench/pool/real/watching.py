"""What users get of the pool while their transfers run, in bytes that arrive at their machines."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from bench.pool.real.counting import Samples, moved
from bench.pool.real.site import Site, User, rest
from tests.e2e.files import make_files

# Of a packet of 1 500 bytes, with those that Ethernet adds; the nodes' caps count packets.
DATA_OF_PACKETS = 1448 / 1514
SETTLED_SECONDS, WATCHED_SECONDS = 15.0, 40.0
# Over less than that, a queue that empties looks like a rate.
WINDOW_SECONDS = 10.0
REFRESH_SECONDS = 60.0


@dataclass(frozen=True)
class Part:
    """A user's transfer, of a tenant or of nobody; with `relays` by other relays than the pool's, of which it has so
    many.
    """

    user: User
    name: str
    tenant: str = ""
    relays: Mapping[str, Any] | None = None
    count: int | None = None

    @property
    def more(self) -> dict[str, Any]:
        """What its request says beside the usual."""
        return {} if self.relays is None else {"relays": dict(self.relays)}


@dataclass(frozen=True)
class Watched:
    """What arrived, by transfer; `begin` to `end`: the seconds that count, by the monotonic clock."""

    samples: Mapping[str, Samples]
    begin: float
    end: float

    def rate(self, name: str, begin: float | None = None, end: float | None = None) -> float:
        """MB/s of one transfer."""
        since, until = begin or self.begin, end or self.end
        return moved(self.samples[name], since, until) / (until - since)

    def rates(self) -> list[float]:
        """MB/s of each."""
        return [self.rate(name) for name in self.samples]

    def variation(self, name: str, window: float = WINDOW_SECONDS / 4) -> float:
        """Coefficient of variation of one transfer's rate, from window to window."""
        count = int((self.end - self.begin) / window)
        begins = [self.begin + window * number for number in range(count)]
        rates = [self.rate(name, begin, begin + window) for begin in begins]
        return stdev(rates) / fmean(rates)

    def least_sum(self) -> float:
        """MB/s of all together in the window that has least."""
        sums, begin = [], self.begin
        while begin + WINDOW_SECONDS <= self.end:
            sums.append(sum(self.rate(name, begin, begin + WINDOW_SECONDS) for name in self.samples))
            begin += 1.0
        return min(sums)


def jain(rates: Sequence[float]) -> float:
    """1 where all have the same, 1 / n where one has everything."""
    return sum(rates) ** 2 / (len(rates) * sum(rate**2 for rate in rates))


def data_mb_s(place: Site) -> float:
    """MB/s of data that the nodes carry."""
    return place.layout.capacity * DATA_OF_PACKETS


def source_of(place: Site, seconds: float) -> Path:
    """A tree that a lone user takes so long to move."""
    return make_files(place.work / "set", small=1, large_bytes=int(1e6 * place.layout.capacity * seconds))


def watched(
    place: Site, parts: Sequence[Part], source: Path, settled: float, seconds: float, *, closed: bool = True
) -> Watched:
    """Start transfers at once, watch them once all relays take part and some seconds have gone by, and end them.

    `closed`: from when all take part, nothing comes past the relays.
    """
    users = [part.user for part in parts]
    with place.counter(users) as counter:
        arns = [place.start(part.user, part.name, source, part.tenant, **part.more) for part in parts]
        begin = max(place.await_joined([part.name], part.count) for part in parts) + settled
        place.close(users, closed=closed)
        rest(begin + seconds)
    place.close(users, closed=False)
    place.cancel(arns)
    return Watched({part.name: counter.samples[part.user.name] for part in parts}, begin, begin + seconds)
