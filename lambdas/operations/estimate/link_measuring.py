"""A profiling execution with third regions: every link that routes could use is measured, and the direct path."""

from collections.abc import Mapping

from lambdas.adapters.records import ProbeResult
from lambdas.adapters.world import World
from lambdas.core.errors import MeasuringFailed
from lambdas.core.estimate.profiling import Measured, MeasuredLink, MeasuredPair, spawn_seconds
from lambdas.core.fleet import node_life, stations
from lambdas.core.fleet.pairing import RelayPath
from lambdas.core.fleet.relay_node import Node
from lambdas.core.fleet.stations import Leg
from lambdas.core.record.transfer_record import Estimated, Outcome
from lambdas.operations.estimate.profiling import measure_direct, why_nothing
from lambdas.operations.fleet.pre_test import LONGEST_SECONDS, measure
from lambdas.operations.token import finish

Found = dict[Leg, ProbeResult]
# Indices of the pair's stages.
ENDS = (0, 1)
NO_TIME = "there was no time left"


def measure_links(world: World, record: Estimated) -> None:
    """Measure in rounds, then write what was found as the outcome; raises MeasuringFailed.

    Links of a relay that did not become ready are left out, as are those for which no time is left.
    """
    transfer = record.transfer
    nodes = {node.stage: node for node in world.nodes.of(transfer.transfer_id) if node.state == "READY"}
    there = [stage for stage in stations.stations_of(transfer) if stage.index in nodes]
    if not set(ENDS) <= nodes.keys():
        raise MeasuringFailed(why_nothing(world, transfer, []))
    began = world.clock.monotonic()
    pair = RelayPath((nodes[0], nodes[1]))
    direct = measure_direct(world, record, pair)
    if direct is None:
        return  # it is over, for another reason
    found: Found = {}
    seconds = world.pre_test_seconds(transfer.request)
    for legs in stations.rounds(there):
        # A round takes less by far if all answer.
        if world.clock.monotonic() - began > LONGEST_SECONDS - 3 * seconds:
            found |= {leg: ProbeResult(leg.path_id, 0, 0.0, 0.0, NO_TIME) for leg in legs}
            continue
        probes = [stations.probe(transfer, record.paths, nodes, leg, seconds) for leg in legs]
        results = measure(world, transfer, probes)
        if results is None:
            return
        silent = "the sender did not answer"
        found |= {leg: results.get(leg.path_id) or ProbeResult(leg.path_id, 0, 0.0, 0.0, silent) for leg in legs}
    if not any(result.inter_region > 0 for result in found.values()):
        raise MeasuringFailed(why_nothing(world, transfer, []))
    _note(world, nodes, found)
    finish(world, transfer, Outcome(measured=_measured(direct, found, pair, nodes, seconds)))


def _note(world: World, nodes: Mapping[int, Node], found: Found) -> None:
    """The relays beside the ends have the rate of their own link, as a pair has; others the best that they send."""
    own = _own(found)
    for stage, node in nodes.items():
        sent = [result.inter_region for leg, result in found.items() if leg.start.index == stage]
        rates = (own.inter_region, own.intra_region) if stage in ENDS else (max(sent, default=0.0), 0.0)
        world.nodes.change(node, node_life.measure(*rates))


def _own(found: Found) -> ProbeResult:
    """Of the link between the ends' regions."""
    return next(result for leg, result in found.items() if (leg.start.index, leg.end.index) == ENDS)


def _measured(direct: float, found: Found, pair: RelayPath, nodes: Mapping[int, Node], seconds: float) -> Measured:
    own = _own(found)
    rates = [direct, *(result.inter_region for result in found.values())]
    return Measured(
        direct=direct,
        pairs=[
            MeasuredPair(
                path_id=pair.path_id,
                inter_region=own.inter_region,
                intra_region=own.intra_region,
                spawn_seconds=spawn_seconds(pair.relays),
            )
        ],
        links=[_link(leg, result, nodes) for leg, result in sorted(found.items(), key=lambda item: item[0].link)],
        sent_bytes=round(sum(rates) * 1e6 * seconds),
    )


def _link(leg: Leg, result: ProbeResult, nodes: Mapping[int, Node]) -> MeasuredLink:
    kinds = {nodes[leg.start.index].instance_type, nodes[leg.end.index].instance_type}
    return MeasuredLink(
        from_region=leg.start.region,
        to_region=leg.end.region,
        # Of two types, nobody can tell which one limited.
        instance_type=kinds.pop() if len(kinds) == 1 else None,
        inter_region=result.inter_region,
        error=result.error,
    )
