"""Changes of the membership record, each under its version: its paths are what the node table says."""

from collections.abc import Callable

from lambdas.adapters.world import World
from lambdas.core.errors import WriteConflict
from lambdas.core.fleet import pairing
from lambdas.core.fleet.topology import route_of
from lambdas.core.transfer import DIRECT, Membership, TransferPath
from lambdas.core.transfer_record import Planned

_ATTEMPTS = 8


def begin(world: World, record: Planned) -> None:
    """The first record: the direct path with the plan's lanes; no path where nothing is moved but measured."""
    request, lanes = record.transfer.request, record.plan.lanes_per_path
    receiver = record.paths.receiver_address
    direct = TransferPath(path_id=DIRECT, generation=0, hops=[], receiver=receiver, lanes=lanes)
    paths = [] if request.is_profiling else [direct]
    first = Membership(version=1, paths=paths, bandwidth_limit_mbps=request.bandwidth_limit_mbps)
    world.agents.write_membership(record.transfer.shared, first)


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
    if not isinstance(record, Planned) or not record.moving:
        return
    while change(world, record.transfer.shared, lambda current: _settled(world, record, current)):
        pass


def _settled(world: World, record: Planned, current: Membership) -> Membership | None:
    route, nodes = route_of(record.transfer), world.nodes.of(record.transfer.transfer_id)
    relayed = pairing.relay_paths(route, nodes, record.paths, record.plan.lanes_per_path)
    paths = [*(path for path in current.paths if not path.hops), *relayed]
    return current.changed(paths=paths) if paths != current.paths else None
