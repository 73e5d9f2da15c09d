"""More relays for a transfer: launched by what was decided, at its start or while data moves."""

from dataclasses import replace

from lambdas.adapters.world import World
from lambdas.core.errors import CptError, NoCapacity
from lambdas.core.estimate import first_contact
from lambdas.core.estimate.estimate import Estimate
from lambdas.core.estimate.route_use import RouteUse
from lambdas.core.fleet import pairing
from lambdas.core.fleet.launch_queue import LaunchQueue
from lambdas.core.fleet.relay_counts import RelayCounts
from lambdas.core.fleet.relay_node import JOIN_TIMEOUT_SECONDS
from lambdas.core.fleet.topology import route_of, routes_of, side_of
from lambdas.core.record.transfer_record import Estimated, Spawned
from lambdas.operations.estimate import deciding
from lambdas.operations.fence import running
from lambdas.operations.fleet.providers.launched import Launched, launch_relays
from lambdas.operations.fleet.providers.lent import enlist
from lambdas.operations.fleet.relay_end import release_singles
from lambdas.operations.fleet.relay_start import await_ready
from lambdas.operations.fleet.spawned import note_spawned
from lambdas.operations.spending import metering

# A decision is not taken again so soon: an event may come twice, and what was launched needs T_v to show.
REST_SECONDS = 120.0


def launch_pairs(
    world: World, record: Estimated, estimate: Estimate, taken: int, wanted: int, queue: LaunchQueue | None = None
) -> Launched:
    """`wanted` pairs in the slots after those that are `taken`; raises NoCapacity where the budget bears none.

    `queue`: see `launch_relays`.
    """
    request = record.transfer.request
    if estimate.routes:
        return _launch_routes(world, record, estimate, queue)
    relay_counts = RelayCounts.of(record.transfer)
    there, all_in_all = relay_counts.launched(taken), taken + wanted
    affordable = metering.affordable(world, record, relay_counts.launched(all_in_all) - there)
    bearable = relay_counts.most_pairs(there + affordable, all_in_all) - taken
    budget = f"$.objective.maxCostUsd: {request.objective.max_cost_usd} bears {bearable} of {wanted} pairs now"
    if bearable <= 0:
        raise NoCapacity(budget)
    # The selected one first; where it has no capacity, the others in the request's order.
    types = {at: [estimate.type_of(at), *request.relays.types_of(at, world.env.instance_types)] for at in (0, 1)}
    slots = relay_counts.to_launch(taken + bearable)
    new = {at: left for at, every in slots.items() if (left := [slot for slot in every if slot > taken])}
    launched = launch_relays(world, record, new, types, queue)
    route = route_of(record.transfer, relay_counts.of_stages(bearable))
    existing = enlist(world, record, route) if taken == 0 else []
    launched = replace(launched, nodes=[*launched.nodes, *existing])
    return launched if bearable == wanted else replace(launched, notes=[*launched.notes, budget])


def _launch_routes(world: World, record: Estimated, estimate: Estimate, queue: LaunchQueue | None) -> Launched:
    """The relays of the chosen row's routes; whole routes are left out where the budget does not bear all.

    Relays that were there when it was decided serve already. Those that came since are of this very launch, repeated.
    """
    transfer, kept, notes = record.transfer, list(estimate.routes), list[str]()
    decided = record.decisions[-1].at if record.decisions else 0.0
    there = {(n.stage, n.slot) for n in world.nodes.of(transfer.transfer_id) if n.requested_at < decided}

    def missing(use: RouteUse) -> dict[int, list[int]]:
        left = {
            stage: [slot for slot in slots if (stage, slot) not in there] for stage, slots in use.to_launch().items()
        }
        return {stage: slots for stage, slots in left.items() if slots}

    def relays() -> int:
        return sum(len(slots) for use in kept for slots in missing(use).values())

    affordable = metering.affordable(world, record, relays())
    while kept and relays() > affordable:
        left = kept.pop()
        most = transfer.request.objective.max_cost_usd
        notes.append(f"$.objective.maxCostUsd: {most} does not bear {left.words} now")
    if not kept:
        raise NoCapacity("; ".join(notes))
    slots = {stage: new for use in kept for stage, new in missing(use).items()}
    allowed = [transfer.request.relays.types_of(side, world.env.instance_types) for side in (0, 1)]
    types = {stage: [estimate.type_of(stage), *allowed[side_of(transfer, stage)]] for stage in slots}
    launched = launch_relays(world, record, slots, types, queue)
    lent = [route_of(transfer, use.relays) for use in kept if use.lent and not there]
    existing = [node for route in lent for node in enlist(world, record, route)]
    return replace(launched, nodes=[*launched.nodes, *existing], notes=[*launched.notes, *notes])


def decide_anew(world: World, transfer_id: str) -> str:
    """Look at a transfer whose rate has fallen for good, launch the pairs that pay now; what was done, in a word."""
    record = running(world, transfer_id)
    if record is None or not _is_due(world, record):
        return "over" if record is None else "known"
    seen = deciding.look(world, transfer_id, None)
    record = running(world, transfer_id)
    if seen is None or record is None:
        return "over"
    if not _is_due(world, record) or first_contact.verdict(seen, record.decisions[-1]) != "fell":
        return "known"
    estimate = deciding.decide_again(world, record, seen)
    record = running(world, transfer_id)
    if record is None:
        return "over"
    decision = record.decisions[-1]
    if decision.pairs <= decision.served:
        return "kept"
    wanted = decision.pairs - decision.served
    try:
        launched = launch_pairs(world, record, estimate, decision.last_slot, wanted)
    except CptError as error:
        note_spawned(world, record, Spawned(wanted=wanted, launched=0, notes=[f"{type(error).__name__}: {error}"]))
        raise
    pairs = pairing.strength(routes_of(record.transfer), launched.nodes, "SPAWNED")
    note_spawned(world, record, Spawned(wanted=wanted, launched=pairs, notes=launched.notes))
    nodes = await_ready(world, record, join_at_once=True, seconds=JOIN_TIMEOUT_SECONDS)
    release_singles(world, record.transfer, nodes)
    return "grown"


def _is_due(world: World, record: Estimated) -> bool:
    return bool(record.decisions) and world.clock.now() - record.decisions[-1].at >= REST_SECONDS
