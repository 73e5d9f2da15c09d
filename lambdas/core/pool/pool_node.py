"""Items of a pool: a node, which is there before anybody asks, and a lease of a transfer on it.

Times in Unix seconds, rates in MB/s.
"""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from lambdas.core.documents import Count, Document, InstanceId, InstanceType, Name, Region, TenantName, TransferId
from lambdas.core.pool.tenant import LEAST_WEIGHT, MOST_WEIGHT, MegabytesPerSecond

PoolNodeState = Literal["STARTING", "FREE", "SERVING", "DRAINING", "ENDED"]
LIVE: frozenset[PoolNodeState] = frozenset({"STARTING", "FREE", "SERVING", "DRAINING"})
# New leases go to these.
OPEN: frozenset[PoolNodeState] = frozenset({"FREE", "SERVING"})

# Each lease is a daemon of its own with a port of its own, from that of relays that serve one transfer on.
FIRST_PORT = 4600
MOST_LEASES = 16
# A port whose daemon has yet to end is not given again: twice as many ports as leases leave one for a newcomer.
PORTS = range(FIRST_PORT, FIRST_PORT + 2 * MOST_LEASES)

Version = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9._-]+$")]


class PoolNode(Document):
    """A machine of the pool; its id is its instance's.

    `version`: of image and daemon. `capacity_mb_s`: what it forwards, its type's figure until it was measured.
    `leases`: how many it has; they are counted in the node's item, so of two that want the last one, one is refused.
    `epoch` goes up with each lease that is given.
    """

    node_id: Name
    region: Region
    zone: str = Field(alias="availabilityZone", min_length=1)
    vpc_id: str = ""
    instance_id: InstanceId
    instance_type: InstanceType
    market: Literal["on-demand", "spot"] = "on-demand"
    version: Version
    state: PoolNodeState
    capacity_mb_s: MegabytesPerSecond = Field(alias="capacityMBps")
    leases: Annotated[Count, Field(le=MOST_LEASES)] = 0
    epoch: Count = 0
    requested_at: float
    running_at: float | None = None
    private_address: str | None = None
    public_address: str | None = None
    ready_at: float | None = None
    idle_since: float | None = None
    drained_at: float | None = None
    ended_at: float | None = None
    reason: str | None = None

    @model_validator(mode="after")
    def _serves_whom_it_has(self) -> "PoolNode":
        if self.state in ("STARTING", "FREE", "ENDED") and self.leases:
            raise ValueError(f"leases: {self.leases} of a node that is {self.state}; must be 0")
        if self.state == "SERVING" and not self.leases:
            raise ValueError("leases: 0 of a node that is SERVING; must be 1 or more")
        return self


class LeaseLimit(Document):
    """What a lease may forward until `until`, MB/s; `number` goes up with each limit that the lease is told."""

    number: Annotated[int, Field(ge=1)]
    mb_s: MegabytesPerSecond = Field(alias="MBps")
    until: float


class Lease(Document):
    """A transfer's place on a node.

    `weight`: of the transfer beside others of its tenant. `guarantee_mb_s`: this lease's part of the tenant's. `until`:
    the node ends the lease's daemon then; keepalives of the transfer's sender put it off. `epoch`: the node's, when the
    lease was given; whatever comes for an earlier one is late and changes nothing.

    `relay_id`: of the transfer's relay that it stands for. `command`: the relay command, base64url of its JSON, once
    the sender's key is known. The node says when it listens, why it does not, the number of the limit that it applies,
    how many bytes it has moved both ways, and when nothing of the lease runs any more.
    """

    transfer_id: TransferId
    node_id: Name
    relay_id: Name
    tenant: TenantName
    port: Annotated[int, Field(ge=PORTS.start, lt=PORTS.stop)]
    weight: Annotated[float, Field(ge=LEAST_WEIGHT, le=MOST_WEIGHT)] = 1.0
    guarantee_mb_s: MegabytesPerSecond = Field(default=0.0, alias="guaranteeMBps")
    limit: LeaseLimit
    until: float
    epoch: Annotated[Count, Field(ge=1)]
    command: str | None = None
    given_at: float
    listening_at: float | None = None
    failed: str | None = None
    ended_at: float | None = None
    stopped_at: float | None = None
    applied: Count | None = None
    bytes: Count = 0

    @property
    def is_live(self) -> bool:
        """It counts in the node's item."""
        return self.ended_at is None

    @property
    def holds_port(self) -> bool:
        """Its daemon may still listen."""
        return self.stopped_at is None

    def may_forward(self, now: float) -> float:
        """What the node lets through at `now`, MB/s, if it has heard of nothing newer.

        After the limit's end that is the guarantee, but never more than the limit: what one node assumes of its own,
        others may have been given meanwhile.
        """
        if now >= self.until:
            return 0.0
        return self.limit.mb_s if now < self.limit.until else min(self.limit.mb_s, self.guarantee_mb_s)


def free_port(taken: frozenset[int]) -> int | None:
    """The lowest port for another lease of a node; None where all are taken, also by daemons that have yet to end."""
    return next((port for port in PORTS if port not in taken), None)
