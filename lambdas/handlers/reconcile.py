"""Every minute: heartbeats while both ends advance, and whatever a lost event would have told."""

from typing import Any

from lambdas.adapters.world import World
from lambdas.operations import reconciliation
from lambdas.runtime.handler import BusEvent, event_rule, logger


def reconcile(_event: BusEvent, world: World) -> dict[str, Any]:
    """What was found for each active transfer; one that breaks does not keep the others from being looked at."""
    found: dict[str, Any] = {}
    broken: list[Exception] = []
    for record in world.transfers.active():
        try:
            found[record.transfer.transfer_id] = reconciliation.look_at(world, record)
        except Exception as error:  # noqa: BLE001  raised again below, when all have been looked at
            logger.exception("a transfer could not be reconciled", extra={"transfer_id": record.transfer.transfer_id})
            broken.append(error)
    if broken:
        raise broken[0]
    return found


handler = event_rule(reconcile)
