"""Spawn Measured Relays: two pairs for each that the estimate chose, or a relay in each region for the links."""

from typing import Any

from lambdas.adapters.world import World
from lambdas.handlers.states.spawn_relays import SpawnInput, in_turn
from lambdas.operations.fence import running
from lambdas.operations.fleet.spawning import spawn
from lambdas.runtime.handler import task_state
from lambdas.runtime.idempotency import once_in_execution


def spawn_measured_relays(event: SpawnInput, world: World) -> dict[str, Any]:
    """Return how many pairs were wanted and launched, and why not all; raises the decision that EC2's refusal means."""
    estimate = event.estimate
    wanted = sum(use.tested.paths for use in estimate.routes)
    record = running(world, event.transfer.transfer_id)
    if record is None:
        return {"wanted": wanted, "spawned": 0, "notes": []}
    spawned = spawn(world, record, estimate, wanted, wanted, event.queue)
    return {"wanted": wanted, "spawned": spawned.launched, "notes": spawned.notes}


_once = once_in_execution("spawn-measured-relays", spawn_measured_relays)


def spawn_in_turn(event: SpawnInput, world: World) -> dict[str, Any]:
    """The answer of `spawn_measured_relays`, or when to come again."""
    return in_turn(lambda: _once(event, world), event, world)


handler = task_state("Spawn Measured Relays", SpawnInput, spawn_in_turn)
