"""The size of a region's pool: how many nodes it should have, which are started, drained and ended.

It grows at once, and shrinks to the most that was wanted within the idle seconds. Nodes of another version than the
current one are replaced one at a time. No more than the greatest number of machines ever runs, drained ones included.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Annotated, Literal

from pydantic import Field, model_validator

from lambdas.core.documents import Count, Document, InstanceType, Region
from lambdas.core.pool.pool_node import LIVE, MOST_LEASES, OPEN, PoolNode

# Three times the 81 to 95 s that starting a VM took in the dissertation's measurements, as for launched relays.
START_SECONDS = 300.0
# A node that drains gives up what is still on it after so long: its leases have been placed anew by then.
DRAIN_SECONDS = 600.0


class PoolSettings(Document):
    """What a deployment keeps in one region.

    `least` and `most`: numbers of nodes (`min`, `max`). `mode`: whether relays are on the source's side alone, or on
    both.
    """

    region: Region
    least: Count = Field(alias="min")
    most: Annotated[Count, Field(ge=1)] = Field(alias="max")
    instance_type: InstanceType
    leases_per_node: Annotated[Count, Field(ge=1, le=MOST_LEASES)] = 4
    nodes_per_transfer: Annotated[float, Field(gt=0)] = 1.0
    idle_seconds: Annotated[Count, Field(ge=0)] = 900
    mode: Literal["asymmetric", "symmetric"] = "symmetric"

    @model_validator(mode="after")
    def _has_a_range(self) -> "PoolSettings":
        if self.least > self.most:
            raise ValueError(f"min: {self.least}; must be max, {self.most}, or less")
        return self

    @property
    def most_transfers(self) -> int:
        """So many transfers can have a lease each when the pool is at its largest; others wait."""
        return self.most * self.leases_per_node


class Need(Document):
    """So many nodes were wanted at a look; `until`: the last one at which they were (Unix seconds)."""

    until: float
    nodes: Count


@dataclass(frozen=True)
class Resize:
    """What is to be done now: so many nodes to start, and ids of nodes to drain, to end and to give up.

    `needs`: to keep until the next look. `wanted`: by what is active now.
    """

    wanted: int
    start: int
    drain: tuple[str, ...]
    end: tuple[str, ...]
    give_up: tuple[str, ...]
    needs: tuple[Need, ...]


def wanted_nodes(active_transfers: int, settings: PoolSettings) -> int:
    """Nodes for so many transfers that have leases or wait for some, within the pool's range."""
    return min(max(ceil(active_transfers * settings.nodes_per_transfer), settings.least), settings.most)


def resized(
    nodes: Iterable[PoolNode],
    active_transfers: int,
    settings: PoolSettings,
    version: str,
    needs: Sequence[Need],
    now: float,
) -> Resize:
    """One look at the nodes of a region's pool; `version`: the one that new nodes are started with."""
    live = [node for node in nodes if node.state in LIVE]
    give_up = [node for node in live if _never_came(node, now)]
    end = [node for node in live if node.state == "DRAINING" and _has_drained(node, now)]
    usable = [node for node in live if node.state != "DRAINING" and node not in give_up]
    wanted = wanted_nodes(active_transfers, settings)
    known = _needed(needs, wanted, settings.idle_seconds, now)
    kept = known[0].nodes
    # What ends now still runs while others are started.
    room = max(settings.most - len(live), 0)
    start = min(max(wanted - len(usable), 0), room)
    # A node that has yet to come takes nobody's place.
    is_open = [node for node in usable if node.state in OPEN]
    drain = _surplus(is_open, len(is_open) - kept, version)
    old = [node for node in usable if node.version != version and node not in drain]
    is_at_rest = not start and not drain and all(node.state in OPEN for node in live)
    if old and is_at_rest:
        # The successor first, where there is room for it; else the pool is smaller by one until it has come.
        if len(usable) <= wanted and room:
            start = 1
        else:
            drain = _surplus(old, 1, version)
    return Resize(wanted, start, _ids(drain), _ids(end), _ids(give_up), known)


def _never_came(node: PoolNode, now: float) -> bool:
    return node.state == "STARTING" and now - node.requested_at >= START_SECONDS


def _has_drained(node: PoolNode, now: float) -> bool:
    return not node.leases or (node.drained_at is not None and now - node.drained_at >= DRAIN_SECONDS)


def _needed(needs: Sequence[Need], wanted: int, idle_seconds: float, now: float) -> tuple[Need, ...]:
    """The needs that still count, the greatest and oldest first, this look's last; the first is what is kept."""
    lasting = (need for need in needs if need.nodes > wanted and now - need.until < idle_seconds)
    return (*lasting, Need(until=now, nodes=wanted))


def _surplus(nodes: Iterable[PoolNode], count: int, version: str) -> list[PoolNode]:
    """Those to drain first: of an old version, since they go anyhow; then the emptiest, then those idle longest."""

    def order(node: PoolNode) -> tuple[bool, int, float, str]:
        return node.version == version, node.leases, node.idle_since or node.requested_at, node.node_id

    return sorted(nodes, key=order)[: max(count, 0)]


def _ids(nodes: Iterable[PoolNode]) -> tuple[str, ...]:
    return tuple(node.node_id for node in nodes)
