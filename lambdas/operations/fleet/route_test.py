"""The pre-test of routes: every hop of every path is measured, and routes that no longer pay are given up."""

from collections.abc import Mapping

from lambdas.adapters.records import ProbeResult
from lambdas.adapters.world import World
from lambdas.core.estimate import tested_routes
from lambdas.core.estimate.route_use import RouteUse
from lambdas.core.fleet import node_life, pairing
from lambdas.core.fleet.membership import Probe
from lambdas.core.fleet.pairing import RelayPath
from lambdas.core.fleet.relay_node import Measurement
from lambdas.core.fleet.topology import routes_of
from lambdas.core.record import transfer_life
from lambdas.core.record.transfer_record import Estimated
from lambdas.operations.fence import running
from lambdas.operations.fleet.pre_test import measure
from lambdas.operations.fleet.relay_end import reject
from lambdas.operations.seats import reports

Found = Mapping[str, ProbeResult]


def keep_what_pays(world: World, record: Estimated) -> list[str]:
    """Measure every ready path, note the rates, terminate the relays of routes that do not pay; ids of those paths.

    A route whose paths have one relay each has no hop to measure, and is kept as planned.
    """
    transfer = record.transfer
    nodes = world.nodes.of(transfer.transfer_id)
    ready = [
        (route, paths)
        for route in routes_of(transfer)
        if len(route.stages) > 1 and (paths := pairing.by_slot(route, nodes, "READY"))
    ]
    seconds, lanes = world.pre_test_seconds(transfer.request), record.plan.lanes_per_path
    probes = [
        Probe(path=path.path(route, record.paths, lanes), seconds=seconds) for route, paths in ready for path in paths
    ]
    found = measure(world, transfer, probes) if probes else {}
    record_now = running(world, transfer.transfer_id)
    if found is None or record_now is None:
        return []
    by_route = {route.first: paths for route, paths in ready}
    uses = [_measured(use, by_route.get(use.stage, []), found) for use in record_now.estimate.routes]
    kept = tested_routes.worth_keeping(
        _left(world, record_now),
        uses,
        record_now.estimate.figures,
        transfer.request.objective,
        world.clock.now() - transfer.execution_started_at,
    )
    gone = {use.stage: use for use in uses if use not in kept}
    dropped: list[str] = []
    for stage, paths in by_route.items():
        why = f"{gone[stage].words} do not pay: {gone[stage].rate.note}" if stage in gone else ""
        for path in paths:
            result = found.get(path.path_id)
            reason = why or _unmeasured(result)
            _note(world, path, result, reason)
            dropped += [path.path_id] if reason else []
    _tell(world, record_now, [use for stage, use in gone.items() if stage in by_route])
    return dropped


def _unmeasured(result: ProbeResult | None) -> str:
    """Why a path has no rate; empty where it has one."""
    if result and result.inter_region > 0:
        return ""
    return f"could not be measured: {result.error if result and result.error else 'the sender did not answer'}"


def _measured(use: RouteUse, paths: list[RelayPath], found: Found) -> RouteUse:
    if not paths:
        return use
    results = [found[path.path_id] for path in paths if path.path_id in found]
    whole = [result.hops or (result.inter_region,) for result in results if result.inter_region > 0]
    return tested_routes.measured(use, whole)


def _left(world: World, record: Estimated) -> int:
    progress = reports.of_sender(world, record.transfer)
    return max(record.plan.bytes - (progress.bytes if progress else 0), 0)


def _note(world: World, path: RelayPath, result: ProbeResult | None, reason: str) -> None:
    """Write what was measured to the relays of a path; terminate them where there is a reason to."""
    slowest, inside = (result.inter_region, result.intra_region) if result else (0.0, 0.0)
    hops = list(result.hops) if result else []
    for place, node in enumerate(path.relays):
        hop = hops[place] if place < len(hops) else None
        if reason:
            reject(world, node, Measurement(node.slot, slowest, inside), hop, reason)
        else:
            world.nodes.change(node, node_life.measure(slowest, inside, hop))


def _tell(world: World, record: Estimated, gone: list[RouteUse]) -> None:
    """The report says why a route has no relays."""
    spawned = record.spawned
    if not gone or spawned is None:
        return
    notes = [f"{use.words} were released after the pre-test: {use.rate.note}" for use in gone]
    told = spawned.model_copy(update={"notes": [*spawned.notes, *notes]})
    world.transfers.change(record.transfer, transfer_life.note(spawned=told))
