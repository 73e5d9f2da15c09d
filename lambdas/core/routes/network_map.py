"""The rates and prices between regions, as one relay at each side of a border has them; MB/s, US dollars per GB."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import inf, isfinite
from typing import Self

from lambdas.core.models import checks

STALE_SECONDS = 24 * 3600.0


@dataclass(frozen=True)
class Link:
    """One directed link between two regions.

    `rate`: MB/s that one relay at `origin` sends. `receive`: MB/s that one relay at `destination` takes, where its side
    differs; infinity says that it takes what one sender sends. `lent_sent`, `lent_received`: the same of the first
    relays of a side where these are machines of the user. `gain`: the share of its rate that each relay after the first
    adds. `sigma` and `at_seconds`: spread and Unix time of the samples behind the rate.
    """

    origin: str
    destination: str
    rate: float
    receive: float = inf
    gain: float = 1.0
    usd_per_gb: float = 0.0
    sigma: float = 0.0
    at_seconds: float | None = None
    lent_sent: tuple[float, ...] = ()
    lent_received: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        name = f"{self.origin} to {self.destination}"
        if self.origin == self.destination:
            raise ValueError(f"{name}: a link joins two regions")
        if not (isfinite(self.rate) and self.rate >= 0):
            raise ValueError(f"rate of {name}: {self.rate}; must be a finite number of MB/s, 0 or more")
        if not 0 < self.gain <= 1:
            raise ValueError(f"gain of {name}: {self.gain}; must be a share above 0, 1 at most")
        checks.not_negative(f"receive of {name}", self.receive, "MB/s")
        checks.not_negative(f"usd_per_gb of {name}", self.usd_per_gb, "dollars")
        checks.not_negative(f"sigma of {name}", self.sigma, "MB/s")
        for rate in (*self.lent_sent, *self.lent_received):
            checks.not_negative(f"rate of a lent relay, {name}", rate, "MB/s")

    @property
    def taken(self) -> float:
        """MB/s that one relay at `destination` takes."""
        return self.rate if self.receive == inf else self.receive

    @property
    def width(self) -> float:
        """MB/s of one relay at each side."""
        return min(self.rate, self.taken)

    def sent(self, relays: int) -> float:
        """MB/s that so many relays at `origin` send together."""
        return self._together(self.rate, self.lent_sent, relays)

    def received(self, relays: int) -> float:
        """MB/s that so many relays at `destination` take together; without any the receiver does, whatever comes."""
        return self._together(self.taken, self.lent_received, relays) if relays else inf

    def carried(self, before: int, after: int) -> float:
        """MB/s between so many relays at either side."""
        return min(self.sent(before), self.received(after))

    def _together(self, rate: float, lent: tuple[float, ...], relays: int) -> float:
        """MB/s of so many relays of one side, lent ones first; all others carry `rate`."""
        if relays == 0:
            return 0.0
        others = (relays - len(lent)) * rate if relays > len(lent) else 0.0
        first = lent[0] if lent else rate
        return first + (sum(lent[:relays]) + others - first) * self.gain

    def expected(self, now: float) -> Self:
        """The link to plan with: without a sample of the last 24 hours it counts with a sigma less."""
        if self.at_seconds is not None and now - self.at_seconds <= STALE_SECONDS:
            return self
        return replace(
            self, rate=max(self.rate - self.sigma, 0.0), receive=max(self.receive - self.sigma, 0.0), sigma=0.0
        )


@dataclass(frozen=True)
class NetworkMap(Mapping[tuple[str, str], Link]):
    """Links by (origin, destination). `inside`: MB/s between one relay and the end in its region, where that limits."""

    by_pair: Mapping[tuple[str, str], Link]
    inside: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, links: Iterable[Link], inside: Mapping[str, float] | None = None) -> Self:
        """A map of these links; the last one of a pair counts."""
        return cls({(link.origin, link.destination): link for link in links}, inside or {})

    def __getitem__(self, pair: tuple[str, str]) -> Link:
        return self.by_pair[pair]

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self.by_pair)

    def __len__(self) -> int:
        return len(self.by_pair)

    def link(self, origin: str, destination: str) -> Link:
        """The link from one region to another; raises LookupError where none is known."""
        try:
            return self.by_pair[origin, destination]
        except KeyError:
            raise LookupError(f"no link from {origin} to {destination} is on the map") from None

    @property
    def regions(self) -> list[str]:
        """Every region that a link touches, by name."""
        return sorted({region for pair in self.by_pair for region in pair})

    def at_end(self, region: str, relays: int) -> float:
        """MB/s between so many relays and the end in their region; without any the end is joined directly."""
        return self.inside.get(region, inf) * relays if relays else inf

    def expected(self, now: float) -> Self:
        """The map to plan with at a moment (Unix seconds)."""
        return replace(self, by_pair={pair: link.expected(now) for pair, link in self.by_pair.items()})

    def among(self, regions: Iterable[str]) -> Self:
        """The links between some of the regions."""
        kept = set(regions)
        return replace(self, by_pair={pair: link for pair, link in self.by_pair.items() if kept.issuperset(pair)})
