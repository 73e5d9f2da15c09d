"""While data moves: routes are planned again by what this transfer sees of them, and relays come and go for it.

Relays that come join before others leave, and what leaves drains: nothing is sent twice.
"""

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise

from lambdas.adapters.world import World
from lambdas.core.chunks.progress import Progress
from lambdas.core.errors import CptError
from lambdas.core.estimate import distcp, replanning, tested_routes
from lambdas.core.estimate.estimate import Estimate
from lambdas.core.estimate.figures import Figure
from lambdas.core.estimate.first_contact import RelayDecision
from lambdas.core.estimate.replanning import Carrying, Replan, Rest
from lambdas.core.estimate.route_use import RouteUse
from lambdas.core.estimate.row_cost import RELAYS_OF_PAIR
from lambdas.core.estimate.ways import Ways
from lambdas.core.fleet import pairing, relay_watch
from lambdas.core.fleet.answer import Answer
from lambdas.core.fleet.layout import is_direct
from lambdas.core.fleet.reconcile import Lease, next_slots, surplus
from lambdas.core.fleet.relay_node import JOIN_TIMEOUT_SECONDS, LIVE_STATES, Node
from lambdas.core.fleet.topology import Route, route_at, routes_of, slot_at
from lambdas.core.record import transfer_life
from lambdas.core.record.transfer_record import Estimated, Spawned
from lambdas.operations.estimate.routing import ways_of
from lambdas.operations.fence import running
from lambdas.operations.fleet import hand, relay_end
from lambdas.operations.fleet.relay_end import release_singles
from lambdas.operations.fleet.relay_start import await_ready
from lambdas.operations.fleet.relay_watch import circumstances
from lambdas.operations.fleet.remaining import allowed_mb_s
from lambdas.operations.fleet.replacement import RESUME_SECONDS
from lambdas.operations.fleet.spawned import note_spawned
from lambdas.operations.seats import reports
from lambdas.operations.spending import metering

# A change shows in the sender's reports when its relays have carried for half a minute.
REST_SECONDS = 60.0
# After a launch that was refused: EC2's answer rarely changes in a minute.
REFUSED_SECONDS = 300.0
# The sender reports every two seconds. What it said before its silence says nothing of routes.
SILENT_SECONDS = 30.0
# Each decision is kept in the transfer's record, and each relay that comes in a rule and an item.
MOST_DECISIONS = 200
LEFT = "its route was left for others"


def replan(world: World, transfer_id: str) -> Answer:
    """Make the plan again, and carry out what pays; what was done."""
    record = running(world, transfer_id)
    if record is None:
        return Answer.OVER
    progress = reports.of_sender(world, record.transfer)
    if progress is None or world.clock.now() - progress.at > SILENT_SECONDS or not is_due(world, record):
        return Answer.KNOWN
    nodes = world.nodes.of(transfer_id)
    if starting := [node for node in nodes if node.state in ("SPAWNED", "READY")]:
        return _resume(world, record, starting)
    rates = _rates(record, progress)
    if not rates or record.is_all_sent(progress.moved_bytes):
        return Answer.KNOWN
    ways = ways_of(record.transfer, record.estimate, world)
    if ways is None:
        return Answer.KNOWN
    carrying = _carrying(record, nodes, rates)
    if not all(pair in ways.borders for route in carrying for pair in pairwise(route.regions)):
        return Answer.KNOWN  # the map does not have it just now
    rest = _rest(record, progress, rates)
    regions = {stage.index: stage.region for route in routes_of(record.transfer) for stage in route.stages}
    told = tested_routes.told_by(ways, nodes, regions)
    remembered = replanning.seen(told, _left(world, record, nodes))
    seen = _with_live(replanning.seen(remembered, carrying), nodes)
    found = replanning.replan(seen, carrying, rest, RELAYS_OF_PAIR * _most_pairs(record))
    if found is None or not _is_preferred(world, record, found, seen, carrying, rest):
        return Answer.KEPT
    changes = replanning.changes(carrying, found.uses)
    planned = _estimate(record.estimate, ways, carrying, found)
    more = sum(max(count, 0) for count in changes.values())
    if not metering.bears_relays(world, record, planned, more):
        return Answer.TOO_DEAR
    # That took seconds, in which the same event may have come again, and others have decided.
    now = running(world, transfer_id)
    if now is None or now.decisions != record.decisions or world.nodes.of(transfer_id) != nodes:
        return Answer.OVER if now is None else Answer.KNOWN
    if not _keep(world, record, planned, _decision(world, record, progress, carrying, rest.direct, found)):
        return Answer.KNOWN
    return _carry_out(world, transfer_id, changes, nodes)


def _resume(world: World, record: Estimated, starting: list[Node]) -> Answer:
    """Wait for relays of the last plan whose launcher has died; what was to leave for them is planned again.

    Relays of the state machine may still be tested, and it tries again by itself.
    """
    since = record.decisions[-1].at if record.decisions else None
    if since is None or any(node.requested_at < since for node in starting):
        return Answer.KNOWN
    if world.clock.now() - max(node.requested_at for node in starting) <= RESUME_SECONDS:
        return Answer.KNOWN
    await_ready(world, record, join_at_once=True, seconds=JOIN_TIMEOUT_SECONDS)
    release_singles(world, record.transfer, world.nodes.of(record.transfer.transfer_id))
    return Answer.RESUMED


def _is_preferred(
    world: World, record: Estimated, found: Replan, ways: Ways, carrying: list[Carrying], rest: Rest
) -> bool:
    """Whether the request wants the other routes. `ways`: as seen, so that what serves has the rate that it has."""
    objective = record.transfer.request.objective
    gone = world.clock.now() - record.transfer.execution_started_at
    if objective.deadline_seconds is not None:
        objective = objective.model_copy(update={"deadline_seconds": max(round(objective.deadline_seconds - gone), 1)})
    serving = [ways.use_as(one.regions, one.relays) for one in carrying]
    figures = distcp.after(record.estimate.figures, gone)
    return replanning.is_preferred(found, serving, rest, figures, objective)


def is_due(world: World, record: Estimated) -> bool:
    """Whether routes may be planned again: nothing else decides about relays, and the last change has shown."""
    if not record.transfer.transit or record.estimate.on_the_way is not None:
        return False
    if len(record.decisions) >= MOST_DECISIONS:
        return False
    notes = record.spawned.notes if record.spawned else []
    changed = [record.decisions[-1].at] if record.decisions else []
    joined = [node.joined_at for node in world.nodes.of(record.transfer.transfer_id) if node.joined_at]
    # Whatever has joined since a refusal was not refused.
    refused = bool(notes) and notes[-1].startswith(_REFUSED) and max(joined, default=0.0) < max(changed, default=0.0)
    rest = REFUSED_SECONDS if refused else REST_SECONDS
    return bool(changed or joined) and world.clock.now() - max(changed + joined) >= rest


_REFUSED = "other routes could not be launched: "
MOST_NOTE = 500


def _rates(record: Estimated, progress: Progress) -> dict[str, float]:
    """MB/s of each path in the last half minute; nothing where there is none to go by.

    One report of the sender would not do: it tells of two seconds, in which a busy machine may have sent nothing.
    """
    steady = relay_watch.steady(record.watch, circumstances(record, progress))
    return {path_id: carried.rate for path_id, carried in steady.items()}


def _carrying(record: Estimated, nodes: list[Node], rates: Mapping[str, float]) -> list[Carrying]:
    """Every route with joined relays, and the rates of its paths together."""
    found = []
    for route in routes_of(record.transfer):
        joined = [node for node in route.own(nodes) if node.state == "JOINED"]
        counts = tuple(sum(node.stage == stage.index for node in joined) for stage in route.stages)
        if not all(counts):
            continue
        relays = (*counts, 0) if route.is_straight else counts
        rate = sum(rate for path_id, rate in rates.items() if slot_at(path_id, route.first) is not None)
        found.append(Carrying(route.first, route.way, relays, rate))
    return found


def _left(world: World, record: Estimated, nodes: list[Node]) -> list[Carrying]:
    """Routes that were left a while ago, with what a path of them carried then: the map does not know it.

    The more relays a route has disappointed, the longer that is remembered; else a transfer would go to and fro between
    two routes of which the map says too much.
    """
    found = []
    for use in record.estimate.routes:
        ended = [n.ended_at for n in nodes if n.stage == use.stage and n.reason == LEFT and n.ended_at is not None]
        if not use.count and ended and world.clock.now() - max(ended) < REFUSED_SECONDS * len(ended):
            last = 0 if route_at(record.transfer, use.stage).is_straight else 1
            relays = (*(1 for _ in use.regions[1:]), last)
            found.append(Carrying(use.stage, tuple(use.regions), relays, use.rate.value))
    return found


def _with_live(ways: Ways, nodes: list[Node]) -> Ways:
    """With the relays that live counted as room: the quotas were asked while these ran."""
    live = [node.region for node in nodes if node.state in LIVE_STATES and node.is_ours]
    most = {region: count + live.count(region) for region, count in ways.most_in_region.items()}
    return replace(ways, most_in_region=most)


def _rest(record: Estimated, progress: Progress, rates: Mapping[str, float]) -> Rest:
    figures = record.estimate.figures
    return Rest(
        size=max(record.plan.bytes - progress.bytes, 0) / 1e6,
        direct=sum(rate for path_id, rate in rates.items() if is_direct(path_id)),
        source=min(figures.send_without_limit, allowed_mb_s(record)),
        destination=figures.receive,
        spawn_seconds=figures.spawn.value,
    )


def _most_pairs(record: Estimated) -> int:
    """As many relays as were chosen; where time is all that counts, as many as there could be."""
    estimate = record.estimate
    wants_time = record.transfer.request.objective.minimise == "time"
    asked = record.transfer.request.relays.wanted
    return estimate.rows[-1].pairs if wants_time and asked == "auto" else estimate.chosen_pairs


def _estimate(estimate: Estimate, ways: Ways, carrying: list[Carrying], found: Replan) -> Estimate:
    """With the new routes in the chosen row; those that leave stay with no relays, since what they cost was spent.

    Their rate is what one path of them carries now, and at most what all may carry until they have left.
    """
    uses = list(found.uses)
    total = sum(use.rate.now for use in uses) + estimate.figures.direct.now
    uses = [use.model_copy(update={"share": round(use.rate.now / total, 4)}) for use in uses]
    new = {use.stage for use in uses}
    known = {use.stage: use for use in estimate.chosen.planned}
    serving = {one.stage: ways.use_as(one.regions, one.relays) for one in carrying}
    rates = {one.stage: one.rate / min(filter(None, one.relays)) for one in carrying}
    gone = [
        _gone(known.get(stage) or serving[stage], serving.get(stage), rates.get(stage))
        for stage in known | serving
        if stage not in new
    ]
    rows = [
        row.model_copy(update={"planned": [*uses, *gone]}) if row.pairs == estimate.chosen_pairs else row
        for row in estimate.rows
    ]
    return estimate.model_copy(update={"rows": rows})


def _gone(use: RouteUse, serving: RouteUse | None, rate: float | None) -> RouteUse:
    """A route without its relays; with what a path of it carries, if it does."""
    left = use.model_copy(update={"relays": [0] * len(use.relays), "lent": None, "share": 0.0})
    if serving is None or rate is None:
        return left
    most = max(use.rate.most, serving.rate.most, rate)
    seen = Figure(value=rate, high=most if most > rate else None, origin="measured", note="a path, when it was left")
    return left.model_copy(update={"rate": seen})


def _decision(
    world: World, record: Estimated, progress: Progress, carrying: list[Carrying], direct: float, found: Replan
) -> RelayDecision:
    rates = sum(one.rate for one in carrying)
    now, first = world.clock.now(), progress.first_byte_at
    return RelayDecision(
        at=now,
        after=round(max(progress.at - first, 0.0), 3) if first is not None else 0.0,
        served=sum(min(filter(None, one.relays)) for one in carrying),
        pairs=sum(use.paths for use in found.uses),
        last_slot=max((node.slot for node in world.nodes.of(record.transfer.transfer_id)), default=0),
        instance_type=record.estimate.instance_type,
        direct=round(direct, 3),
        total=round(direct + rates, 3),
        reason=found.words,
    )


def _keep(world: World, record: Estimated, estimate: Estimate, decision: RelayDecision) -> bool:
    """Return whether nobody else has decided since the record was read; only then the plan is kept, and told."""
    taken = [one.to_document() for one in (*record.decisions, decision)]
    kept = world.transfers.change(record.transfer, transfer_life.note(estimate=estimate, decisions=taken))
    if kept:
        world.events.put("Relays Decided", {"transferId": record.transfer.transfer_id, **decision.news()})
    return kept is not None


def _carry_out(world: World, transfer_id: str, changes: Mapping[int, int], nodes: list[Node]) -> Answer:
    """`nodes`: as they were when it was decided, so that who carries it out twice launches and ends the same relays."""
    record = running(world, transfer_id)
    if record is None:
        return Answer.OVER
    transfer, leaving = record.transfer, surplus(nodes, changes)
    more = {stage: count for stage, count in changes.items() if count > 0}
    slots = {at: new for route in routes_of(transfer) for at, new in next_slots(route, nodes, _of(route, more)).items()}
    if slots:
        wanted = [Lease("launched", stage, tuple(new)) for stage, new in slots.items()]
        try:
            launched = hand.lease(world, record, wanted)
        except CptError as error:
            return _refused(world, record, str(error))
        if not launched.nodes:
            return _refused(world, record, "; ".join(launched.notes))
        paths = pairing.strength(routes_of(transfer), launched.nodes, "SPAWNED")
        note_spawned(world, record, Spawned(wanted=paths, launched=paths, notes=launched.notes))
        await_ready(world, record, join_at_once=True, seconds=JOIN_TIMEOUT_SECONDS)
        nodes = world.nodes.of(transfer_id)
        release_singles(world, transfer, nodes)
        new = {node.node_id for node in launched.nodes}
        joined = sum(node.node_id in new and node.state == "JOINED" for node in nodes)
        if joined < sum(map(len, slots.values())):
            # What leaves would not be made up for: the next plan goes by what came.
            return Answer.PARTLY if joined else _refused(world, record, "none of the new relays could join")
    if leaving:
        relay_end.drain_and_release(world, transfer, leaving, LEFT)
    return Answer.CHANGED


def _of(route: Route, counts: Mapping[int, int]) -> dict[int, int]:
    return {stage: count for stage, count in counts.items() if stage in route.indices}


def _refused(world: World, record: Estimated, why: str) -> Answer:
    now = running(world, record.transfer.transfer_id) or record
    note_spawned(world, now, Spawned(wanted=0, launched=0, notes=[f"{_REFUSED}{why}"[:MOST_NOTE]]))
    return Answer.REFUSED
