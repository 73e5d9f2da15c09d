"""Changes of the membership record, each under its version: its paths are what the node table says."""

from collections.abc import Callable

from lambdas.adapters.world import World
from lambdas.core.errors import WriteConflict
from lambdas.core.fleet import pairing
from lambdas.core.fleet.layout import Layout
from lambdas.core.fleet.membership import LimitLease, Membership, Retired, TransferPath
from lambdas.core.fleet.shares import leases_of, shares_of
from lambdas.core.fleet.topology import routes_of
from lambdas.core.record import transfer_life
from lambdas.core.record.transfer_record import Planned
from lambdas.core.request.bandwidth import BandwidthLimit
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.core.transfer.partition import Partition
from lambdas.operations import named

_ATTEMPTS = 8


def begin(world: World, record: Planned, common: LimitLease | None = None) -> None:
    """The first record: the direct paths with the plan's lanes; `common`: a part of a limit over several transfers."""
    paths = Layout.of(record.transfer).direct_paths(record.paths, record.plan.lanes_per_path)
    _begin_with(world, record, paths, common)


def begin_without_paths(world: World, record: Planned) -> None:
    """The first record of senders that only run probes."""
    _begin_with(world, record, [])


def _begin_with(world: World, record: Planned, paths: list[TransferPath], common: LimitLease | None = None) -> None:
    mbps = record.limit.mbps
    shares = shares_of(Layout.of(record.transfer), mbps, {}, common)
    first = Membership(version=1, paths=paths, bandwidth_limit_mbps=mbps, limit_lease=common, shares=shares)
    first = first.model_copy(update={"paused": True}) if record.paused else first
    world.agents.write_membership(record.transfer.partition, first)
    # It may have been paused since the record was read.
    follow_pause(world, record.transfer)
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


def layout(world: World, transfer: AcceptedTransfer) -> Layout:
    """Which seats the paths join, by who is retired now."""
    current = world.agents.membership(transfer.partition)
    return Layout.of(transfer, current.retired if current else None)


def follow_timetable(world: World, transfer: AcceptedTransfer) -> int | None:
    """Set the limit that the timetable has now, if there is one and no person's limit holds; the one that holds."""
    wish = transfer.request.timetable
    return set_limit(world, transfer, lambda limit: limit.followed(wish, world.clock.now())) if wish else None


def follow_pause(world: World, transfer: AcceptedTransfer) -> None:
    """Tell the senders what is noted: whether the transfer is paused."""

    def followed(current: Membership) -> Membership | None:
        paused = named.transfer(world, transfer.transfer_id).paused
        return current.held(paused=paused) if paused != bool(current.paused) else None

    change(world, transfer.partition, followed)


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
    shares = shares_of(Layout.of(transfer, current.retired), mbps, leases_of(current), current.limit_lease)
    return current.limited(mbps, shares) if mbps != current.bandwidth_limit_mbps else None


def set_share(world: World, transfer: AcceptedTransfer, granted: Callable[[], LimitLease | None]) -> None:
    """Tell the senders the lease that is `granted` now, of a limit over several transfers; None: there is none."""

    def told(current: Membership) -> Membership | None:
        lease, layout = granted(), Layout.of(transfer, current.retired)
        if lease == current.limit_lease:
            return None
        return current.shared(lease, shares_of(layout, current.bandwidth_limit_mbps, leases_of(current), lease))

    change(world, transfer.partition, told)


def settle(world: World, transfer_id: str) -> None:
    """Make the paths those of the seats that count and of the relays that have joined.

    Joining, leaving, being replaced and being retired are all this. The node or the record is changed first, then this
    is called; whoever reads the membership before these and writes it under its version cannot bring back what somebody
    else has just taken out, so it is looked at until it agrees.
    """
    record = world.transfers.get(transfer_id)
    if not isinstance(record, Planned) or not record.moving:
        return
    while change(world, record.transfer.partition, lambda current: _settled(world, transfer_id, current)):
        pass


def _settled(world: World, transfer_id: str, current: Membership) -> Membership | None:
    record = named.transfer(world, transfer_id)
    if not isinstance(record, Planned):
        return None
    nodes, lanes = world.nodes.of(transfer_id), record.plan.lanes_per_path
    retired = [Retired(seat_id=one.seat_id, epoch=one.epoch, is_gone=one.is_gone) for one in record.retired] or None
    layout = Layout.of(record.transfer, retired)
    relayed = pairing.all_paths(routes_of(record.transfer), nodes, record.paths, lanes, layout)
    direct = [path for path in current.paths if not path.hops]
    if retired != current.retired:
        direct = layout.direct_paths(record.paths, lanes)
    paths = [*direct, *relayed]
    if (paths, retired) == (current.paths, current.retired):
        return None
    # What a retired sender had left of its lease goes to nobody before the next look at the meter.
    shares = shares_of(layout, current.bandwidth_limit_mbps, leases_of(current), current.limit_lease)
    return current.changed(paths=paths, retired=retired, shares=shares)
