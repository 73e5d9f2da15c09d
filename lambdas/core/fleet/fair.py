"""A rate that several want is shared fairly: nobody has more than they need while another one lacks some of theirs."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

# Mbit/s; less than that is nothing.
_LEAST = 1e-6


@dataclass(frozen=True)
class Claim:
    """A wish for a rate, infinite where it takes whatever there is, under all of these limits, at least one."""

    need: float
    limits: tuple[str, ...]


def fair(claims: Mapping[str, Claim], capacity: Mapping[str, float]) -> dict[str, float]:
    """Return each one's share: all grow alike until a need is met or a limit is used up, and the others grow on.

    That is max-min fairness, by progressive filling.
    """
    shares, left = dict.fromkeys(claims, 0.0), {limit: max(amount, 0.0) for limit, amount in capacity.items()}
    growing = {name for name, claim in claims.items() if claim.need > _LEAST}
    while growing := {name for name in growing if all(left[limit] > _LEAST for limit in claims[name].limits)}:
        users = Counter(limit for name in growing for limit in claims[name].limits)
        step = min(
            min(claims[name].need - shares[name] for name in growing),
            min(left[limit] / count for limit, count in users.items()),
        )
        for name in growing:
            shares[name] += step
        for limit, count in users.items():
            left[limit] -= step * count
        growing = {name for name in growing if claims[name].need - shares[name] > _LEAST}
    return shares
