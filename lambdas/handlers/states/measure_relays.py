"""Measure Relays: the sender measures every pair along its path, or every link between regions, and the direct path.

What was found is the outcome, with which the sender's task ends.
"""

from typing import Any

from lambdas.adapters.world import World
from lambdas.handlers.states.pre_test_relays import PreTestInput
from lambdas.operations.estimate.link_measuring import measure_links
from lambdas.operations.estimate.profiling import finish_measuring
from lambdas.operations.fence import estimated
from lambdas.operations.fleet.pre_test import run
from lambdas.operations.fleet.relay_end import unused_discarded
from lambdas.runtime.handler import task_state


def measure_relays(event: PreTestInput, world: World) -> dict[str, Any]:
    """The pairs, best first, and the ids of those that were terminated, the lower half; raises MeasuringFailed."""
    transfer_id = event.transfer.transfer_id
    nothing: dict[str, Any] = {"ranking": [], "rejected": []}
    record = estimated(world, transfer_id)
    if not record.running:
        return nothing
    with unused_discarded(world, transfer_id):
        if not record.estimate.is_by_pairs:
            measure_links(world, record)
            return nothing
        tested = run(world, record, always=True)
        if tested is None:
            return nothing
        finish_measuring(world, record, tested.paths, tested.ranking)
    return tested.to_document()


handler = task_state("Measure Relays", PreTestInput, measure_relays)
