"""Await Relays: start the daemon on each relay as it comes online; without a pre-test pairs join at once."""

from typing import Any

from lambdas.adapters.world import World
from lambdas.core.documents import Handover
from lambdas.core.errors import TransferFenced
from lambdas.core.fleet import pairing, relay_node
from lambdas.core.fleet.topology import route_of
from lambdas.core.transfer import AcceptedTransfer, ResolvedPaths
from lambdas.operations.fleet.relay_end import release_singles, unused_discarded
from lambdas.operations.fleet.relay_start import await_ready
from lambdas.runtime.handler import task_state


class AwaitInput(Handover):
    """Input of the state."""

    transfer: AcceptedTransfer
    paths: ResolvedPaths


def await_relays(event: AwaitInput, world: World) -> dict[str, Any]:
    """How many pairs are ready or have joined when all are, at the join timeout, or when the transfer is over."""
    transfer_id = event.transfer.transfer_id
    record = world.transfers.get(transfer_id)
    if record is None:
        raise TransferFenced(f"there is no record of {transfer_id}")
    tested = record.estimate is not None and record.estimate.pre_test
    with unused_discarded(world, transfer_id):
        nodes = await_ready(
            world, record, event.paths, join_at_once=not tested, seconds=relay_node.JOIN_TIMEOUT_SECONDS
        )
    release_singles(world, event.transfer, nodes)
    return {"ready": pairing.strength(route_of(event.transfer), world.nodes.of(transfer_id), "READY", "JOINED")}


handler = task_state("Await Relays", AwaitInput, await_relays)
