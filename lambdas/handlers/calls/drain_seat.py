"""Drain Seat: invoked by people; takes a machine out of a running transfer whose end has others."""

from typing import Any

from lambdas.adapters.world import World
from lambdas.core.errors import InvalidRequest, NotMoving
from lambdas.core.request.draining import DrainRequest
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.core.transfer.seat import Seat
from lambdas.operations import named
from lambdas.operations.seats import retiring
from lambdas.runtime.handler import user_call


def drain_seat(event: DrainRequest, world: World) -> dict[str, Any]:
    """The seat as it is retired now, and whether this call did it; raises NoSuchTransfer, NotMoving or InvalidRequest.

    The seat's daemon follows the membership, hands over what it has, and ends.
    """
    transfer = named.transfer(world, event.transfer_id).transfer
    seat = _seat(transfer, event.instance_id)
    if world.agents.membership(transfer.partition) is None:
        raise NotMoving(f"'{event.transfer_id}' moves nothing yet; drain the machine when it does")
    drained, is_new = retiring.drain(world, transfer, seat, event.reason)
    return {
        "transferId": event.transfer_id,
        "instanceId": event.instance_id,
        "seatId": drained.seat_id,
        "changed": is_new,
        "drained": drained.drained is True,
        "retiredAt": drained.at,
        "retiredBecause": drained.why,
    }


def _seat(transfer: AcceptedTransfer, instance_id: str) -> Seat:
    """The seat of this machine; raises NotMoving where the transfer has no machines, InvalidRequest where not this."""
    if transfer.errand.copies:
        raise NotMoving(f"'{transfer.transfer_id}' is copied by S3 itself: no machine takes part in it")
    found = next((seat for seat in transfer.seats if seat.machine.instance_id == instance_id), None)
    if found is None:
        machines = ", ".join(dict.fromkeys(seat.machine.instance_id for seat in transfer.seats))
        raise InvalidRequest(
            f"$.instanceId: {instance_id} is no machine at an end of '{transfer.transfer_id}'; those are {machines}"
        )
    return found


handler = user_call(DrainRequest, drain_seat)
