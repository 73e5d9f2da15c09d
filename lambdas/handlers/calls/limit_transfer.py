"""Limit Transfer: invoked by people; changes what a sender may send, through the membership that it follows."""

from typing import Any

from lambdas.adapters.world import World
from lambdas.core import transfer_life
from lambdas.core.bandwidth import LimitRequest
from lambdas.core.errors import NotMoving
from lambdas.operations import named
from lambdas.operations.fleet import membership
from lambdas.runtime.handler import user_call


def limit_transfer(event: LimitRequest, world: World) -> dict[str, Any]:
    """The limit that holds now; raises NoSuchTransfer or NotMoving."""
    transfer_id, mbps = event.transfer_id, event.bandwidth_limit_mbps
    record = named.transfer(world, transfer_id)
    if record.transfer.request.is_profiling:
        raise NotMoving(f"'{transfer_id}' moves nothing: a limit would be all that is measured")
    if not record.moving:
        raise NotMoving(f"'{transfer_id}' is over, or is being taken down; nothing was changed")
    if world.agents.membership(record.transfer.shared) is None:
        raise NotMoving(
            f"'{transfer_id}' moves nothing yet; limit it when it does, or put bandwidthLimitMbps into the request"
        )
    # Noted first: profiles are not to take a rate that was limited for all that the machines can do.
    changed = record.limit.changed_to(mbps, world.clock.now())
    world.transfers.change(record.transfer, transfer_life.note(bandwidth=changed))
    membership.change(world, record.transfer.shared, lambda current: current.limited(mbps))
    return {"transferId": transfer_id, "bandwidthLimitMbps": mbps}


handler = user_call(LimitRequest, limit_transfer)
