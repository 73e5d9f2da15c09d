"""The transfer that a person means."""

from lambdas.adapters.world import World
from lambdas.core.errors import NoSuchTransfer
from lambdas.core.record.transfer_record import TransferRecord


def transfer(world: World, transfer_id: str) -> TransferRecord:
    """Its record; raises NoSuchTransfer."""
    record = world.transfers.get(transfer_id)
    if record is None:
        raise NoSuchTransfer(
            f"$.transferId: there is no transfer '{transfer_id}'; give the request's name, or the execution's name "
            "where the request has none"
        )
    return record
