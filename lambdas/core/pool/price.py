"""What the pool's service costs its users: TaaS's Equation 1, with the sign of its upper bound corrected.

    end to end            t_E2E · 2C
    relays of their own   t_UMR · (2 + N) · C
    service               t_CTS · 2C + t_CTS · svc
    t_E2E = a · t_UMR = b · t_CTS,   t_CTS = c · t_UMR
    2C(b − 1) ≤ svc ≤ C(2 + N − 2c) / c

C: dollars of a VM per second; N: VMs that a user would launch beside both ends. Below the range the service is cheaper
than two VMs alone, above it dearer than relays of one's own. The paper prints + 2c, which follows from neither.
"""

from dataclasses import dataclass
from typing import Literal

from lambdas.core.models.checks import not_negative, positive

MB_PER_GB = 1000.0
Begin = Literal["begin", "wait", "overdue"]


@dataclass(frozen=True)
class Gains:
    """How many times as long a transfer takes: `a` end to end, and `c` by the service, over relays of one's own.

    The paper's are from N-Central US to N Europe, on 5 nodes.
    """

    a: float = 3.0
    c: float = 1.2

    def __post_init__(self) -> None:
        positive("a", self.a, "times")
        positive("c", self.c, "times")

    @property
    def b(self) -> float:
        """How many times as long it takes end to end as by the service (2.5 in the paper)."""
        return self.a / self.c


@dataclass(frozen=True)
class PriceRange:
    """Dollars per second of the service, for one transfer.

    `is_empty`: no price is good for both sides; `high` is `low` then.
    """

    low: float
    high: float
    is_empty: bool

    def at(self, use: float) -> float:
        """The price while this part of the pool's capacity is used, from 0 to 1."""
        if not 0 <= use <= 1:
            raise ValueError(f"use: {use}; must be a part of the capacity, from 0 to 1")
        return self.low + (self.high - self.low) * use


# Rounding makes one point of the range at N = 4 a range of less than nothing.
_ROUNDED = 1e-12


def price_range(vm_usd_per_second: float, extra_vms: float, gains: Gains | None = None) -> PriceRange:
    """Equation 1's range; the lower bound alone where it is empty, as with the printed gains below N = 4.

    `gains`: the paper's, if nothing was measured. A service that is no faster than two VMs alone is worth nothing: the
    lower bound is 0 then.
    """
    not_negative("vm_usd_per_second", vm_usd_per_second, "dollars a second")
    not_negative("extra_vms", extra_vms, "VMs")
    used = gains or Gains()
    low = max(2.0 * (used.b - 1.0), 0.0)
    high = (2.0 + extra_vms - 2.0 * used.c) / used.c
    is_empty = high < low * (1 - _ROUNDED)
    return PriceRange(vm_usd_per_second * low, vm_usd_per_second * max(low, high), is_empty)


def usd_per_gb(usd_per_second: float, rate_mb_s: float) -> float:
    """Dollars per GB (10^9 bytes) of what costs so much per second, at a rate of MB/s (Figure 12)."""
    positive("rate_mb_s", rate_mb_s, "MB/s")
    return usd_per_second * MB_PER_GB / rate_mb_s


def unified_usd_per_gb(usd_per_second: float, rate_mb_s: float, outbound_usd_per_gb: float) -> float:
    """Dollars per GB of service and outbound traffic together (Figure 13)."""
    not_negative("outbound_usd_per_gb", outbound_usd_per_gb, "dollars per GB")
    return usd_per_gb(usd_per_second, rate_mb_s) + outbound_usd_per_gb


@dataclass(frozen=True)
class PriceWish:
    """What a request says: begin at this price (dollars per GB of the service) or below, at the latest at `start_by`.

    Unix seconds. It is a wish about when, and no bound on dollars: that is the request's budget.
    """

    most_usd_per_gb: float
    start_by: float

    def __post_init__(self) -> None:
        not_negative("maxUsdPerGB", self.most_usd_per_gb, "dollars per GB")


def begins(wish: PriceWish | None, usd: float, now: float, seconds_until_first_byte: float = 0.0) -> Begin:
    """Whether a transfer begins at a price of so many dollars per GB; a price once begun with stays to its end.

    "overdue": its time has come at a higher price than it asked for. It begins all the same, through the pool or on a
    row that is cheaper, and the report says so.
    """
    if wish is None or usd <= wish.most_usd_per_gb:
        return "begin"
    return "overdue" if now >= wish.start_by - seconds_until_first_byte else "wait"
