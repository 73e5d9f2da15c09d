"""Changes of the membership record, each under its version: its paths are what the node table says."""

from collections.abc import Callable

from lambdas.adapters.world import World
from lambdas.core.errors import WriteConflict
from lambdas.core.fleet import pairing
from lambdas.core.fleet.membership import DIRECT, Membership, TransferPath
from lambdas.core.fleet.topology import routes_of
from lambdas.core.record import transfer_life
from lambdas.core.record.transfer_record import Planned
from lambdas.core.request.bandwidth import BandwidthLimit
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.core.transfer.partition import Partition
from lambdas.operations import named

_ATTEMPTS = 8


def begin(world: World, record: Planned) -> None:
    """The first record: the direct path with the plan's lanes."""
    receiver, lanes = record.paths.receiver_address, record.plan.lanes_per_path
    _begin_with(world, record, [TransferPath(path_id=DIRECT, generation=0, hops=[], receiver=receiver, lanes=lanes)])


def begin_without_paths(world: World, record: Planned) -> None:
    """The first record of senders that only run probes."""
    _begin_with(world, record, [])


def _begin_with(world: World, record: Planned, paths: list[TransferPath]) -> None:
    first = Membership(version=1, paths=paths, bandwidth_limit_mbps=record.limit.mbps)
    world.agents.write_membership(record.transfer.partition, first)
    # The execution may have waited for a person, or for a destination, since it began.
    follow_timetable(world, record.transfer)


def change(world: World, partition: Partition, edit: Callable[[Membership], Membership | None]) -> Membership | None:
    """Apply `edit` to the current record until it is written; None when there is none or nothing to change."""
    for _ in range(_ATTEMPTS):
        current = world.agents.membership(partition)
        edited = edit(current) if current else None
        if edited is None:
            return None
        if world.agents.write_membership(partition, edited):
            return edited
    raise WriteConflict(f"the membership of {partition} changed {_ATTEMPTS} times while it was written")


def follow_timetable(world: World, transfer: AcceptedTransfer) -> int | None:
    """Set the limit that the timetable has now, if there is one and no person's limit holds; the one that holds."""
    wish = transfer.request.timetable
    return set_limit(world, transfer, lambda limit: limit.followed(wish, world.clock.now())) if wish else None


def set_limit(
    world: World, transfer: AcceptedTransfer, edit: Callable[[BandwidthLimit], BandwidthLimit | None]
) -> int | None:
    """Apply `edit` to the limit, unless it returns None; then the sender gets what is noted: the limit that holds.

    Noted first: profiles are not to take a rate that was limited for all that the machines can do. Whoever reads the
    record before somebody else's limit and writes the membership under its version finds that it has changed.
    """
    for _ in range(_ATTEMPTS):
        record = named.transfer(world, transfer.transfer_id)
        edited = edit(record.limit)
        if edited is None or world.transfers.change(transfer, transfer_life.note(bandwidth=edited)):
            change(world, transfer.partition, lambda current: _limited(world, transfer, current))
            return edited.mbps if edited else record.limit.mbps
    raise WriteConflict(f"the limit of {transfer.transfer_id} changed {_ATTEMPTS} times while it was set")


def _limited(world: World, transfer: AcceptedTransfer, current: Membership) -> Membership | None:
    mbps = named.transfer(world, transfer.transfer_id).limit.mbps
    return current.limited(mbps) if mbps != current.bandwidth_limit_mbps else None


def settle(world: World, transfer_id: str) -> None:
    """Make the paths those of the relays that have joined: joining, leaving and being replaced are all this.

    The node is moved first, then this is called; whoever reads the record before the nodes and writes it under its
    version cannot bring back a relay that somebody else has just taken out, so it is looked at until it agrees.
    """
    record = world.transfers.get(transfer_id)
    if not isinstance(record, Planned) or not record.moving:
        return
    while change(world, record.transfer.partition, lambda current: _settled(world, record, current)):
        pass


def _settled(world: World, record: Planned, current: Membership) -> Membership | None:
    nodes, lanes = world.nodes.of(record.transfer.transfer_id), record.plan.lanes_per_path
    relayed = pairing.all_paths(routes_of(record.transfer), nodes, record.paths, lanes)
    paths = [*(path for path in current.paths if not path.hops), *relayed]
    return current.changed(paths=paths) if paths != current.paths else None
