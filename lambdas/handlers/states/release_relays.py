"""Release Relays: what has arrived needs none of them, so they end before it is verified."""

from typing import Any

from lambdas.adapters.world import World
from lambdas.core.documents import Handover
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations import teardown
from lambdas.runtime.handler import task_state


class ReleaseInput(Handover):
    """Input of the state."""

    transfer: AcceptedTransfer


def release_relays(event: ReleaseInput, world: World) -> dict[str, Any]:
    """Terminate the relays, and wait for nothing: the teardown looks whether all are gone."""
    return {"released": teardown.release_relays(world, event.transfer)}


handler = task_state("Release Relays", ReleaseInput, release_relays)
