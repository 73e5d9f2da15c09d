"""What is kept of a lease from one division of its pool to the next."""

from typing import Annotated

from pydantic import Field

from lambdas.core.documents import Count, Document
from lambdas.core.pool.pool_node import Lease
from lambdas.core.pool.refresh import ToldLimit


class LeaseShare(Document):
    """`moved`: bytes both ways at `counted_at`. `demand_mb_s`: None is as much as it is given."""

    told: ToldLimit
    moved: Count = 0
    counted_at: float
    demand_mb_s: Annotated[float, Field(ge=0)] | None = Field(default=None, alias="demandMBps")

    @classmethod
    def of_new(cls, lease: Lease) -> "LeaseShare":
        """Of a lease that no division has seen: it may forward what it was given with."""
        told = ToldLimit(
            limit=lease.limit, at=lease.given_at, guarantee_mb_s=lease.guarantee_mb_s, held=lease.limit.mb_s
        )
        return cls(told=told, counted_at=lease.given_at)


def share_of(lease: Lease, shares: dict[str, LeaseShare]) -> LeaseShare:
    """What is kept of this lease; an earlier one of the same relay is another."""
    known = shares.get(lease_key(lease))
    return known if known and known.told.limit.number >= lease.limit.number else LeaseShare.of_new(lease)


def lease_key(lease: Lease) -> str:
    """Names a lease in its region: a transfer has one on each node at most."""
    return f"{lease.node_id} {lease.transfer_id} {lease.epoch}"


def node_of_key(key: str) -> str:
    """The node of a `lease_key`."""
    return key.partition(" ")[0]
