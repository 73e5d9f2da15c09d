"""A limit over all transfers of a deployment, or over those of a label: who may send how much of it.

Each transfer has a lease of its share. What it may still be sending (`held`) comes down only once its senders have
said that they follow less, or what they followed has ended. Nothing is given to others before that, so what all may
send together is never more than the limit, whoever dies; a limit that is lowered is followed within seconds.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import floor, inf
from typing import Annotated

from pydantic import Field

from lambdas.core.documents import Count, Document
from lambdas.core.fleet.fair import Claim, fair
from lambdas.core.fleet.membership import LimitLease
from lambdas.core.request.bandwidth import Mbps

ALL = "all"
_OF_LABEL = "label:"
# Looks come every few seconds while a minute's function is at it; two minutes of them may be missing.
LEASE_SECONDS = 150.0
RENEWED_AFTER_SECONDS = 50.0
# Until a sender has read a record that was just written, and what it had begun has passed.
FELT_SECONDS = 5.0
# Whoever sends this part of their share takes more of it.
HUNGRY = 0.85
# Beside what is sent now: room to grow, and a part of an equal share for whoever sends nothing.
ROOM = 1.5
LEAST_PART = 0.02
# A transfer that has just begun may send as much as others do before anybody has seen what it needs.
NEW_SECONDS = 20.0
# Shares that differ by less stay as they are: each change is two writes and some seconds of a smaller sum.
SAME = 0.03


def scope_of(label: str | None) -> str:
    """The name of the limit over the transfers of a label; None: over all."""
    return ALL if label is None else f"{_OF_LABEL}{label}"


class Grant(Document):
    """The lease of one transfer, Mbit/s; Unix seconds.

    `at`: of this lease, `since`: of the first one. `held`: the most that its senders may still send; it becomes `mbps`
    once they say that they follow the membership `version`, in which the lease was seen. After `held_until` all that is
    left of older ones is `left`.
    """

    number: Annotated[int, Field(ge=1)]
    mbps: Annotated[float, Field(ge=0)]
    safe_mbps: Annotated[float, Field(ge=0)]
    at: Annotated[float, Field(ge=0)]
    since: Annotated[float, Field(ge=0)]
    held: Annotated[float, Field(ge=0)]
    held_until: float | None = None
    left: Annotated[float, Field(ge=0)] = 0.0
    version: Count | None = None
    rate: Annotated[float, Field(ge=0)] = 0.0
    """What it sent at the last look."""

    @property
    def lease(self) -> LimitLease:
        """As the sender reads it."""
        return LimitLease(number=self.number, mbps=self.mbps, safe_mbps=self.safe_mbps, seconds=LEASE_SECONDS)


@dataclass(frozen=True)
class Sharer:
    """One look at a transfer that moves; Mbit/s.

    `rate`: what it sends, None before its first byte. `own`: its own limit, infinite without. `lease`: the number of
    that in the membership of this `version`; `followed`: the version that all its senders say they follow.
    """

    label: str | None
    rate: float | None
    own: float
    version: int = 0
    lease: int | None = None
    followed: int | None = None


class CommonLimits(Document):
    """What is kept of all common limits of a deployment, as one item: each change is a version."""

    version: Count = 0
    limits: dict[str, Mbps] = Field(default_factory=dict)
    """Mbit/s by scope."""
    grants: dict[str, Grant] = Field(default_factory=dict)
    """By transfer."""

    def limited(self, scope: str, mbps: int | None) -> "CommonLimits":
        """With another limit over one scope; None: with none."""
        others = {name: limit for name, limit in self.limits.items() if name != scope}
        return self.model_copy(update={"limits": others if mbps is None else {**others, scope: mbps}})

    def over(self, label: str | None) -> tuple[str, ...]:
        """The limits that hold for a transfer."""
        return tuple(scope for scope in dict.fromkeys((ALL, scope_of(label))) if scope in self.limits)

    @property
    def next(self) -> "CommonLimits":
        """The next version of the item."""
        return self.model_copy(update={"version": self.version + 1})


def shared(
    state: CommonLimits, sharers: Mapping[str, Sharer], now: float, leaving: Collection[str] = ()
) -> CommonLimits:
    """Return the grants after one look; of transfers that are not among the `sharers` none stay but the `leaving` ones.

    Those are being taken down, and may still send.
    """
    under = {name: over for name, one in sharers.items() if (over := state.over(one.label))}
    seen = {name: _seen(grant, sharers[name], now) for name, grant in state.grants.items() if name in under}
    gone = {name: _expired(grant, now) for name, grant in state.grants.items() if name in leaving and name not in under}
    capacity = {scope: limit - sum(grant.held for grant in gone.values()) for scope, limit in state.limits.items()}
    wishes = _wishes(state, {name: sharers[name] for name in under}, under, seen, now)
    targets = _settled(fair_with_room(wishes, capacity, sharers), seen, under, capacity)
    given = _given(targets, seen, under, capacity)
    counts = {scope: sum(scope in over for over in under.values()) for scope in state.limits}
    grants = dict(gone)
    for name, mbps in given.items():
        # As if one more had come: whoever starts while nobody shares finds room.
        equal = min(state.limits[scope] / (counts[scope] + 1) for scope in under[name])
        grants[name] = _renewed(seen.get(name), _down(mbps), _down(min(mbps, equal)), sharers[name], now)
    return state.model_copy(update={"grants": grants})


def fair_with_room(
    wishes: Mapping[str, Claim], capacity: Mapping[str, float], sharers: Mapping[str, Sharer]
) -> dict[str, float]:
    """Fair shares of what is needed; what nobody needs is room to grow for all, up to their own limits."""
    needed = fair(wishes, capacity)
    left = {
        scope: amount - sum(share for name, share in needed.items() if scope in wishes[name].limits)
        for scope, amount in capacity.items()
    }
    room = {name: Claim(sharers[name].own - share, wishes[name].limits) for name, share in needed.items()}
    return {name: needed[name] + more for name, more in fair(room, left).items()}


def _wishes(
    state: CommonLimits,
    sharers: Mapping[str, Sharer],
    under: Mapping[str, tuple[str, ...]],
    grants: Mapping[str, Grant],
    now: float,
) -> dict[str, Claim]:
    found = {}
    for name, one in sharers.items():
        grant, limits = grants.get(name), under[name]
        least = LEAST_PART * min(state.limits[scope] for scope in limits) / len(sharers)
        sent = max(one.rate or 0.0, grant.rate if grant else 0.0)
        is_new = grant is None or now - grant.since < NEW_SECONDS
        takes_all = grant is not None and grant.mbps > 0 and sent >= HUNGRY * min(grant.mbps, one.own)
        need = inf if is_new or takes_all else max(ROOM * sent, least)
        found[name] = Claim(min(need, one.own), limits)
    return found


def _seen(grant: Grant, one: Sharer, now: float) -> Grant:
    """With what its senders are known to follow by now."""
    if grant.version is None and one.lease == grant.number:
        until = now + LEASE_SECONDS + FELT_SECONDS if grant.held > grant.mbps and grant.held_until is None else None
        grant = grant.model_copy(update={"version": one.version, "held_until": grant.held_until or until})
    if grant.version is not None and one.followed is not None and one.followed >= grant.version:
        return grant.model_copy(update={"held": grant.mbps, "held_until": None, "left": 0.0})
    return _expired(grant, now)


def _expired(grant: Grant, now: float) -> Grant:
    if grant.held_until is None or now < grant.held_until:
        return grant
    return grant.model_copy(update={"held": max(grant.mbps, grant.left), "held_until": None})


def _settled(
    targets: Mapping[str, float],
    grants: Mapping[str, Grant],
    under: Mapping[str, tuple[str, ...]],
    capacity: Mapping[str, float],
) -> Mapping[str, float]:
    """The shares that are there already, where all of them are nearly what they should be."""
    is_same = all(
        name in grants and abs(grants[name].mbps - target) <= SAME * max(target, 1.0)
        for name, target in targets.items()
    )
    kept = {name: grants[name].mbps for name in targets} if is_same else {}
    fits = all(
        sum(mbps for name, mbps in kept.items() if scope in under[name]) <= most for scope, most in capacity.items()
    )
    return kept if is_same and fits else targets


def _given(
    targets: Mapping[str, float],
    grants: Mapping[str, Grant],
    under: Mapping[str, tuple[str, ...]],
    capacity: Mapping[str, float],
) -> dict[str, float]:
    """Return what each may have at once: no more than what others may not still be sending."""
    held = {name: grants[name].held if name in grants else 0.0 for name in targets}
    free = {
        scope: amount - sum(held[name] for name in targets if scope in under[name])
        for scope, amount in capacity.items()
    }
    more = fair({name: Claim(target - held[name], under[name]) for name, target in targets.items()}, free)
    return {name: min(target, held[name] + more[name]) for name, target in targets.items()}


def _down(mbps: float) -> float:
    """Rounded so that the sum of all stays below the limit."""
    return floor(mbps * 1000 + 1e-6) / 1000


def _renewed(known: Grant | None, mbps: float, safe: float, one: Sharer, now: float) -> Grant:
    rate = one.rate or 0.0
    if known is None:
        return Grant(number=1, mbps=mbps, safe_mbps=safe, at=now, since=now, held=mbps, rate=rate)
    is_due = now - known.at >= RENEWED_AFTER_SECONDS
    if mbps == known.mbps and not is_due:
        return known.model_copy(update={"rate": rate})
    less = mbps < known.mbps
    return Grant(
        number=known.number + 1,
        mbps=mbps,
        safe_mbps=safe,
        at=now,
        since=known.since,
        held=max(known.held, mbps),
        # What is held by leases that end is counted from when the one that takes their place was seen.
        held_until=None if less else known.held_until,
        left=max(known.left, known.safe_mbps) if less or known.held > known.mbps else 0.0,
        rate=rate,
    )
