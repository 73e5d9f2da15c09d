"""Spawn Relays: p relays at each stage, or as many as were asked for there; 2p when they will be pre-tested.

Fewer where no more are to be had. Machines of the user come first.
"""

from dataclasses import replace
from typing import Any

from lambdas.adapters.world import World
from lambdas.core import transfer_life
from lambdas.core.documents import Handover
from lambdas.core.errors import CptError, NoCapacity
from lambdas.core.estimate.estimate import Estimate
from lambdas.core.fleet import pairing
from lambdas.core.fleet.relay_counts import RelayCounts
from lambdas.core.fleet.topology import route_of
from lambdas.core.transfer import AcceptedTransfer
from lambdas.core.transfer_record import Estimated, Spawned
from lambdas.operations.fence import running
from lambdas.operations.fleet.existing import enlist
from lambdas.operations.fleet.launch import Launched, launch_relays
from lambdas.operations.spending import metering
from lambdas.runtime.handler import task_state
from lambdas.runtime.idempotency import once_in_execution


class SpawnInput(Handover):
    """Input of the state."""

    transfer: AcceptedTransfer
    estimate: Estimate


def spawn_relays(event: SpawnInput, world: World) -> dict[str, Any]:
    """How many pairs were wanted and launched, and why not all; raises the decision that EC2's refusal means."""
    estimate, transfer = event.estimate, event.transfer
    wanted = estimate.chosen_pairs * (2 if estimate.pre_test else 1)
    record = running(world, transfer.transfer_id)
    if wanted == 0 or record is None:
        return {"wanted": wanted, "spawned": 0, "preTest": False, "notes": []}
    try:
        launched = _launch(event, world, record, wanted)
    except CptError as error:  # the report is to say why there are none
        _note(world, transfer, Spawned(wanted=wanted, launched=0, notes=[f"{type(error).__name__}: {error}"]))
        raise
    pairs = pairing.strength(route_of(transfer), launched.nodes, "SPAWNED")
    _note(world, transfer, Spawned(wanted=wanted, launched=pairs, notes=launched.notes))
    return {"wanted": wanted, "spawned": pairs, "preTest": estimate.pre_test, "notes": launched.notes}


def _launch(event: SpawnInput, world: World, record: Estimated, wanted: int) -> Launched:
    request = event.transfer.request
    relay_counts = RelayCounts.of(event.transfer)
    bearable = relay_counts.most_pairs(metering.affordable(world, record, relay_counts.launched(wanted)), wanted)
    budget = f"$.objective.maxCostUsd: {request.objective.max_cost_usd} bears {bearable} of {wanted} pairs now"
    if bearable == 0:
        raise NoCapacity(budget)
    # The selected one first; where it has no capacity, the others in the request's order.
    allowed = request.relays.instance_types or world.env.instance_types
    types = list(dict.fromkeys([event.estimate.instance_type, *allowed]))
    launched = launch_relays(world, record, relay_counts.to_launch(bearable), types)
    route = route_of(event.transfer, relay_counts.of_stages(bearable))
    launched = replace(launched, nodes=[*launched.nodes, *enlist(world, record, route)])
    return launched if bearable == wanted else replace(launched, notes=[*launched.notes, budget])


def _note(world: World, transfer: AcceptedTransfer, spawned: Spawned) -> None:
    world.transfers.change(transfer, transfer_life.note(spawned=spawned))


handler = task_state("Spawn Relays", SpawnInput, once_in_execution("spawn-relays", spawn_relays))
