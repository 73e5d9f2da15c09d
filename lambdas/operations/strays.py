"""Relays of transfers that are over, launched at the last moment or shown too late."""

from lambdas.adapters.world import World
from lambdas.core.places.place import Place
from lambdas.operations.fleet.providers import launched


def terminate(world: World, region: str) -> list[str]:
    """Terminate those of one region; their ids.

    The index of active transfers may miss one for a moment: only a consistent read says that a transfer is over.
    """
    # Read before the transfers: one that begins in between has no relay among these.
    relays = world.at(Place(region)).compute.of_deployment()
    active = set(world.transfers.active_ids()) if relays else set()
    suspects = {relay.transfer_id for relay in relays} - active
    over = {transfer_id for transfer_id in suspects if _is_over(world, transfer_id)}
    found = [relay.instance_id for relay in relays if relay.transfer_id in over]
    launched.terminate(world, region, found)
    return found


def _is_over(world: World, transfer_id: str | None) -> bool:
    record = world.transfers.get(transfer_id) if transfer_id else None
    return record is None or record.closed
