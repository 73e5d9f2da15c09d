"""Await Measured Relays: start the daemon on each relay as it comes online, and open what is to be measured."""

from typing import Any

from lambdas.adapters.world import World
from lambdas.core.fleet import pairing, relay_node
from lambdas.core.fleet.topology import routes_of
from lambdas.handlers.states.await_relays import AwaitInput
from lambdas.operations.fence import estimated
from lambdas.operations.fleet.measured_hops import measured_hops
from lambdas.operations.fleet.relay_end import release_singles, unused_discarded
from lambdas.operations.fleet.relay_start import await_ready
from lambdas.runtime.handler import task_state


def await_measured_relays(event: AwaitInput, world: World) -> dict[str, Any]:
    """Return how many pairs are ready: when all are, at the join timeout, or when the execution is over."""
    transfer_id = event.transfer.transfer_id
    record, seconds = estimated(world, transfer_id), relay_node.JOIN_TIMEOUT_SECONDS
    with unused_discarded(world, transfer_id):
        nodes = await_ready(world, record, join_at_once=False, seconds=seconds, hops=measured_hops)
    # One relay in each region measures links: these have no partners.
    if record.estimate.is_by_pairs:
        release_singles(world, event.transfer, nodes)
    return {"ready": pairing.strength(routes_of(event.transfer), world.nodes.of(transfer_id), "READY")}


handler = task_state("Await Measured Relays", AwaitInput, await_measured_relays)
