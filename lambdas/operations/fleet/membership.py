"""Changes of the membership record, each under its version: its paths are what the node table says."""

from collections.abc import Callable

from lambdas.adapters.records import TransferRecord
from lambdas.adapters.world import World
from lambdas.core.errors import FailTransfer, WriteConflict
from lambdas.core.fleet import pairing
from lambdas.core.fleet.topology import route_of
from lambdas.core.transfer import DIRECT, AcceptedTransfer, Membership, TransferPath

_ATTEMPTS = 8


def begin(world: World, transfer: AcceptedTransfer, lanes: int) -> None:
    """The first record: the direct path with `lanes` streams; no path where nothing is moved but measured."""
    limit = transfer.request.bandwidth_limit_mbps
    paths = [] if transfer.request.is_profiling else [_direct(world, transfer, lanes)]
    first = Membership(version=1, paths=paths, bandwidth_limit_mbps=limit)
    world.agents.write_membership(transfer.shared, first)


def _direct(world: World, transfer: AcceptedTransfer, lanes: int) -> TransferPath:
    record = world.transfers.get(transfer.transfer_id)
    if record is None or record.paths is None:
        raise FailTransfer(f"the record of {transfer.transfer_id} has no resolved paths")
    return TransferPath(path_id=DIRECT, generation=0, hops=[], receiver=record.paths.receiver_address, lanes=lanes)


def change(world: World, shared: str, edit: Callable[[Membership], Membership | None]) -> Membership | None:
    """Apply `edit` to the current record until it is written; None when there is none or nothing to change."""
    for _ in range(_ATTEMPTS):
        current = world.agents.membership(shared)
        edited = edit(current) if current else None
        if edited is None:
            return None
        if world.agents.write_membership(shared, edited):
            return edited
    raise WriteConflict(f"the membership of {shared} changed {_ATTEMPTS} times while it was written")


def settle(world: World, transfer_id: str) -> None:
    """Make the paths those of the relays that have joined: joining, leaving and being replaced are all this.

    The node is moved first, then this is called; whoever reads the record before the nodes and writes it under its
    version cannot bring back a relay that somebody else has just taken out, so it is looked at until it agrees.
    """
    record = world.transfers.get(transfer_id)
    if record is None or record.paths is None or not record.moving:
        return
    while change(world, record.transfer.shared, lambda current: _settled(world, record, current)):
        pass


def _settled(world: World, record: TransferRecord, current: Membership) -> Membership | None:
    assert record.paths is not None  # noqa: S101  checked by the caller
    lanes = record.plan.lanes_per_path if record.plan else 1
    transfer = record.transfer
    relayed = pairing.relay_paths(route_of(transfer), world.nodes.of(transfer.transfer_id), record.paths, lanes)
    paths = [*(path for path in current.paths if not path.hops), *relayed]
    return current.changed(paths=paths) if paths != current.paths else None
