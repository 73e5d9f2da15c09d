"""Shares of a pool's capacity: guarantee, weight and limit as one function of a level that is the same for all.

    B_i(f) = g_i · min(1, f) + w_i · max(0, f − 1),   share_i = min(top_i, B_i(f)),   Σ share_i = capacity

Bandwidth functions are BwE's (Kumar et al., SIGCOMM 2015). Up to level 1 the guarantees are filled, all by the same
part; what lies above is divided by weight. `top_i` is the demand, or the limit if that is lower.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import accumulate
from math import fsum, inf

from lambdas.core.models.checks import not_negative


@dataclass(frozen=True, slots=True)
class Claim:
    """What somebody may have of a capacity; MB/s.

    `demand` and `limit` may be infinite. A weight of 0 takes the guarantee and nothing beside it.
    """

    demand: float = inf
    weight: float = 1.0
    guarantee: float = 0.0
    limit: float = inf

    def __post_init__(self) -> None:
        for name, value in (("guarantee", self.guarantee), ("weight", self.weight)):
            if not 0 <= value < inf:
                raise ValueError(f"{name}: {value}; must be a finite number, 0 or more")
        for name, value in (("demand", self.demand), ("limit", self.limit)):
            if not value >= 0:
                raise ValueError(f"{name}: {value}; must be 0 MB/s or more, or infinite")

    @property
    def top(self) -> float:
        """The most that it can be given, MB/s."""
        most = min(self.demand, self.limit)
        return most if self.weight > 0 else min(most, self.guarantee)

    @property
    def full_at(self) -> float:
        """The level from which on it has its top; infinite where there is none."""
        top = self.top
        if top <= self.guarantee:
            return top / self.guarantee if self.guarantee > 0 else 0.0
        return 1.0 + (top - self.guarantee) / self.weight

    def at(self, level: float) -> float:
        """Its share at a level, MB/s."""
        if level == inf:
            return self.top
        return min(self.top, self.guarantee * min(1.0, level) + self.weight * max(0.0, level - 1.0))


@dataclass(frozen=True)
class Division:
    """Shares by name, MB/s, and the level that they are taken at.

    `level`: below 1 it is the part of their guarantees that all have; infinite where everybody has their top.
    """

    level: float
    shares: dict[str, float]

    @property
    def total(self) -> float:
        """All shares together, MB/s."""
        return fsum(self.shares.values())


def divide(claims: Mapping[str, Claim], capacity: float) -> Division:
    """Divide a capacity, MB/s: nobody has more than their top, and nothing is left while somebody has less.

    Takes one sort and one pass, for any number of claims.
    """
    not_negative("capacity", capacity, "MB/s")
    level = _level(claims.values(), capacity)
    return Division(level, {name: claim.at(level) for name, claim in claims.items()})


def divide_among_tenants(
    tenants: Mapping[str, Claim], transfers: Mapping[str, Mapping[str, Claim]], capacity: float
) -> dict[str, dict[str, float]]:
    """Divide a capacity among tenants, then each tenant's share among its transfers: MB/s by tenant and transfer.

    Whoever cuts a transfer in two has no more by it. A tenant's demand is what its transfers can take. Raises KeyError
    for transfers of a tenant that is not among the tenants.
    """
    wishes = {}
    for name, own in transfers.items():
        claim = tenants[name]
        top = fsum(one.top for one in own.values())
        wishes[name] = Claim(min(claim.demand, top), claim.weight, claim.guarantee, claim.limit)
    given = divide(wishes, capacity).shares
    return {name: divide(own, given[name]).shares for name, own in transfers.items()}


def _level(claims: Iterable[Claim], capacity: float) -> float:
    """The level at which the shares add up to the capacity; infinite if all of them together are no more than that."""
    ordered = sorted((claim.full_at, claim.top, claim.guarantee, claim.weight) for claim in claims)
    # Sums from either end, so that nothing is subtracted and nothing lost by rounding.
    filled = [0.0, *accumulate(top for _, top, _, _ in ordered)]
    guarantees = _from_the_end([guarantee for _, _, guarantee, _ in ordered])
    weights = _from_the_end([weight for _, _, _, weight in ordered])
    for index, (full_at, _, _, _) in enumerate(ordered):
        left, guarantee, weight = capacity - filled[index], guarantees[index], weights[index]
        if full_at > 1.0:
            # All guarantees of those that are not full fit, or the level lies below 1.
            if left <= guarantee:
                return max(left, 0.0) / guarantee if guarantee > 0 else 1.0
            if left < guarantee + weight * (full_at - 1.0):
                return 1.0 + (left - guarantee) / weight
        elif left < guarantee * full_at:
            return max(left, 0.0) / guarantee
    return inf


def _from_the_end(values: list[float]) -> list[float]:
    """Sums of each value and all after it."""
    return list(accumulate(reversed(values)))[::-1]
