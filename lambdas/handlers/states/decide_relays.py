"""Decide Relays: what the first seconds of the transfer, or those with relays, show, and how many pairs follow."""

from lambdas.adapters.world import World
from lambdas.core.documents import Handover
from lambdas.core.estimate.estimate import Estimate
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations.estimate import deciding
from lambdas.operations.fence import estimated, running
from lambdas.operations.seats import reports
from lambdas.runtime.handler import task_state


class DecideInput(Handover):
    """Input of the state."""

    transfer: AcceptedTransfer


def decide_relays(event: DecideInput, world: World) -> Estimate:
    """Return the estimate as it is from now on: `on_the_way` where relays are to be launched, and looked at again."""
    transfer = event.transfer
    joined = [node.joined_at for node in world.nodes.of(transfer.transfer_id) if node.state == "JOINED"]
    since = max((at for at in joined if at), default=None)
    seen = deciding.look(world, transfer.transfer_id, since)
    record = running(world, transfer.transfer_id)
    if record is None:
        return estimated(world, transfer.transfer_id).estimate.model_copy(update={"on_the_way": None})
    if seen is None:  # nothing flows, so nothing is to be learnt: the estimate decides, unless all has been sent
        progress = reports.of_sender(world, transfer)
        is_all_sent = progress is not None and record.is_all_sent(progress.moved_bytes)
        wanted = record.estimate.chosen_pairs > 0 and not joined and not is_all_sent
        return record.estimate if wanted else record.estimate.model_copy(update={"on_the_way": None})
    return deciding.decide_again(world, record, seen) if joined else deciding.decide_first(world, record, seen)


handler = task_state("Decide Relays", DecideInput, decide_relays)
