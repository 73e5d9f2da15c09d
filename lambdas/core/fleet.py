"""Rules of the fleet: node items, ranking."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from lambdas.core.documents import Count, Document, InstanceId, Region, TransferId

Role = Literal["source", "destination"]
ROLES: tuple[Role, Role] = ("source", "destination")
NodeState = Literal["SPAWNED", "READY", "JOINED", "DRAINING", "REJECTED", "LOST", "TERMINATED"]
LIVE_STATES: frozenset[NodeState] = frozenset({"SPAWNED", "READY", "JOINED", "DRAINING"})
# Three times the 81 to 95 s that starting a VM took in the dissertation's measurements.
JOIN_TIMEOUT_SECONDS = 300.0
# A relay without a stream for so long ends itself; longer than a pre-test of 64 pairs at 10 s (640 s) is not needed,
# since probes are streams.
RELAY_IDLE_SECONDS = 600


class Node(Document):
    """Contract `node`; times in Unix seconds, rates in MB/s."""

    transfer_id: TransferId
    node_id: Annotated[str, Field(pattern=r"^(source|destination)-[0-9]+-[0-9]+$")]
    role: Role
    slot: Annotated[int, Field(ge=1)]
    generation: Count
    state: NodeState
    instance_id: InstanceId
    instance_type: str
    region: Region
    availability_zone: str
    market: Literal["on-demand", "spot"]
    private_address: str
    public_address: str | None = None
    port: Count | None = None
    requested_at: float
    running_at: float | None = None
    online_at: float | None = None
    ready_at: float | None = None
    joined_at: float | None = None
    ended_at: float | None = None
    measured_inter_region: float | None = Field(default=None, alias="measuredInterRegionMBps")
    measured_intra_region: float | None = Field(default=None, alias="measuredIntraRegionMBps")
    reason: str | None = None


def node_id(role: Role, slot: int, generation: int) -> str:
    """E.g. `source-1-0`."""
    return f"{role}-{slot}-{generation}"


@dataclass(frozen=True)
class Measurement:
    """A pre-test's result for one pair, MB/s."""

    slot: int
    inter_region: float
    intra_region: float


def rank(measurements: Iterable[Measurement]) -> list[Measurement]:
    """4.3.2: first by inter-region throughput, then by the intra/inter ratio; best first."""

    def order(m: Measurement) -> tuple[float, float, int]:
        ratio = m.intra_region / m.inter_region if m.inter_region > 0 else 0.0
        return (-m.inter_region, -ratio, m.slot)

    return sorted(measurements, key=order)


def lower_half(ranking: list[Measurement], keep: int) -> list[int]:
    """Slots to terminate so that the best `keep` remain; one that could not be measured never outranks another."""
    return [m.slot for m in ranking[keep:]]
