"""More relays for a transfer: launched by what was decided, at its start or while data moves."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from lambdas.adapters.world import World
from lambdas.core.errors import CptError, NoCapacity
from lambdas.core.estimate import first_contact
from lambdas.core.estimate.estimate import Estimate
from lambdas.core.fleet import pairing
from lambdas.core.fleet.answer import Answer
from lambdas.core.fleet.launch_queue import LaunchQueue
from lambdas.core.fleet.reconcile import Fleet, Lease, Wish, reconcile
from lambdas.core.fleet.relay_counts import RelayCounts
from lambdas.core.fleet.relay_node import JOIN_TIMEOUT_SECONDS, Node
from lambdas.core.fleet.topology import routes_of
from lambdas.core.record.transfer_record import Estimated, Spawned
from lambdas.operations.estimate import deciding
from lambdas.operations.fence import running
from lambdas.operations.fleet import hand
from lambdas.operations.fleet.relay_end import release_singles
from lambdas.operations.fleet.relay_start import await_ready
from lambdas.operations.fleet.spawned import note_spawned
from lambdas.operations.spending import metering

# A decision is not taken again so soon: an event may come twice, and what was launched needs T_v to show.
REST_SECONDS = 120.0


def launch_pairs(
    world: World, record: Estimated, estimate: Estimate, taken: int, wanted: int, queue: LaunchQueue | None = None
) -> hand.Leased:
    """`wanted` pairs in the slots after those that are `taken`; raises NoCapacity where the budget bears none.

    `queue`: see `hand.lease`.
    """
    request, record = record.transfer.request, record.model_copy(update={"estimate": estimate})
    if estimate.chosen.planned:
        return _launch_routes(world, record, estimate, queue)
    relay_counts = RelayCounts.of(record.transfer)
    there, all_in_all = relay_counts.launched(taken), taken + wanted
    affordable = metering.affordable(world, record, relay_counts.launched(all_in_all) - there)
    bearable = relay_counts.most_pairs(there + affordable, all_in_all) - taken
    budget = f"$.objective.maxCostUsd: {request.objective.max_cost_usd} bears {bearable} of {wanted} pairs now"
    if bearable <= 0:
        raise NoCapacity(budget)
    counts = relay_counts.of_stages(taken + bearable)
    slots = {at: range(taken + 1, count + 1) for at, count in enumerate(counts)}
    leased = hand.lease(world, record, _due(record, slots), queue)
    return leased if bearable == wanted else replace(leased, notes=[*leased.notes, budget])


def _launch_routes(world: World, record: Estimated, estimate: Estimate, queue: LaunchQueue | None) -> hand.Leased:
    """The relays of the chosen row's routes; whole routes are left out where the budget does not bear all.

    Relays that were there when it was decided serve already. Those that came since are of this very launch, repeated.
    """
    transfer, kept, notes = record.transfer, list(estimate.routes), list[str]()
    decided = record.decisions[-1].at if record.decisions else 0.0
    before = [node for node in world.nodes.of(transfer.transfer_id) if node.requested_at < decided]

    def due() -> list[Lease]:
        slots = {stage: range(1, count + 1) for use in kept for stage, count in use.stages().items()}
        return _due(record, slots, before)

    def relays() -> int:
        return sum(len(one.slots) for one in due() if one.provider == "launched")

    affordable = metering.affordable(world, record, relays())
    while kept and relays() > affordable:
        left = kept.pop()
        most = transfer.request.objective.max_cost_usd
        notes.append(f"$.objective.maxCostUsd: {most} does not bear {left.words} now")
    if not kept:
        raise NoCapacity("; ".join(notes))
    leased = hand.lease(world, record, due(), queue)
    return replace(leased, notes=[*leased.notes, *notes])


def _due(record: Estimated, slots: Mapping[int, Sequence[int]], before: Sequence[Node] = ()) -> list[Lease]:
    """Leases for slots; `before`: the relays that were there when these were wished for."""
    lent = Counter(machine.stage for machine in record.transfer.existing)
    due = reconcile(Wish(slots=slots), Fleet(routes_of(record.transfer), before, lent), 0.0)
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
        launched = launch_pairs(world, record, estimate, decision.last_slot, wanted)
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
