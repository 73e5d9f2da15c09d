"""What the daemons of a transfer have reported last."""

from lambdas.adapters.world import World
from lambdas.core.chunks.progress import Progress
from lambdas.core.transfer.accepted import AcceptedTransfer


def of_sender(world: World, transfer: AcceptedTransfer) -> Progress | None:
    """How far the data is: the report of the seat that sends it; None before there is one."""
    (seat,) = transfer.senders
    return world.agents.progress(transfer.shared, seat.seat_id)


def of_all(world: World, transfer: AcceptedTransfer) -> dict[str, Progress | None]:
    """The report of each seat, by its id."""
    return {seat.seat_id: world.agents.progress(transfer.shared, seat.seat_id) for seat in transfer.seats}
