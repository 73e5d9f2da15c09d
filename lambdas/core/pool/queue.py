"""The order in which transfers that wait get relays of the pool: class, then use by weight, then age.

    key = (class, (use(now) + admitted before) / weight, asked at),   use(now) = use · 2^(−seconds / half-life)

The use is bytes that a tenant's transfers sent through the pool. What is admitted before a transfer in the same order
counts as used, so a tenant with a hundred transfers does not get all of its turns at once. Nobody waits for a first
byte: the direct path carries meanwhile. Times are Unix seconds.
"""

from bisect import insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from math import exp2
from typing import Annotated, Literal

from pydantic import Field

from lambdas.core.documents import Document

HALF_LIFE_SECONDS = 3600.0
Class = Literal["urgent", "normal", "background"]
RANKS: dict[Class, int] = {"urgent": 0, "normal": 1, "background": 2}


class Use(Document):
    """Bytes that a tenant has sent through the pool, as they counted `at`."""

    sent: Annotated[float, Field(ge=0)] = Field(default=0.0, alias="bytes")
    at: float

    def counted(self, now: float) -> float:
        """Bytes as they count now; a time before `at` is taken for `at`."""
        return self.sent * exp2(-max(now - self.at, 0.0) / HALF_LIFE_SECONDS)

    def plus(self, sent: float, now: float) -> "Use":
        """With bytes that were sent just now."""
        return Use(sent=self.counted(now) + sent, at=max(now, self.at))


@dataclass(frozen=True)
class Waiting:
    """A transfer that waits: how much it wants to send, bytes, and how long that is expected to take."""

    transfer: str
    tenant: str
    asked_at: float
    size: float
    seconds: float
    rank: Class = "normal"


@dataclass(frozen=True)
class Terms:
    """A tenant's weight, and how many of its transfers may have relays at once; None: any number."""

    weight: float = 1.0
    active: int | None = None


def ordered(
    waiting: Sequence[Waiting], uses: Mapping[str, Use], terms: Mapping[str, Terms], now: float
) -> list[Waiting]:
    """Return those who wait in the order of their turns. Raises KeyError for a tenant without terms."""
    found: list[Waiting] = []
    admitted: dict[str, float] = {}
    for rank in sorted({RANKS[one.rank] for one in waiting}):
        lines: dict[str, list[Waiting]] = {}
        for one in sorted(waiting, key=lambda one: (one.asked_at, one.transfer), reverse=True):
            if RANKS[one.rank] == rank:
                lines.setdefault(one.tenant, []).append(one)
        counted = {name: uses[name].counted(now) if name in uses else 0.0 for name in lines}
        weights = {name: terms[name].weight for name in lines}

        def key(name: str) -> tuple[float, float, str]:
            used = counted[name] + admitted.get(name, 0.0)  # noqa: B023 - called within the round alone
            return used / weights[name], lines[name][-1].asked_at, name  # noqa: B023

        heads = [key(name) for name in lines]
        heapify(heads)
        while heads:
            name = heappop(heads)[-1]
            one = lines[name].pop()
            found.append(one)
            admitted[name] = admitted.get(name, 0.0) + one.size
            if lines[name]:
                heappush(heads, key(name))
    return found


def admitted_now(
    turns: Sequence[Waiting], free: int, active: Mapping[str, int], terms: Mapping[str, Terms]
) -> list[Waiting]:
    """Return those who may begin: the first for whom there is a lease and whose tenant has not its number active."""
    found: list[Waiting] = []
    counts = dict(active)
    for one in turns:
        if len(found) >= free:
            break
        most = terms[one.tenant].active
        if most is None or counts.get(one.tenant, 0) < most:
            found.append(one)
            counts[one.tenant] = counts.get(one.tenant, 0) + 1
    return found


@dataclass(frozen=True)
class Active:
    """A transfer that has relays, and when it is expected to end."""

    tenant: str
    ends_at: float


@dataclass(frozen=True)
class Forecast:
    """A place in the queue, from 1, and when the transfer is expected to begin."""

    position: int
    starts_at: float


def forecast(
    turns: Sequence[Waiting], active: Sequence[Active], most: int, terms: Mapping[str, Terms], now: float
) -> dict[str, Forecast]:
    """Return each one's position and start, by transfer, if all goes on as expected and nobody else comes.

    `most`: so many transfers can have relays at once, at least 1.
    """
    if most < 1:
        raise ValueError(f"most: {most}; must be a whole number of transfers, 1 or more")
    # When each place becomes free, in order.
    places = sorted([max(one.ends_at, now) for one in active] + [now] * (most - len(active)))[-most:]
    ends: dict[str, list[float]] = {}
    for running in active:
        insort(ends.setdefault(running.tenant, []), max(running.ends_at, now))
    found = {}
    for position, one in enumerate(turns, 1):
        own, limit = ends.setdefault(one.tenant, []), terms[one.tenant].active
        # Its tenant has fewer than its number active once all but so many of its transfers have ended.
        may_at = own[-limit] if limit is not None and len(own) >= limit else now
        start = max(places[0], may_at)
        # The place that was free for the shortest time before, so that the longer free ones stay for others.
        taken = max(index for index, at in enumerate(places) if at <= start)
        places.pop(taken)
        insort(places, start + one.seconds)
        insort(own, start + one.seconds)
        found[one.transfer] = Forecast(position, start)
    return found
