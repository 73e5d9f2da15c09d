"""What relays and egress cost, dollars."""

from lambdas.core.prices import MINIMUM_BILLED_SECONDS


def billed_seconds(seconds: float) -> float:
    """4.2.5, per second with EC2's minimum of 60 s."""
    return max(seconds, MINIMUM_BILLED_SECONDS)


def relays(count: int, seconds: float, hour_usd: float) -> float:
    """Eq. 3.7's T · n · C_v with EC2's billing; n = 2p."""
    return count * billed_seconds(seconds) * hour_usd / 3600 if count else 0.0


def egress(size_bytes: float, usd_per_gb: float) -> float:
    """C_seq = s · C_eg (Eq. 3.6); GB = 10^9 bytes."""
    return size_bytes / 1e9 * usd_per_gb


def transfer(size_bytes: int, pairs: int, seconds: float, hour_usd: float, usd_per_gb: float) -> float:
    """Eq. 3.6 and 3.7: both relays of every pair run as long as the transfer."""
    return relays(2 * pairs, seconds, hour_usd) + egress(size_bytes, usd_per_gb)


def pre_test(pairs: int, seconds: float, hour_usd: float) -> float:
    """Eq. 4.2's extra: 2p more relays, up for `seconds` until the lower half is terminated."""
    return relays(2 * pairs, seconds, hour_usd)
