"""Pre-Test Relays: the sender measures every ready pair along its own path; the lower half is terminated.

Of routes it measures every hop; relays of those that do not pay any more are terminated.

Where nothing is to be moved but measured, that and the direct path's rate are the outcome.
"""

from typing import Any

from lambdas.adapters.world import World
from lambdas.core.documents import Handover
from lambdas.core.fleet import pairing, relay_node
from lambdas.core.fleet.pairing import RelayPath
from lambdas.core.fleet.relay_node import Measurement
from lambdas.core.fleet.topology import route_of
from lambdas.core.record.transfer_record import Estimated
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations.estimate.link_measuring import measure_links
from lambdas.operations.estimate.profiling import finish_measuring
from lambdas.operations.fence import estimated
from lambdas.operations.fleet.pre_test import note, rank_pairs
from lambdas.operations.fleet.relay_end import unused_discarded
from lambdas.operations.fleet.route_test import keep_what_pays
from lambdas.runtime.handler import task_state


class PreTestInput(Handover):
    """Input of the state."""

    transfer: AcceptedTransfer


def pre_test_relays(event: PreTestInput, world: World) -> dict[str, Any]:
    """The ranking, best first, and the slots, or the paths of routes, that were rejected; raises MeasuringFailed."""
    transfer_id, is_profiling = event.transfer.transfer_id, event.transfer.request.is_profiling
    record = estimated(world, transfer_id)
    if record.estimate.chosen.planned:
        with unused_discarded(world, transfer_id):
            return {"ranking": [], "rejected": _routes(world, record) if record.running else []}
    pairs = pairing.by_slot(route_of(event.transfer), world.nodes.of(transfer_id), "READY")
    few = len(pairs) <= record.estimate.chosen_pairs
    if not record.running or (few and not is_profiling):
        return {"ranking": [], "rejected": []}
    with unused_discarded(world, transfer_id):
        return _keep_the_best(world, record, pairs, record.estimate.chosen_pairs)


def _routes(world: World, record: Estimated) -> list[str]:
    if not record.transfer.request.is_profiling:
        return keep_what_pays(world, record)
    measure_links(world, record)
    return []


def _keep_the_best(world: World, record: Estimated, pairs: list[RelayPath], count: int) -> dict[str, Any]:
    ranking = rank_pairs(world, record, pairs)
    if ranking is None:
        return {"ranking": [], "rejected": []}
    rejected = relay_node.lower_half(ranking, count)
    note(world, pairs, ranking, rejected)
    if record.transfer.request.is_profiling:
        finish_measuring(world, record, pairs, ranking)
    return {"ranking": [_document(m) for m in ranking], "rejected": rejected}


def _document(measurement: Measurement) -> dict[str, Any]:
    return {
        "slot": measurement.slot,
        "interRegionMBps": measurement.inter_region,
        "intraRegionMBps": measurement.intra_region,
    }


handler = task_state("Pre-Test Relays", PreTestInput, pre_test_relays)
