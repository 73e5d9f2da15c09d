"""The fence: nothing of an execution is started any more, and its ends stop even where nobody reaches them."""

from lambdas.adapters.world import World
from lambdas.core.transfer import AcceptedTransfer


def fence(world: World, transfer: AcceptedTransfer) -> bool:
    """Fence the record, then what the ends look at; False, where a later execution has taken it up."""
    if not world.transfers.fence(transfer):
        return False
    world.agents.fence(transfer.shared, fenced=True)
    record = world.transfers.get(transfer.transfer_id)
    if record is not None and record.is_of(transfer):
        return True
    # Taken up in this moment: its ends start seconds later at the earliest, after both have been surveyed.
    world.agents.fence(transfer.shared, fenced=False)
    return False
