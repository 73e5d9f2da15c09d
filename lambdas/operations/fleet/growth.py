"""More relays for a transfer: launched by what was decided, at its start or while data moves."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from lambdas.adapters.world import World
from lambdas.core.errors import CptError, NoCapacity
from lambdas.core.estimate import first_contact
from lambdas.core.estimate.estimate import Estimate
from lambdas.core.estimate.route_use import one_path_fewer, with_paths
from lambdas.core.fleet import pairing
from lambdas.core.fleet.answer import Answer
from lambdas.core.fleet.launch_queue import LaunchQueue
from lambdas.core.fleet.reconcile import Fleet, Lease, Wish, next_slots, reconcile
from lambdas.core.fleet.relay_node import JOIN_TIMEOUT_SECONDS, LIVE_STATES, Node
from lambdas.core.fleet.topology import route_at, routes_of
from lambdas.core.record.transfer_record import Estimated, Spawned
from lambdas.operations.estimate import deciding
from lambdas.operations.fence import running
from lambdas.operations.fleet import hand
from lambdas.operations.fleet.providers import pool
from lambdas.operations.fleet.relay_end import release_singles
from lambdas.operations.fleet.relay_start import await_ready
from lambdas.operations.fleet.spawned import note_spawned
from lambdas.operations.spending import metering

# A decision is not taken again so soon: an event may come twice, and what was launched needs T_v to show.
REST_SECONDS = 120.0


def launch_routes(
    world: World,
    record: Estimated,
    estimate: Estimate,
    paths: int,
    queue: LaunchQueue | None = None,
    since: float | None = None,
) -> hand.Leased:
    """What the chosen routes lack for so many paths, in slots that were never used; fewer where the budget says so.

    Raises NoCapacity where it bears none. `queue`: see `hand.lease`. Relays that have come since it was decided are of
    this very launch, repeated. `since`: when it was decided, where no decision about relays says so.
    """
    transfer, record = record.transfer, record.model_copy(update={"estimate": estimate})
    uses = with_paths(estimate.routes, paths)
    decided = since or (record.decisions[-1].at if record.decisions else 0.0)
    before = [node for node in world.nodes.of(transfer.transfer_id) if node.requested_at < decided]

    live = Counter(node.stage for node in before if node.state in LIVE_STATES)
    pooled = pool.room(world, transfer, [at for use in uses for at in use.stages()])

    def due() -> list[Lease]:
        counts = [(use, {at: count - live[at] for at, count in use.stages().items()}) for use in uses]
        slots = [next_slots(route_at(transfer, use.stage), before, lacking) for use, lacking in counts]
        return _due(record, {stage: new for one in slots for stage, new in one.items()}, before, pooled)

    asked = bearable = _launched(due())
    affordable = metering.affordable(world, record, asked)
    while uses and bearable > affordable:
        uses = one_path_fewer(uses)
        bearable = _launched(due())
    budget = f"$.objective.maxCostUsd: {transfer.request.objective.max_cost_usd} bears {bearable} of {asked} relays now"
    if not uses:
        raise NoCapacity(budget)
    leased = hand.lease(world, record, due(), queue)
    return leased if bearable == asked else replace(leased, notes=[*leased.notes, budget])


def _launched(leases: Sequence[Lease]) -> int:
    return sum(len(one.slots) for one in leases if one.provider == "launched")


def _due(
    record: Estimated, slots: Mapping[int, Sequence[int]], before: Sequence[Node], pooled: Mapping[int, int]
) -> list[Lease]:
    """Leases for slots; `before`: the relays that were there when these were wished for."""
    lent = Counter(machine.stage for machine in record.transfer.existing)
    only = record.transfer.request.relays.pool == "only"
    fleet = Fleet(routes_of(record.transfer), before, lent, pooled=pooled, only_pooled=only)
    due = reconcile(Wish(slots=slots), fleet, 0.0)
    return [one for one in due if isinstance(one, Lease)]


def decide_anew(world: World, transfer_id: str) -> Answer:
    """Look at a transfer whose rate has fallen for good, launch the pairs that pay now; what was done."""
    record = running(world, transfer_id)
    if record is None or not _is_due(world, record):
        return Answer.OVER if record is None else Answer.KNOWN
    seen = deciding.look(world, transfer_id, None)
    record = running(world, transfer_id)
    if seen is None or record is None:
        return Answer.OVER
    if not _is_due(world, record) or first_contact.verdict(seen, record.decisions[-1]) != "fell":
        return Answer.KNOWN
    estimate = deciding.decide_again(world, record, seen)
    record = running(world, transfer_id)
    if record is None:
        return Answer.OVER
    decision = record.decisions[-1]
    if decision.pairs <= decision.served:
        return Answer.KEPT
    wanted = decision.pairs - decision.served
    try:
        launched = launch_routes(world, record, estimate, decision.pairs)
    except CptError as error:
        note_spawned(world, record, Spawned(wanted=wanted, launched=0, notes=[f"{type(error).__name__}: {error}"]))
        raise
    pairs = pairing.strength(routes_of(record.transfer), launched.nodes, "SPAWNED")
    note_spawned(world, record, Spawned(wanted=wanted, launched=pairs, notes=launched.notes))
    nodes = await_ready(world, record, join_at_once=True, seconds=JOIN_TIMEOUT_SECONDS)
    release_singles(world, record.transfer, nodes)
    return Answer.GROWN


def _is_due(world: World, record: Estimated) -> bool:
    return bool(record.decisions) and world.clock.now() - record.decisions[-1].at >= REST_SECONDS
