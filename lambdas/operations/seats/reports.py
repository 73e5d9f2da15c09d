"""What the daemons of a transfer have reported last."""

from lambdas.adapters.world import World
from lambdas.core.chunks.progress import Progress, together
from lambdas.core.transfer.accepted import AcceptedTransfer


def of_sender(world: World, transfer: AcceptedTransfer) -> Progress | None:
    """How far the data is: the report of the seat that sends it, or what all of them sum up to; None before one."""
    return together(list(of_senders(world, transfer).values()))


def of_senders(world: World, transfer: AcceptedTransfer) -> dict[str, Progress]:
    """The reports of the senders that have reported, by seat."""
    told = {seat.seat_id: world.agents.progress(transfer.partition, seat.seat_id) for seat in transfer.senders}
    return {seat_id: report for seat_id, report in told.items() if report is not None}


def of_all(world: World, transfer: AcceptedTransfer) -> dict[str, Progress | None]:
    """The report of each seat, by its id."""
    return {seat.seat_id: world.agents.progress(transfer.partition, seat.seat_id) for seat in transfer.seats}
