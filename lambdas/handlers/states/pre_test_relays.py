"""Pre-Test Relays: the sender measures every ready path; relays that are too many, or do not pay, are terminated.

Where nothing is to be moved but measured, that and the direct path's rate are the outcome.
"""

from typing import Any

from lambdas.adapters.world import World
from lambdas.core.documents import Handover
from lambdas.core.fleet.relay_node import Measurement
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations.estimate.link_measuring import measure_links
from lambdas.operations.estimate.profiling import finish_measuring
from lambdas.operations.fence import estimated
from lambdas.operations.fleet.pre_test import run
from lambdas.operations.fleet.relay_end import unused_discarded
from lambdas.runtime.handler import task_state


class PreTestInput(Handover):
    """Input of the state."""

    transfer: AcceptedTransfer


def pre_test_relays(event: PreTestInput, world: World) -> dict[str, Any]:
    """The ranking, best first, and the ids of the paths that were rejected; raises MeasuringFailed."""
    transfer = event.transfer
    nothing: dict[str, Any] = {"ranking": [], "rejected": []}
    record = estimated(world, transfer.transfer_id)
    if not record.running:
        return nothing
    with unused_discarded(world, transfer.transfer_id):
        if transfer.request.is_profiling and not record.estimate.is_by_pairs:
            measure_links(world, record)
            return nothing
        tested = run(world, record)
        if tested is None:
            return nothing
        if transfer.request.is_profiling:
            finish_measuring(world, record, tested.paths, tested.ranking)
    return {"ranking": [_document(one) for one in tested.ranking], "rejected": tested.rejected}


def _document(measurement: Measurement) -> dict[str, Any]:
    return {
        "slot": measurement.slot,
        "interRegionMBps": measurement.inter_region,
        "intraRegionMBps": measurement.intra_region,
    }


handler = task_state("Pre-Test Relays", PreTestInput, pre_test_relays)
