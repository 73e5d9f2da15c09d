"""Spawn Relays: launch p relays on each side, 2p when they will be pre-tested; fewer where no more are to be had."""

from typing import Any

from lambdas.adapters.world import World
from lambdas.core.documents import Handover
from lambdas.core.errors import NoCapacity
from lambdas.core.estimate import Estimate
from lambdas.core.transfer import AcceptedTransfer, ResolvedPaths
from lambdas.operations import metering
from lambdas.operations.launch import launch_pairs
from lambdas.runtime.handler import task_state
from lambdas.runtime.idempotency import once


class SpawnInput(Handover):
    """Input of the state."""

    transfer: AcceptedTransfer
    estimate: Estimate
    paths: ResolvedPaths


def spawn_relays(event: SpawnInput, world: World) -> dict[str, Any]:
    """How many pairs were wanted and launched; raises the decision that EC2's refusal means."""
    estimate, transfer = event.estimate, event.transfer
    wanted = estimate.chosen_pairs * (2 if estimate.pre_test else 1)
    record = world.transfers.get(transfer.transfer_id)
    if wanted == 0 or record is None or not record.running:
        return {"wanted": wanted, "spawned": 0, "preTest": False}
    bearable = metering.affordable(world, record, 2 * wanted) // 2
    if bearable == 0:
        raise NoCapacity(f"$.objective.maxCostUsd: {transfer.request.objective.max_cost_usd} bears no relays any more")
    # The selected one first; where it has no capacity, the others in the request's order.
    allowed = transfer.request.relays.instance_types or world.env.instance_types
    types = list(dict.fromkeys([estimate.instance_type, *allowed]))
    nodes = launch_pairs(world, record, event.paths, bearable, types)
    return {"wanted": wanted, "spawned": len(nodes) // 2, "preTest": estimate.pre_test}


def _once(event: SpawnInput, world: World) -> dict[str, Any]:
    key = {"transferId": event.transfer.transfer_id, "executionArn": event.transfer.execution_arn}
    return once("spawn-relays", key, lambda: spawn_relays(event, world))


handler = task_state("Spawn Relays", SpawnInput, _once)
