"""A month of a pool in three sums: what was charged, what the machines cost by use, and what they cost idle.

A span of a node's life costs what its machine costs. Of that, each tenant has the part that its bytes are of what the
node could have carried; the rest is idle. So shares + idle = what the machines cost, to the micro-dollar. What is
charged follows the price and not the cost: the difference is shown, also where it is negative.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import floor, fsum

from lambdas.core.models.checks import not_negative

MICRO = 1_000_000


@dataclass(frozen=True)
class Span:
    """Some time of the pool's machines: dollars, MB that they could carry, and MB that each tenant sent through."""

    cost_usd: float
    capacity_mb: float
    sent_mb: Mapping[str, float]

    def __post_init__(self) -> None:
        not_negative("cost_usd", self.cost_usd, "dollars")
        not_negative("capacity_mb", self.capacity_mb, "MB")
        for tenant, sent in self.sent_mb.items():
            not_negative(f"sent_mb.{tenant}", sent, "MB")

    @property
    def shares(self) -> dict[str, float]:
        """Dollars by tenant. Machines that carried more than was counted on are all theirs, and none is idle."""
        whole = max(self.capacity_mb, fsum(self.sent_mb.values()))
        return {tenant: self.cost_usd * sent / whole if whole > 0 else 0.0 for tenant, sent in self.sent_mb.items()}


@dataclass(frozen=True)
class Month:
    """Whole micro-dollars: charged and shared by tenant, and idle."""

    charged: dict[str, int]
    shared: dict[str, int]
    idle: int

    @property
    def cost(self) -> int:
        """What the machines cost."""
        return sum(self.shared.values()) + self.idle

    @property
    def margin(self) -> int:
        """Charged over cost; below 0 where the pool cost more than it charged."""
        return sum(self.charged.values()) - self.cost


def month(spans: Iterable[Span], charges: Iterable[tuple[str, float]]) -> Month:
    """Sum up; `charges`: tenant and dollars of each transfer. What is rounded away goes to the largest remainders."""
    costs: list[float] = []
    parts: dict[str, list[float]] = {}
    for span in spans:
        costs.append(span.cost_usd)
        for tenant, usd in span.shares.items():
            parts.setdefault(tenant, []).append(usd)
    return summed(fsum(costs), {tenant: fsum(usd) for tenant, usd in parts.items()}, charges)


def summed(cost_usd: float, shares: Mapping[str, float], charges: Iterable[tuple[str, float]]) -> Month:
    """The same of spans whose cost and shares (dollars by tenant) are summed up already."""
    charged: dict[str, list[float]] = {}
    for tenant, usd in charges:
        not_negative(f"charges.{tenant}", usd, "dollars")
        charged.setdefault(tenant, []).append(usd)
    cost = round(cost_usd * MICRO)
    exact = {tenant: usd * MICRO for tenant, usd in shares.items()}
    shared, idle = _whole(exact, cost)
    return Month({tenant: round(fsum(usd) * MICRO) for tenant, usd in sorted(charged.items())}, shared, idle)


def _whole(exact: Mapping[str, float], total: int) -> tuple[dict[str, int], int]:
    """Whole numbers near these and near what they leave of the total, which add up to it."""
    names = [*sorted(exact), ""]
    values = [*(exact[name] for name in names[:-1]), max(total - fsum(exact.values()), 0.0)]
    found = [floor(value) for value in values]
    by_remainder = sorted(range(len(names)), key=lambda at: (found[at] - values[at], at))
    missing = total - sum(found)
    for step in range(abs(missing)):
        at = by_remainder[step % len(names)] if missing > 0 else by_remainder[-1 - step % len(names)]
        found[at] += 1 if missing > 0 else -1
    return dict(zip(names[:-1], found[:-1], strict=True)), found[-1]
