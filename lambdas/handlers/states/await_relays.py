"""Await Relays: start the daemon on each relay as it comes online; without a pre-test pairs join at once."""

from typing import Any

from lambdas.adapters.world import World
from lambdas.core.documents import Handover
from lambdas.core.fleet import pairing, relay_node
from lambdas.core.fleet.topology import routes_of
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations.fence import estimated
from lambdas.operations.fleet.relay_end import release_singles, unused_discarded
from lambdas.operations.fleet.relay_start import await_ready
from lambdas.runtime.handler import task_state


class AwaitInput(Handover):
    """Input of the state."""

    transfer: AcceptedTransfer


def await_relays(event: AwaitInput, world: World) -> dict[str, Any]:
    """Return how many pairs are ready or joined: when all are, at the join timeout, or when the transfer is over."""
    transfer_id = event.transfer.transfer_id
    record = estimated(world, transfer_id)
    at_once, seconds = not record.estimate.pre_test, relay_node.JOIN_TIMEOUT_SECONDS
    with unused_discarded(world, transfer_id):
        nodes = await_ready(world, record, join_at_once=at_once, seconds=seconds)
    release_singles(world, event.transfer, nodes)
    return {"ready": pairing.strength(routes_of(event.transfer), world.nodes.of(transfer_id), "READY", "JOINED")}


handler = task_state("Await Relays", AwaitInput, await_relays)
