"""A month of one region's pool as looks count it: what its machines cost, what they carried for whom, what was idle."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Annotated

from pydantic import Field

from lambdas.core.documents import Count, Document, Region, TransferId
from lambdas.core.pool.demand import BYTES_PER_MB, WAYS
from lambdas.core.pool.lease_share import lease_key
from lambdas.core.pool.month import Span
from lambdas.core.pool.pool_node import Lease, PoolNode
from lambdas.core.pool.queue import Use

HOUR_SECONDS = 3600.0
NonNegative = Annotated[float, Field(ge=0)]
Month = Annotated[str, Field(pattern=r"^\d{4}-(0[1-9]|1[0-2])$")]


class MonthAccount(Document):
    """Sums since the month's first look. `until`: so far it is counted. `moved`: bytes of leases at that moment.

    `shares`: dollars by tenant of what the machines cost. `sent`: MB by tenant. `node_seconds`: of all machines.
    """

    region: Region
    month: Month
    until: float
    cost_usd: NonNegative = 0.0
    shares: dict[str, NonNegative] = Field(default_factory=dict)
    sent: dict[str, NonNegative] = Field(default_factory=dict, alias="sentMB")
    node_seconds: NonNegative = 0.0
    moved: dict[str, Count] = Field(default_factory=dict)
    uses: dict[str, Use] = Field(default_factory=dict)
    """Bytes by tenant as they count in the queue, where half of them is forgotten each hour."""

    def after(
        self, nodes: Iterable[PoolNode], leases: Iterable[Lease], vm_usd_per_hour: float, now: float
    ) -> "MonthAccount":
        """With the time until `now`. What a node counts late comes with the next look.

        `nodes`: those that have ended since the last look included. `leases`: all that are still known.
        """
        every, known = list(nodes), list(leases)
        seconds = sum(_lived(node, node.requested_at, self.until, now) for node in every)
        # Who boots costs and carries nothing.
        ready = ((node, node.ready_at) for node in every if node.ready_at is not None)
        could = sum(_lived(node, since, self.until, now) * node.capacity_mb_s for node, since in ready)
        sent: dict[str, float] = {}
        for lease in known:
            more = max(lease.bytes - self.moved.get(lease_key(lease), 0), 0) / WAYS / BYTES_PER_MB
            sent[lease.tenant] = sent.get(lease.tenant, 0.0) + more
        span = Span(seconds / HOUR_SECONDS * vm_usd_per_hour, could, {name: mb for name, mb in sent.items() if mb})
        return self.model_copy(
            update={
                "until": max(now, self.until),
                "cost_usd": self.cost_usd + span.cost_usd,
                "shares": _plus(self.shares, span.shares),
                "sent": _plus(self.sent, span.sent_mb),
                "node_seconds": self.node_seconds + seconds,
                "uses": {
                    **self.uses,
                    **{name: _use(self.uses.get(name), mb, now) for name, mb in span.sent_mb.items()},
                },
                "moved": {lease_key(lease): lease.bytes for lease in known},
            }
        )

    def begin(self, month: str) -> "MonthAccount":
        """The account of the month that follows, or of the first one: nothing is counted twice."""
        return MonthAccount(region=self.region, month=month, until=self.until, moved=self.moved, uses=self.uses)


class PoolCharge(Document):
    """What one execution has paid for the pool; `at`: of its report. `usd`: of the transfer's own price.

    `sent_bytes`: through the pool. `energy_wh`: of all of the transfer's machines, as its report assumes it.
    """

    transfer_id: TransferId
    execution: str
    tenant: str
    at: float
    usd: NonNegative
    sent_bytes: Count
    energy_wh: NonNegative = 0.0


def month_of(at: float) -> str:
    """The month of a moment (Unix, s), in UTC: `2026-12`."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m")


def _lived(node: PoolNode, since: float, after: float, now: float) -> float:
    """Seconds of a node's life from `since` on that lie between two looks."""
    return max(min(node.ended_at or now, now) - max(since, after), 0.0)


def _use(before: Use | None, mb: float, now: float) -> Use:
    return (before or Use(at=now)).plus(mb * BYTES_PER_MB, now)


def _plus(one: Mapping[str, float], other: Mapping[str, float]) -> dict[str, float]:
    return {name: one.get(name, 0.0) + other.get(name, 0.0) for name in sorted({*one, *other})}
