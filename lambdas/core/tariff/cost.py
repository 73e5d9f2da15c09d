"""What relays and egress cost, dollars; seconds, bytes, dollars per hour and per GB (10^9 bytes)."""

from enum import Enum
from math import ceil, isfinite

from lambdas.core.models.checks import not_negative
from lambdas.core.tariff.prices import MINIMUM_BILLED_SECONDS


class Billing(Enum):
    """How an instance's time is rounded up (4.2.5): to blocks of `block` seconds, `least` seconds at least."""

    PER_SECOND = ("per second", 1, MINIMUM_BILLED_SECONDS)
    """EC2's own, Linux on demand."""
    PER_MINUTE = ("per minute", 60, 60.0)
    PER_HOUR = ("per hour", 3600, 3600.0)

    def __init__(self, label: str, block: int, least: float) -> None:
        self.label = label
        self.block = block
        self.least = least


def billed_seconds(seconds: float, billing: Billing = Billing.PER_SECOND) -> float:
    """What is paid for one instance that runs for `seconds`; without end if they are."""
    not_negative("seconds", seconds, "seconds")
    blocks = ceil(seconds / billing.block) if isfinite(seconds) else seconds
    return max(blocks * billing.block, billing.least)


def relays(count: int, seconds: float, hour_usd: float, billing: Billing = Billing.PER_SECOND) -> float:
    """Eq. 3.7's T · n · C_v; n = 2p."""
    not_negative("count", count, "instances")
    not_negative("hour_usd", hour_usd, "dollars per hour")
    return count * billed_seconds(seconds, billing) * hour_usd / 3600 if count else 0.0


def worth(seconds: float, usd_per_hour: float) -> float:
    """Dollars that so much time is worth."""
    return seconds / 3600 * usd_per_hour


def egress(size_bytes: float, usd_per_gb: float) -> float:
    """C_seq = s · C_eg (Eq. 3.5)."""
    not_negative("size_bytes", size_bytes, "bytes")
    not_negative("usd_per_gb", usd_per_gb, "dollars per GB")
    return size_bytes / 1e9 * usd_per_gb


def transfer(
    size_bytes: float,
    pairs: int,
    seconds: float,
    hour_usd: float,
    usd_per_gb: float,
    billing: Billing = Billing.PER_SECOND,
) -> float:
    """Eq. 3.6 and 3.7: both relays of every pair run as long as the transfer."""
    return relays(2 * pairs, seconds, hour_usd, billing) + egress(size_bytes, usd_per_gb)


def pre_test(pairs: int, seconds: float, hour_usd: float) -> float:
    """Eq. 4.2's extra: 2p more relays, up for `seconds` until the lower half is terminated.

    With `transfer` for T + T_pt it makes n · C_v · (T + 2 · T_pt) + C_seq.
    """
    return relays(2 * pairs, seconds, hour_usd)
