"""Every minute: heartbeats while both ends advance, and whatever a lost event would have told.

At once: a transfer of which an end's machine stops.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from lambdas.adapters.world import World
from lambdas.core.spending.meter import Decision
from lambdas.operations import reconciliation
from lambdas.operations.ends import end_daemons
from lambdas.operations.spending import metering
from lambdas.runtime.handler import BusEvent, event_rule, logger


def reconcile(event: BusEvent, world: World) -> dict[str, Any]:
    """Return what was found for each active transfer; one that breaks does not keep the others from being looked at."""
    if event.tells_of_an_end:
        return {
            r.transfer.transfer_id: end_daemons.fail_without(world, r, event.instance_id)
            for r in world.transfers.active()
        }
    found: dict[str, Any] = {}
    broken: list[Exception] = []
    active = {record.transfer.transfer_id: record for record in world.transfers.active()}
    world.metrics.put({"TransfersActive": len(active)})
    for transfer_id, record in active.items():
        with _going_on(broken, transfer_id):
            found[transfer_id] = reconciliation.look_at(world, record)
    for transfer_id in [id_ for id_, result in found.items() if result is not None]:
        with _going_on(broken, transfer_id):
            if (decision := metering.enforce(world, active[transfer_id])) is not Decision.GO_ON:
                found[transfer_id]["budget"] = decision.value
    # Last, since a sweep may take minutes and no heartbeat may wait for it.
    for transfer_id in [id_ for id_, result in found.items() if result is None]:
        with _going_on(broken, transfer_id):
            found[transfer_id] = reconciliation.sweep(world, active[transfer_id])
    with _going_on(broken, "relays of no active transfer"):
        if strays := reconciliation.terminate_strays(world):
            logger.warning("relays of no active transfer were terminated", extra={"instances": strays})
            world.metrics.put({"RelaysStray": len(strays)})
    if broken:
        raise broken[0]
    return found


@contextmanager
def _going_on(broken: list[Exception], what: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # noqa: BLE001  raised again when all has been looked at
        logger.exception("could not be reconciled", extra={"what": what})
        broken.append(error)


handler = event_rule(reconcile)
