"""The end of a profiling execution: the direct path is measured too, and the transfer branch need wait no longer."""

from lambdas.adapters.world import World
from lambdas.core.errors import MeasuringFailed
from lambdas.core.estimate import profiling
from lambdas.core.fleet.membership import DIRECT, Probe, TransferPath
from lambdas.core.fleet.pairing import RelayPath
from lambdas.core.fleet.relay_node import Measurement
from lambdas.core.fleet.topology import route_of
from lambdas.core.record.transfer_record import Estimated, Outcome
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations.fleet.pre_test import measure
from lambdas.operations.token import finish


def finish_measuring(world: World, record: Estimated, pairs: list[RelayPath], ranking: list[Measurement]) -> None:
    """Measure the direct path, then write what was found as the transfer's outcome; raises MeasuringFailed.

    The way is that of Table 5.2: from the source machine to a relay in the other region, here the best pair's.
    """
    seconds = world.pre_test_seconds(record.transfer.request)
    answered = [one for one in ranking if one.inter_region > 0]
    if not answered:
        raise MeasuringFailed(why_nothing(world, record.transfer, ranking))
    direct = measure_direct(world, record, next(pair for pair in pairs if pair.slot == answered[0].slot))
    if direct is not None:
        found = profiling.measured(direct, answered, pairs, seconds)
        finish(world, record.transfer, Outcome(measured=found))


def measure_direct(world: World, record: Estimated, pair: RelayPath) -> float | None:
    """MB/s from the source machine to the pair's relay in the other region; raises MeasuringFailed.

    None where the transfer is over, for another reason.
    """
    probe = Probe(path=_direct(record, pair), seconds=world.pre_test_seconds(record.transfer.request))
    results = measure(world, record.transfer, [probe])
    if results is None:
        return None
    result = results.get(probe.path.path_id)
    if result is None or result.inter_region <= 0:
        why = result.error if result else "the sender did not answer"
        raise MeasuringFailed(f"the direct path: from {record.transfer.at_source.instance_id} to a relay: {why}")
    return result.inter_region


def _direct(record: Estimated, pair: RelayPath) -> TransferPath:
    path = pair.path(route_of(record.transfer), record.paths, 1)
    return path.model_copy(update={"path_id": DIRECT, "hops": path.hops[-1:]})


def why_nothing(world: World, transfer: AcceptedTransfer, silent: list[Measurement]) -> str:
    """Why no relays could be measured; `silent`: those that were asked."""
    if not silent:
        lost = [f"{node.node_id}: {node.reason}" for node in world.nodes.of(transfer.transfer_id) if node.reason]
        return f"no pair of relays was ready: {'; '.join(lost) or 'none was launched'}"
    errors = [f"{one.path_id}: {one.error}" for one in world.agents.probe_results(transfer.partition) if one.error]
    return f"no pair of relays could be measured: {'; '.join(errors) or 'the sender did not answer'}"
