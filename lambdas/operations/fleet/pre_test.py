"""Probes along the paths of relays, run by the sender; the better pairs are kept, the others terminated."""

from lambdas.adapters.records import ProbeResult
from lambdas.adapters.world import World
from lambdas.core.estimate import pre_tests
from lambdas.core.fleet import node_life, relay_node
from lambdas.core.fleet.membership import Probe
from lambdas.core.fleet.pairing import RelayPath
from lambdas.core.fleet.relay_node import Measurement
from lambdas.core.fleet.topology import route_of
from lambdas.core.record.transfer_record import Estimated
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations.fence import running
from lambdas.operations.fleet import membership, relay_end

# To see the record, to connect, and to write the results.
SPARE_SECONDS = 20.0
# The sender may still have an earlier batch.
BATCHES = 2
# Of Lambda's 900 s, so that the slower half can still be terminated.
LONGEST_SECONDS = 780.0


def rank_pairs(world: World, record: Estimated, pairs: list[RelayPath]) -> list[Measurement] | None:
    """Measure every pair and note the rates; best first, no result counts as 0 MB/s.

    None when the transfer was over before all had answered.
    """
    seconds, lanes = world.pre_test_seconds(record.transfer.request), record.plan.lanes_per_path
    route = route_of(record.transfer)
    probes = [Probe(path=pair.path(route, record.paths, lanes), seconds=seconds) for pair in pairs]
    results = measure(world, record.transfer, probes)
    if results is None:
        return None
    measured = {pair.slot: results.get(pair.path_id) for pair in pairs}
    return relay_node.rank(
        Measurement(slot, r.inter_region if r else 0.0, r.intra_region if r else 0.0) for slot, r in measured.items()
    )


def measure(world: World, transfer: AcceptedTransfer, probes: list[Probe]) -> dict[str, ProbeResult] | None:
    """Put the probes into the membership, wait for their results, take them out; results by path.

    None when the transfer was over before all had answered.
    """
    membership.change(world, transfer.shared, lambda current: current.changed(probes=probes))
    longest = BATCHES * _batch_seconds(probes) + SPARE_SECONDS
    deadline = world.clock.monotonic() + min(longest, LONGEST_SECONDS)
    wanted = {probe.path.path_id: probe.path.generation for probe in probes}
    while True:
        found = world.agents.probe_results(transfer.shared)
        results = {r.path_id: r for r in found if wanted.get(r.path_id) == r.generation}
        if not running(world, transfer.transfer_id):
            return None
        if len(results) == len(wanted) or world.clock.monotonic() >= deadline:
            break
        world.clock.sleep(world.env.poll_seconds)
    membership.change(world, transfer.shared, lambda current: current.changed(probes=[]))
    return results


def _batch_seconds(probes: list[Probe]) -> float:
    """Those of one hop run one after another, all others at once."""
    alone = sum(probe.seconds for probe in probes if len(probe.path.hops) == 1)
    along = [probe for probe in probes if len(probe.path.hops) > 1]
    longest = [pre_tests.seconds(probe.seconds, len(along), len(probe.path.hops) - 1) for probe in along]
    return alone + max(longest, default=0.0)


def note(world: World, pairs: list[RelayPath], ranking: list[Measurement], rejected: list[int]) -> None:
    """Write the rates to all relays of each pair; terminate those of the `rejected` slots."""
    by_slot = {pair.slot: pair for pair in pairs}
    for measurement in ranking:
        for node in by_slot[measurement.slot].relays:
            if measurement.slot in rejected:
                relay_end.reject(world, node, measurement)
            else:
                world.nodes.change(node, node_life.measure(measurement.inter_region, measurement.intra_region))
