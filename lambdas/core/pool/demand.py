"""What a lease could use, from what it has used: who does not take what it is given leaves the rest to others."""

from lambdas.core.pool.lease_share import LeaseShare
from lambdas.core.pool.pool_node import Lease

# Nodes count bytes each ten seconds, so over fewer seconds than these a rate says little.
LEAST_SECONDS = 30.0
# A lease that listens joins its transfer some seconds later, and the first count says what went until then.
FIRST_SECONDS = 45.0
# At so much of its limit a lease may be held back by it: counts are late by ten seconds of these thirty at most.
FULL = 0.65
# Who uses less may use somewhat more at the next look.
ROOM = 1.5
# Whoever stands still is to begin again: with 1 MB/s, and on small nodes with less, or what the leases of a slow end
# leave unused would add up.
LEAST_MB_S = 1.0
LEAST_OF_NODE = 0.01
# A relay counts a byte as it comes and as it goes.
WAYS = 2
BYTES_PER_MB = 1_000_000


def counted(before: LeaseShare, lease: Lease, capacity_mb_s: float, now: float) -> LeaseShare:
    """What is known after the bytes that the lease has moved; as before where it is too early to tell anything new.

    `capacity_mb_s`: of its node.
    """
    if lease.listening_at is None:
        return before.model_copy(update={"counted_at": now})
    since = max(before.counted_at, lease.listening_at)
    seconds = now - since
    if seconds < (LEAST_SECONDS if before.moved else FIRST_SECONDS):
        return before
    mb_s = max(lease.bytes - before.moved, 0) / WAYS / BYTES_PER_MB / seconds
    is_held_back = mb_s >= FULL * before.told.limit.mb_s
    demand = None if is_held_back else max(ROOM * mb_s, min(LEAST_MB_S, LEAST_OF_NODE * capacity_mb_s))
    return before.model_copy(update={"demand_mb_s": demand, "moved": lease.bytes, "counted_at": now})
