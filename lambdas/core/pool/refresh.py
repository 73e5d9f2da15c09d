"""Limits of leases, told anew after each division: small changes are left alone, and less is told before more.

A node may be late, cut off, or dead. What a lease may still be forwarding (`held`) comes down only once its node has
said that it follows a lower limit, or the higher one has ended. Nothing is given to others before that, so the limits
that are in force never exceed a bound together, whoever hears what. MB/s, Unix seconds.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import floor, fsum
from typing import Annotated

from pydantic import Field

from lambdas.core.documents import Document
from lambdas.core.pool.pool_node import LeaseLimit
from lambdas.core.pool.tenant import MegabytesPerSecond

# Refreshes come each minute; two of them may be missing before nodes fall back to their guarantees.
LIMIT_SECONDS = 180.0
RENEWED_AFTER_SECONDS = 50.0
# Between the clocks of a node and of a function, and until what was under way has passed.
FELT_SECONDS = 5.0
# A change is a write, and some seconds of a smaller sum.
LEFT_ALONE = 0.10
# Changes that are left alone may add up: no more than that of what is wanted stays unused for them.
UNUSED = 0.05
# MB/s; less than that is nothing.
_LEAST = 1e-3


class ToldLimit(Document):
    """What one lease was told, and what it may still forward.

    `held_until`: then the limits that were higher have ended, and `left` is what they leave: the guarantee of a node
    that has heard nothing since, kept until it says that it follows. None where nothing is held beyond the limit.
    """

    limit: LeaseLimit
    at: float
    guarantee_mb_s: MegabytesPerSecond = Field(default=0.0, alias="guaranteeMBps")
    held: Annotated[float, Field(ge=0)]
    held_until: float | None = None
    left: Annotated[float, Field(ge=0)] = 0.0


@dataclass(frozen=True)
class Wanted:
    """What a lease should have: its rate, its part of a guarantee, and the bounds that it is under, at least one.

    `bounds`: names; a node's capacity, a tenant's limit over all of its leases.
    """

    mb_s: float
    bounds: tuple[str, ...]
    guarantee: float = 0.0


@dataclass(frozen=True)
class Refreshed:
    """Limits to tell now, by lease, and what is still owed to leases when others follow less (`after`, MB/s).

    `state`: to keep until the next refresh; a lease that has ended is in it as long as it may still forward.
    """

    now: dict[str, LeaseLimit]
    after: dict[str, float]
    state: dict[str, ToldLimit]


def refreshed(
    state: Mapping[str, ToldLimit],
    followed: Mapping[str, int],
    wanted: Mapping[str, Wanted],
    bounds: Mapping[str, float],
    now: float,
    ended: Mapping[str, tuple[str, ...]] | None = None,
) -> Refreshed:
    """Return the limits that may be told now.

    `followed`: the number of the limit that each node says it applies, by lease. `bounds`: MB/s by name. `ended`: the
    bounds of leases that are not wanted any more and whose daemons may still run; others that are not wanted are
    forgotten. Raises KeyError for a bound that has no capacity.
    """
    leaving = {name: Wanted(0.0, over) for name, over in (ended or {}).items() if name in state and name not in wanted}
    every = {**wanted, **leaving}
    seen = {name: _seen(told, followed.get(name, 0), now) for name, told in state.items() if name in every}
    targets = _settled(seen, every, bounds)
    given = _given(targets, seen, every, bounds)
    kept, told = {}, {}
    for name, mb_s in given.items():
        renewed = _renewed(seen.get(name), mb_s, every[name].guarantee, now)
        if name in leaving and renewed.held == 0:
            continue
        kept[name] = renewed
        if name not in state or renewed.limit != state[name].limit:
            told[name] = renewed.limit
    owed = {name: target for name, target in targets.items() if target > given[name] + _LEAST}
    return Refreshed(told, owed, kept)


def _seen(told: ToldLimit, followed: int, now: float) -> ToldLimit:
    """With what the node is known to apply by now."""
    if followed >= told.limit.number:
        return told.model_copy(update={"held": told.limit.mb_s, "held_until": None, "left": 0.0})
    if told.held_until is not None and now >= told.held_until:
        return told.model_copy(update={"held": max(told.limit.mb_s, told.left), "held_until": None})
    return told


def _settled(
    seen: Mapping[str, ToldLimit], wanted: Mapping[str, Wanted], bounds: Mapping[str, float]
) -> dict[str, float]:
    """What each lease is to have: its old limit where the new one is nearly the same, and where all bounds bear it."""
    targets = {name: one.mb_s for name, one in wanted.items()}
    alike = {
        name
        for name, told in seen.items()
        if 0 < abs(told.limit.mb_s - targets[name]) < LEFT_ALONE * told.limit.mb_s
        and not told.limit.mb_s < min(wanted[name].guarantee, targets[name])
    }
    kept = {name: seen[name].limit.mb_s if name in alike else target for name, target in targets.items()}
    sums, wishes = _sums(kept, wanted), _sums(targets, wanted)
    over = {bound for bound, total in sums.items() if total > bounds[bound]}
    under = {bound for bound, total in sums.items() if total < (1 - UNUSED) * wishes[bound]}
    for name in alike:
        is_less = targets[name] < kept[name]
        if not (over if is_less else under).isdisjoint(wanted[name].bounds):
            kept[name] = targets[name]
    return kept


def _given(
    targets: Mapping[str, float],
    seen: Mapping[str, ToldLimit],
    wanted: Mapping[str, Wanted],
    bounds: Mapping[str, float],
) -> dict[str, float]:
    """What each may be told at once: all that is less, and more as far as nobody may still be forwarding it.

    Where there is too little for all that are to have more, each has the same part of what it lacks.
    """
    held = {name: seen[name].held if name in seen else 0.0 for name in targets}
    more = {name: target - held[name] for name, target in targets.items() if target > held[name]}
    free = {bound: bounds[bound] - total for bound, total in _sums(held, wanted).items()}
    lacking = _sums(more, wanted)
    parts = {bound: min(1.0, max(0.0, free[bound]) / lack) for bound, lack in lacking.items() if lack > 0}
    given = dict(targets)
    for name, extra in more.items():
        part = min((parts[bound] for bound in wanted[name].bounds), default=1.0)
        given[name] = targets[name] if part == 1.0 else held[name] + _down(extra * part)
    return given


def _sums(rates: Mapping[str, float], wanted: Mapping[str, Wanted]) -> dict[str, float]:
    rows: dict[str, list[float]] = {}
    for name, rate in rates.items():
        for bound in wanted[name].bounds:
            rows.setdefault(bound, []).append(rate)
    return {bound: fsum(row) for bound, row in rows.items()}


def _down(mb_s: float) -> float:
    """Rounded so that the sum of all stays below the bound."""
    return floor(mb_s * 1000) / 1000


def _renewed(known: ToldLimit | None, mb_s: float, guarantee: float, now: float) -> ToldLimit:
    until = now + LIMIT_SECONDS
    if known is None:
        limit = LeaseLimit(number=1, mb_s=mb_s, until=until)
        return ToldLimit(limit=limit, at=now, guarantee_mb_s=guarantee, held=mb_s)
    is_due = now - known.at >= RENEWED_AFTER_SECONDS
    if mb_s == known.limit.mb_s and guarantee == known.guarantee_mb_s and not is_due:
        return known
    less = mb_s < known.held
    ends = known.limit.until + FELT_SECONDS
    return ToldLimit(
        limit=LeaseLimit(number=known.limit.number + 1, mb_s=mb_s, until=until),
        at=now,
        guarantee_mb_s=guarantee,
        held=max(known.held, mb_s),
        held_until=max(ends, known.held_until or ends) if less else None,
        # A node that never hears of this limit falls back to its guarantee, within the limit that it has.
        left=max(known.left, min(known.limit.mb_s, known.guarantee_mb_s)),
    )
