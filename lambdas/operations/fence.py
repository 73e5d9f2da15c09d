"""The fence: nothing of an execution is started any more, and its ends stop even where nobody reaches them."""

from lambdas.adapters.world import World
from lambdas.core.errors import TransferFenced
from lambdas.core.record import transfer_life
from lambdas.core.record.transfer_record import Estimated, Phase
from lambdas.core.transfer.accepted import AcceptedTransfer


def fence(world: World, transfer: AcceptedTransfer) -> bool:
    """Fence the record, then what the ends look at; False, where a later execution has taken it up."""
    if not world.transfers.change(transfer, transfer_life.FENCE):
        return False
    world.agents.fence(transfer.shared, fenced=True)
    record = world.transfers.get(transfer.transfer_id)
    if record is not None and record.is_of(transfer):
        return True
    # Taken up in this moment: its ends start seconds later at the earliest, after both have been surveyed.
    world.agents.fence(transfer.shared, fenced=False)
    return False


def serving(world: World, transfer: AcceptedTransfer, phase: type[Phase]) -> Phase:
    """The record, in `phase` at least, where the transfer's execution may start something; raises TransferFenced."""
    record = world.transfers.get(transfer.transfer_id)
    if not isinstance(record, phase) or not record.serves(transfer):
        raise TransferFenced(f"{transfer.transfer_id} is being torn down, or goes on in another execution")
    return record


def running(world: World, transfer_id: str) -> Estimated | None:
    """The record where relays may still be of use."""
    record = world.transfers.get(transfer_id)
    return record if isinstance(record, Estimated) and record.running else None


def estimated(world: World, transfer_id: str) -> Estimated:
    """The record as those need it who see to relays; raises TransferFenced where it is gone."""
    record = world.transfers.get(transfer_id)
    if not isinstance(record, Estimated):
        raise TransferFenced(f"the record of {transfer_id} does not say what relays are to do")
    return record
