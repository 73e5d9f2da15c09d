"""The pre-test: probes along the paths of ready relays, run by the sender, and what follows from their rates.

Of a route with more relays than are wanted the better ones are kept. Of any other one every hop counts: its relays are
terminated where it does not pay any more.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lambdas.adapters.records import ProbeResult
from lambdas.adapters.world import World
from lambdas.core.estimate import pre_tests, tested_routes
from lambdas.core.estimate.route_use import RouteUse
from lambdas.core.fleet import node_life, pairing, relay_node
from lambdas.core.fleet.membership import Probe
from lambdas.core.fleet.pairing import RelayPath
from lambdas.core.fleet.relay_node import Measurement
from lambdas.core.fleet.topology import routes_of
from lambdas.core.record import transfer_life
from lambdas.core.record.transfer_record import Estimated
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations.fence import running
from lambdas.operations.fleet import membership, relay_end
from lambdas.operations.seats import reports

# To see the record, to connect, and to write the results.
SPARE_SECONDS = 20.0
# The sender may still have an earlier batch.
BATCHES = 2
# Of Lambda's 900 s, so that the slower half can still be terminated.
LONGEST_SECONDS = 780.0
SLOWER = "slower half of the pre-test"

Found = Mapping[str, ProbeResult]


@dataclass(frozen=True)
class Tested:
    """`ranking`: paths of routes with more relays than are wanted, best first, `paths`: the same by slot; `rejected`:
    ids of the paths whose relays were terminated.
    """

    ranking: list[Measurement]
    paths: list[RelayPath]
    rejected: list[str]

    def to_document(self) -> dict[str, Any]:
        """Output of the state."""
        return {"ranking": [one.to_document() for one in self.ranking], "rejected": self.rejected}


def run(world: World, record: Estimated, *, always: bool = False) -> Tested | None:
    """Measure every ready path, note the rates, terminate what is not to serve; no result counts as 0 MB/s.

    `always`: even where nothing may follow from the rates. A route whose paths have one relay each has no hop to
    measure, and is kept as planned. None when the transfer was over before all had answered.
    """
    transfer, nodes = record.transfer, world.nodes.of(record.transfer.transfer_id)
    every = [(route, pairing.by_slot(route, nodes, "READY")) for route in routes_of(transfer) if len(route.stages) > 1]
    ready = {route.first: paths for route, paths in every}
    if not always and not _is_to_learn(record.estimate.routes, ready):
        return Tested([], [], [])
    seconds, lanes = world.pre_test_seconds(transfer.request), record.plan.lanes_per_path
    layout = membership.layout(world, transfer)
    probes = [
        Probe(path=path.path(route, record.paths, lanes, layout), seconds=seconds)
        for route, paths in every
        for path in paths
    ]
    found = measure(world, transfer, probes) if probes else {}
    record_now = running(world, transfer.transfer_id)
    if found is None or record_now is None:
        return None
    several = [path for use in record_now.estimate.routes if has_spare(use) for path in ready.get(use.stage, [])]
    ranking = relay_node.rank(_measurement(path, found.get(path.path_id)) for path in several)
    reasons = _slower(record_now, ready, ranking) | _not_paying(world, record_now, ready, found)
    for path in (path for paths in ready.values() for path in paths):
        _note(world, path, found.get(path.path_id), reasons.get(path.path_id, ""), with_hops=path not in several)
    return Tested(ranking, several, list(reasons))


def has_spare(use: RouteUse) -> bool:
    """Return whether more relays are launched for its pre-test than are wanted."""
    return use.tested.paths > use.paths


def _is_to_learn(uses: list[RouteUse], ready: Mapping[int, list[RelayPath]]) -> bool:
    """Return whether anything may follow from rates: where no relay is too many, one route is as good as it is."""
    return any(not has_spare(use) or len(ready.get(use.stage, [])) > use.paths for use in uses)


def _slower(record: Estimated, ready: Mapping[int, list[RelayPath]], ranking: list[Measurement]) -> dict[str, str]:
    """Why paths are not to serve, by id, of routes with more of them than are wanted."""
    found: dict[str, str] = {}
    for use in filter(has_spare, record.estimate.routes):
        slots = relay_node.lower_half(ranking, use.paths)
        found |= {path.path_id: SLOWER for path in ready.get(use.stage, []) if path.slot in slots}
    return found


def _not_paying(world: World, record: Estimated, ready: Mapping[int, list[RelayPath]], found: Found) -> dict[str, str]:
    """The same of all other routes: they are judged by what their hops carry, for the bytes that are left."""
    judged = [use for use in record.estimate.routes if not has_spare(use)]
    if not judged:
        return {}
    uses = [_measured(use, ready.get(use.stage, []), found) for use in judged]
    kept = tested_routes.worth_keeping(
        _left(world, record),
        uses,
        record.estimate.figures,
        record.transfer.request.objective,
        world.clock.now() - record.transfer.execution_started_at,
    )
    gone = [use for use in uses if use not in kept and ready.get(use.stage, [])]
    _tell(world, record, gone)
    why = {use.stage: f"{use.words} do not pay: {use.rate.note}" for use in gone}
    reasons = {path.path_id: why[use.stage] for use in gone for path in ready[use.stage]}
    served = [path for use in uses if use not in gone for path in ready.get(use.stage, [])]
    unmeasured = {path.path_id: silent for path in served if (silent := _unmeasured(found.get(path.path_id)))}
    return reasons | unmeasured


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


def measure(world: World, transfer: AcceptedTransfer, probes: list[Probe]) -> dict[str, ProbeResult] | None:
    """Put the probes into the membership, wait for their results, take them out; results by path.

    None when the transfer was over before all had answered.
    """
    membership.change(world, transfer.partition, lambda current: current.changed(probes=probes))
    longest = BATCHES * _batch_seconds(probes) + SPARE_SECONDS
    deadline = world.clock.monotonic() + min(longest, LONGEST_SECONDS)
    wanted = {probe.path.path_id: probe.path.generation for probe in probes}
    while True:
        found = world.agents.probe_results(transfer.partition)
        results = {r.path_id: r for r in found if wanted.get(r.path_id) == r.generation}
        if not running(world, transfer.transfer_id):
            return None
        if len(results) == len(wanted) or world.clock.monotonic() >= deadline:
            break
        world.clock.sleep(world.env.poll_seconds)
    membership.change(world, transfer.partition, lambda current: current.changed(probes=[]))
    return results


def _batch_seconds(probes: list[Probe]) -> float:
    """Those of one hop run one after another, all others at once."""
    alone = sum(probe.seconds for probe in probes if len(probe.path.hops) == 1)
    along = [probe for probe in probes if len(probe.path.hops) > 1]
    longest = [pre_tests.seconds(probe.seconds, len(along), len(probe.path.hops) - 1) for probe in along]
    return alone + max(longest, default=0.0)


def _measurement(path: RelayPath, result: ProbeResult | None) -> Measurement:
    return Measurement(path.slot, result.inter_region if result else 0.0, result.intra_region if result else 0.0)


def _note(world: World, path: RelayPath, result: ProbeResult | None, reason: str, *, with_hops: bool) -> None:
    """Write what was measured to the relays of a path; terminate them where there is a reason to.

    `with_hops`: to each what the hop carries that it feeds; else all have the rate of their path.
    """
    measured = _measurement(path, result)
    hops = list(result.hops) if result and with_hops else []
    for place, node in enumerate(path.relays):
        hop = hops[place] if place < len(hops) else None
        if reason:
            relay_end.reject(world, node, measured, hop, reason)
        else:
            world.nodes.change(node, node_life.measure(measured.inter_region, measured.intra_region, hop))


def _tell(world: World, record: Estimated, gone: list[RouteUse]) -> None:
    """The report says why a route has no relays."""
    spawned = record.spawned
    if not gone or spawned is None:
        return
    notes = [f"{use.words} were released after the pre-test: {use.rate.note}" for use in gone]
    told = spawned.model_copy(update={"notes": [*spawned.notes, *notes]})
    world.transfers.change(record.transfer, transfer_life.note(spawned=told))
