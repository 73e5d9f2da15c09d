"""Pre-Test Relays: the sender measures every ready path; relays that are too many, or do not pay, are terminated."""

from typing import Any

from lambdas.adapters.world import World
from lambdas.core.documents import Handover
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations.fence import estimated
from lambdas.operations.fleet.pre_test import run
from lambdas.operations.fleet.relay_end import unused_discarded
from lambdas.runtime.handler import task_state


class PreTestInput(Handover):
    """Input of the state."""

    transfer: AcceptedTransfer


def pre_test_relays(event: PreTestInput, world: World) -> dict[str, Any]:
    """The ranking, best first, and the ids of the paths that were rejected."""
    transfer_id = event.transfer.transfer_id
    nothing: dict[str, Any] = {"ranking": [], "rejected": []}
    record = estimated(world, transfer_id)
    if not record.running:
        return nothing
    with unused_discarded(world, transfer_id):
        tested = run(world, record)
    return nothing if tested is None else tested.to_document()


handler = task_state("Pre-Test Relays", PreTestInput, pre_test_relays)
