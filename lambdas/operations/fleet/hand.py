"""The one hand that changes a fleet: it leases machines, and changes relays with all that follows from it.

Rules decide (`core.fleet.reconcile`, the replacement, the pre-test); nobody else launches or ends a relay but the
teardown and the sweep, which end whatever a transfer that is over may have left.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from lambdas.adapters.world import World
from lambdas.core.errors import LaunchRefused, MissingPermission, NoCapacity
from lambdas.core.fleet import node_life
from lambdas.core.fleet.launch_queue import LaunchQueue
from lambdas.core.fleet.reconcile import Lease, NodeChange
from lambdas.core.fleet.relay_node import Node
from lambdas.core.fleet.topology import route_at, side_of
from lambdas.core.record.transfer_record import Estimated
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations import logs
from lambdas.operations.fleet import membership
from lambdas.operations.fleet.providers import launched, lent, pool
from lambdas.operations.fleet.providers.turns import TurnLaterError, together

# What EC2 does not give; the fence and its wish to be asked later are no reason to go on with fewer.
_BORNE = (NoCapacity, LaunchRefused, MissingPermission)


@dataclass(frozen=True)
class Leased:
    """Relays of all stages; `notes`: in words, why they are fewer or others than were wanted first."""

    nodes: list[Node]
    notes: list[str]


def lease(world: World, record: Estimated, leases: Sequence[Lease], queue: LaunchQueue | None = None) -> Leased:
    """New relays; one whose partner was wanted and is not to be had is given back at once.

    What serves before the first slot of a stage does so without those that EC2 refuses. A route of which one stage is
    not to be had does without its others; it is an error where that leaves no route.

    `queue`: of a launch that may wait elsewhere; raises TurnLaterError, with what was launched left for whoever comes
    again. Without it turns are waited for here.
    """
    standing = [node for one in leases if one.provider == "pool" for node in pool.lease(world, record, one)]
    slots = _to_launch(record, leases, standing)
    types = {at: types_of(record, at, world, record.estimate.type_of(at)) for at in slots}
    with ThreadPoolExecutor(max(len(slots), 1)) as threads:
        calls = {
            at: threads.submit(launched.lease, world, record, Lease("launched", at, every), types[at], queue)
            for at, every in slots.items()
        }
    failed = {at: error for at, call in calls.items() if (error := call.exception())}
    stages = [call.result() for at, call in calls.items() if at not in failed]
    nodes, notes = [node for new, _ in stages for node in new], [note for _, words in stages for note in words]
    borne = [at for at in failed if slots[at][0] > 1 and isinstance(failed[at], _BORNE)]
    notes += [_in_words(failed[at]) for at in borne]
    if failures := {at: error for at, error in failed.items() if at not in borne}:
        if later := [error for error in failures.values() if isinstance(error, TurnLaterError)]:
            raise together(later)
        nodes = _without_broken_routes(world, record.transfer, slots, nodes, failures)
        notes += map(_in_words, failures.values())
    nodes += standing
    wanted = {(one.stage, slot) for one in leases if one.provider != "lent" for slot in one.slots}
    missing = wanted - {(node.stage, node.slot) for node in nodes}
    surplus = [node for node in nodes if route_at(record.transfer, node.stage).partners(node) & missing]
    discard(world, unused(world, surplus, "no partner: the other side has too little capacity"))
    mine = [node for one in leases if one.provider == "lent" for node in lent.lease(world, record, one)]
    return Leased([*(node for node in nodes if node not in surplus), *mine], notes)


def _to_launch(record: Estimated, leases: Sequence[Lease], standing: Sequence[Node]) -> dict[int, tuple[int, ...]]:
    """Slots by stage that are to be launched: those that were wanted of the pool and others have taken are, too."""
    filled = {(node.stage, node.slot) for node in standing}
    kinds = ("launched",) if record.transfer.request.relays.pool == "only" else ("launched", "pool")
    slots: dict[int, tuple[int, ...]] = {}
    for one in leases:
        lacking = tuple(slot for slot in one.slots if (one.stage, slot) not in filled)
        if one.provider in kinds and lacking:
            slots[one.stage] = tuple(sorted((*slots.get(one.stage, ()), *lacking)))
    return slots


def lease_successor(world: World, record: Estimated, node: Node, generation: int) -> None:
    """Another relay for the place of one, of its own type if there are any; raises what `launched.lease` raises."""
    # A machine of the user may be of a type that is not launched here.
    wanted = Lease("pool", node.stage, (node.slot,), generation)
    if pool.room(world, record.transfer, [node.stage])[node.stage] and pool.lease(world, record, wanted):
        return
    if record.transfer.request.relays.pool == "only":
        raise NoCapacity(f"the pool in {node.region} has no lease left, and $.relays.pool is 'only'")
    same = [node.instance_type] if node.is_ours else []
    wanted = Lease("launched", node.stage, (node.slot,), generation)
    launched.lease(world, record, wanted, types_of(record, node.stage, world, *same))


def types_of(record: Estimated, stage: int, world: World, *first: str) -> list[str]:
    """Instance types for a stage: `first`, then those that the request allows on its side, in its order."""
    allowed = record.transfer.request.relays.types_of(side_of(record.transfer, stage), world.env.instance_types)
    return list(dict.fromkeys([*first, *allowed]))


def _without_broken_routes(
    world: World,
    transfer: AcceptedTransfer,
    slots: Iterable[int],
    nodes: list[Node],
    failures: Mapping[int, BaseException],
) -> list[Node]:
    """The relays of routes that have no stage among `failures`; raises the first of these where no route is left."""
    broken = {route_at(transfer, at).first for at in failures}
    first = failures[min(failures)]
    useless = [node for node in nodes if route_at(transfer, node.stage).first in broken]
    discard(world, unused(world, useless, f"the other side could not be launched: {first}"))
    kept = [node for node in nodes if node not in useless]
    is_left = any(route_at(transfer, at).first not in broken for at in slots)
    if not is_left or not all(isinstance(error, _BORNE) for error in failures.values()):
        discard(world, unused(world, kept, f"another route could not be launched: {first}"))
        raise first
    return kept


def _in_words(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def move(world: World, transfer_id: str, changes: Iterable[NodeChange]) -> list[Node]:
    """Changes that end no relay, and the membership that follows; the relays that nobody else has changed before.

    The membership is looked at in any case: whoever has changed a relay may have died before it.
    """
    moved = _changed(world, changes)
    membership.settle(world, transfer_id)
    return moved


def end(world: World, changes: Iterable[NodeChange], before: Callable[[], object] = lambda: None) -> list[Node]:
    """Changes that end relays: out of the membership, then their machines go; those that nobody else has ended before.

    `before`: what is done once nobody uses them any more, and their machines are still there.
    """
    ended = _changed(world, changes)
    for transfer_id in {node.transfer_id for node in ended}:
        membership.settle(world, transfer_id)
    if ended:
        before()
        _give_back(world, ended)
    return ended


def release(world: World, transfer: AcceptedTransfer, changes: Sequence[NodeChange]) -> None:
    """The same for relays that could have gone on: their logs are kept first, as at the teardown."""
    logs.keep_of_relays(world, transfer, [one.node for one in changes])
    end(world, changes)


def discard(world: World, changes: Iterable[NodeChange], *, surely: bool = True) -> None:
    """End relays that never were in the membership; `surely`: they may be so new that EC2 does not know them yet."""
    _give_back(world, _changed(world, changes), surely=surely)


def unused(world: World, nodes: Iterable[Node], reason: str) -> list[NodeChange]:
    """The ends of relays that will not be used; one that has joined meanwhile is."""
    return [NodeChange(node, node_life.lose(reason, world.clock.now(), "discard")) for node in nodes]


def _changed(world: World, changes: Iterable[NodeChange]) -> list[Node]:
    return [after for one in changes if (after := world.nodes.change(one.node, one.change))]


def _give_back(world: World, nodes: Sequence[Node], *, surely: bool = False) -> None:
    """Each machine to its provider; `surely`: not before it is known to be gone."""
    launched.take_back(world, [node for node in nodes if node.provider == "launched"], surely=surely)
    lent.take_back(world, [node for node in nodes if node.provider == "lent"])
    pool.take_back(world, nodes)
