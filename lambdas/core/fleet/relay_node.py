"""Rules of the fleet: node items, ranking."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from lambdas.core.documents import Count, Document, InstanceId, Name, Region, StageIndex, TransferId
from lambdas.core.fleet.providers import PROVIDERS, ProviderName
from lambdas.core.places.place import Place

NodeState = Literal["SPAWNED", "READY", "JOINED", "DRAINING", "REJECTED", "LOST", "TERMINATED"]
LIVE_STATES: frozenset[NodeState] = frozenset({"SPAWNED", "READY", "JOINED", "DRAINING"})
# States of an instance that carries no more, whatever it was stopped by.
ENDED_INSTANCE_STATES = frozenset({"stopping", "stopped", "shutting-down", "terminated"})
# Three times the 81 to 95 s that starting a VM took in the dissertation's measurements.
JOIN_TIMEOUT_SECONDS = 300.0
# A relay without a stream for so long ends itself; longer than a pre-test of 64 pairs at 10 s (640 s) is not needed,
# since probes are streams.
RELAY_IDLE_SECONDS = 600


class Node(Document):
    """Contract `node`; times in Unix seconds, rates in MB/s.

    `stage`: the index of its stage, over all routes of the transfer; `stage_name` is for people, and nobody else's to
    compare.
    `provider`: where its machine comes from. One that is lent serves with `cpu_percent` of one processor and
    `bandwidth_limit_mbps`, Mbit/s. `port`: a pool's node has it from the start, as each lease there has another.
    `measured_hop`: from it to the next relay of its path; the two rates before it are
    the path's, which all of its relays have.
    """

    transfer_id: TransferId
    node_id: Name
    stage: StageIndex
    stage_name: Name = Field(alias="role")
    slot: Annotated[int, Field(ge=1)]
    generation: Count
    state: NodeState
    instance_id: InstanceId
    instance_type: str
    region: Region
    availability_zone: str
    market: Literal["on-demand", "spot"]
    provider: ProviderName = "launched"
    cpu_percent: Annotated[int, Field(ge=1)] | None = None
    bandwidth_limit_mbps: Annotated[int, Field(ge=1)] | None = None
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
    measured_hop: float | None = Field(default=None, alias="measuredHopMBps")
    reason: str | None = None
    successor: Name | None = None
    not_replaced: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _of_an_earlier_format(cls, value: Any) -> Any:
        # Before format 7 an item said `existing` of a machine of the user: no teardown may take it for one of ours.
        if not isinstance(value, dict) or "existing" not in value:
            return value
        item = {key: each for key, each in value.items() if key != "existing"}
        return {**item, "provider": "lent"} if value["existing"] else item

    @property
    def is_ours(self) -> bool:
        """Whether its machine is there for the transfer alone, which pays for it and ends it."""
        return PROVIDERS[self.provider].is_ours

    @property
    def place(self) -> Place:
        """Where its machine is."""
        return Place(self.region, zone=self.availability_zone)

    @property
    def about(self) -> dict[str, str]:
        """How events name it. A relay of a later run has the same id, and another machine."""
        return {"transferId": self.transfer_id, "nodeId": self.node_id, "instanceId": self.instance_id}

    @property
    def settled(self) -> bool:
        """Nobody has to bring a successor any more."""
        if self.successor or self.not_replaced or self.state in ("REJECTED", "TERMINATED"):
            return True
        return self.state == "LOST" and self.joined_at is None

    @property
    def is_untested(self) -> bool:
        """Whether a pre-test may still measure it: that is made before relays join, and of no successor."""
        return self.generation == 0 and self.measured_inter_region is None and self.joined_at is None

    @property
    def tested(self) -> float | None:
        """The pre-test's result, MB/s: the slower of its two hops."""
        return min(filter(None, (self.measured_inter_region, self.measured_intra_region)), default=None)


def successor_of(nodes: Iterable[Node], node: Node) -> Node | None:
    """The newest relay that was launched after `node` for its place."""
    return max(_launched_after(nodes, node), key=lambda n: n.generation, default=None)


def took_over(nodes: Iterable[Node], node: Node) -> Node | None:
    """The first relay that joined in the place of `node`; it may have been lost, and replaced in its turn, since."""
    joined = [n for n in _launched_after(nodes, node) if n.joined_at is not None]
    return min(joined, key=lambda n: n.generation, default=None)


def _launched_after(nodes: Iterable[Node], node: Node) -> list[Node]:
    return [n for n in nodes if (n.stage, n.slot) == (node.stage, node.slot) and n.generation > node.generation]


@dataclass(frozen=True)
class Measurement:
    """A pre-test's result for one pair, MB/s."""

    slot: int
    inter_region: float
    intra_region: float

    def to_document(self) -> dict[str, float]:
        """Of a state's output."""
        return {"slot": self.slot, "interRegionMBps": self.inter_region, "intraRegionMBps": self.intra_region}


def rank(measurements: Iterable[Measurement]) -> list[Measurement]:
    """4.3.2: first by inter-region throughput, then by the intra/inter ratio; best first."""

    def order(m: Measurement) -> tuple[float, float, int]:
        ratio = m.intra_region / m.inter_region if m.inter_region > 0 else 0.0
        return (-m.inter_region, -ratio, m.slot)

    return sorted(measurements, key=order)


def lower_half(ranking: list[Measurement], keep: int) -> list[int]:
    """Slots to terminate so that the best `keep` remain; one that could not be measured never outranks another."""
    return [m.slot for m in ranking[keep:]]
