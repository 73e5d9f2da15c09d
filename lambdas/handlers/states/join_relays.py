"""Join Relays: let every ready relay into the membership that the sender follows."""

from typing import Any

from lambdas.adapters.world import World
from lambdas.core.documents import Handover
from lambdas.core.fleet import pairing
from lambdas.core.fleet.topology import routes_of
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations.fence import estimated
from lambdas.operations.fleet.relay_start import join_ready
from lambdas.runtime.handler import task_state


class JoinInput(Handover):
    """Input of the state."""

    transfer: AcceptedTransfer


def join_relays(event: JoinInput, world: World) -> dict[str, Any]:
    """Return how many pairs' worth of relays carry data now."""
    transfer_id = event.transfer.transfer_id
    estimated(world, transfer_id)
    join_ready(world, transfer_id)
    return {"joined": pairing.strength(routes_of(event.transfer), world.nodes.of(transfer_id), "JOINED")}


handler = task_state("Join Relays", JoinInput, join_relays)
