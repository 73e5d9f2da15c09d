"""Data left when a relay fails, from the sender's last report and from profiles of relays and ends."""

from math import inf

from lambdas.adapters.world import World
from lambdas.core.fleet.membership import Membership
from lambdas.core.fleet.relay_node import LIVE_STATES, Node
from lambdas.core.fleet.replacement import Remaining
from lambdas.core.fleet.topology import leads_through
from lambdas.core.record.transfer_record import Estimated, TransferRecord
from lambdas.core.request.bandwidth import MBIT_PER_MB
from lambdas.operations.seats import reports


def rest_without(world: World, record: Estimated, node: Node, own: float, expected: float | None) -> Remaining:
    """The rest of the transfer while `node` carries `own` MB/s, 0 where it is out.

    `expected`: MB/s of its successor; without it what the relay was tested for, or carried at best, or a usual pair.
    """
    progress = reports.of_sender(world, record.transfer)
    lanes = progress.lanes if progress else []
    size = record.plan.bytes - (progress.bytes if progress else 0)
    figures, membership = record.estimate.figures, world.agents.membership(record.transfer.partition)
    nodes = world.nodes.of(node.transfer_id)
    return Remaining(
        size=max(size, 0) / 1e6,
        others=sum(lane.rate for lane in lanes if not leads_through(lane.path_id, node)),
        own=own,
        successor=expected or node.tested or record.watch.best.get(node.node_id) or figures.pair.now,
        spawn_seconds=_spawn_seconds(record, node),
        source=min(figures.send_without_limit, allowed_mb_s(record, membership)),
        destination=figures.receive,
        relays=sum(n.state in LIVE_STATES and n.node_id != node.node_id for n in nodes),
    )


def ends_mb_s(record: TransferRecord, membership: Membership | None = None) -> float:
    """Return what the two ends, or who set a limit, allow in all, MB/s; infinite where nothing is known."""
    ends = record.estimate.figures.ends_without_limit if record.estimate else inf
    return min(ends, allowed_mb_s(record, membership))


def allowed_mb_s(record: TransferRecord, membership: Membership | None = None) -> float:
    """The bound on the senders' rate, in MB/s; `membership`: where it has a share of a limit over several transfers."""
    own, shared = record.limit.mbps, membership.limit_lease if membership else None
    return min(inf if own is None else own, shared.mbps if shared else inf) / MBIT_PER_MB


def _spawn_seconds(record: Estimated, node: Node) -> float:
    """Return what the relay itself needed: the best forecast for its successor."""
    if node.ready_at is not None:
        return node.ready_at - node.requested_at
    return record.estimate.figures.spawn.value
