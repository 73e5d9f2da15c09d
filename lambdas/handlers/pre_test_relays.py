"""Pre-Test Relays: the sender measures every ready pair along its own path; the lower half is terminated."""

from typing import Any

from lambdas.adapters.records import TransferRecord
from lambdas.adapters.world import World
from lambdas.core import fleet
from lambdas.core.documents import Handover
from lambdas.core.errors import TransferFenced
from lambdas.core.fleet import Measurement, Pair
from lambdas.core.transfer import AcceptedTransfer, Probe
from lambdas.operations import membership
from lambdas.operations.relays import unused_discarded
from lambdas.runtime.handler import task_state

# Two hops one after the other for each pair, should the sender test the pairs in turn, and time to see the record.
SPARE_SECONDS = 20.0
# Of Lambda's 900 s, so that the slower half can still be terminated.
LONGEST_SECONDS = 780.0


class PreTestInput(Handover):
    """Input of the state."""

    transfer: AcceptedTransfer


def pre_test_relays(event: PreTestInput, world: World) -> dict[str, Any]:
    """The ranking, best first, and the slots that were rejected."""
    transfer_id = event.transfer.transfer_id
    record = world.transfers.get(transfer_id)
    if record is None or record.paths is None or record.estimate is None:
        raise TransferFenced(f"the record of {transfer_id} does not say what to test")
    pairs = fleet.pairs(world.nodes.of(transfer_id), "READY")
    if len(pairs) <= record.estimate.chosen_pairs or not record.running:
        return {"ranking": [], "rejected": []}
    with unused_discarded(world, transfer_id):
        return _keep_the_best(world, record, pairs, record.estimate.chosen_pairs)


def _keep_the_best(world: World, record: TransferRecord, pairs: list[Pair], count: int) -> dict[str, Any]:
    measured = _measure(world, record, pairs)
    if measured is None:
        return {"ranking": [], "rejected": []}
    ranking = fleet.rank(measured)
    rejected = fleet.lower_half(ranking, count)
    for pair in pairs:
        _note(world, pair, next(m for m in ranking if m.slot == pair.slot), rejected=pair.slot in rejected)
    return {"ranking": [_document(m) for m in ranking], "rejected": rejected}


def _document(measurement: Measurement) -> dict[str, Any]:
    return {
        "slot": measurement.slot,
        "interRegionMBps": measurement.inter_region,
        "intraRegionMBps": measurement.intra_region,
    }


def _measure(world: World, record: TransferRecord, pairs: list[Pair]) -> list[Measurement] | None:
    """Put the probes into the membership, wait for their results, take them out; no result counts as 0 MB/s.

    None when the transfer was over before all had answered.
    """
    transfer_id, seconds = record.transfer.transfer_id, world.env.pre_test_seconds
    assert record.paths is not None  # noqa: S101  checked by the caller
    lanes = record.plan.lanes_per_path if record.plan else 1
    probes = [Probe(path=pair.path(record.paths, lanes), seconds=seconds) for pair in pairs]
    membership.change(world, transfer_id, lambda current: current.changed(probes=probes))
    deadline = world.clock.monotonic() + min(2 * seconds * len(pairs) + SPARE_SECONDS, LONGEST_SECONDS)
    wanted = {probe.path.path_id: probe.path.generation for probe in probes}
    while True:
        found = world.agents.probe_results(transfer_id)
        results = {r.path_id: r for r in found if wanted.get(r.path_id) == r.generation}
        now = world.transfers.get(transfer_id)
        if now is None or not now.running:
            return None
        if len(results) == len(wanted) or world.clock.monotonic() >= deadline:
            break
        world.clock.sleep(world.env.poll_seconds)
    membership.change(world, transfer_id, lambda current: current.changed(probes=[]))
    measured = {pair.slot: results.get(fleet.path_id(pair.slot)) for pair in pairs}
    return [
        Measurement(slot, r.inter_region if r else 0.0, r.intra_region if r else 0.0) for slot, r in measured.items()
    ]


def _note(world: World, pair: Pair, measurement: Measurement, *, rejected: bool) -> None:
    measured = {
        "measured_inter_region": measurement.inter_region,
        "measured_intra_region": measurement.intra_region,
    }
    ended = {"ended_at": world.clock.now(), "reason": "slower half of the pre-test"} if rejected else {}
    for node in (pair.source, pair.destination):
        moved = world.nodes.move(node, "REJECTED" if rejected else "READY", ["READY"], **measured, **ended)
        if moved and rejected:
            world.compute(node.region).terminate([node.instance_id])


handler = task_state("Pre-Test Relays", PreTestInput, pre_test_relays)
