"""Spawn Relays: those of the chosen routes, and twice as many where a pre-test keeps the better ones.

Fewer where no more are to be had. Machines of the user come first. Where many launch at once, the execution waits for
its turn outside of the function, and comes again.
"""

from collections.abc import Callable
from typing import Any

from lambdas.adapters.world import World
from lambdas.core.documents import Handover
from lambdas.core.estimate.estimate import Estimate
from lambdas.core.fleet.launch_queue import LaunchQueue
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations.fence import running
from lambdas.operations.fleet.providers.turns import TurnLaterError
from lambdas.operations.fleet.spawning import spawn
from lambdas.operations.pool import queueing
from lambdas.runtime.handler import task_state
from lambdas.runtime.idempotency import once_in_execution


class SpawnInput(Handover):
    """Input of the state."""

    transfer: AcceptedTransfer
    estimate: Estimate
    queue: LaunchQueue | None = None


def spawn_relays(event: SpawnInput, world: World) -> dict[str, Any]:
    """Return how many pairs were wanted and launched, and why not all; raises the decision that EC2's refusal means.

    After a decision on the way only what that decision adds is launched.
    """
    estimate = event.estimate
    record = running(world, event.transfer.transfer_id)
    decision = record.decisions[-1] if record and record.decisions else None
    served = decision.served if decision else 0
    paths = sum((use.tested if estimate.pre_test else use).paths for use in estimate.routes)
    wanted = 0 if decision and decision.pairs <= served else paths - served
    answer = {"wanted": wanted, "preTest": estimate.pre_test, "review": estimate.on_the_way is not None}
    if wanted == 0 or record is None:
        return {**answer, "spawned": 0, "preTest": False, "notes": []}
    # Others go on to relays that are launched; the direct path carries for whoever waits.
    if record.transfer.request.relays.pool == "only" and not (turn := queueing.ask(world, record)).is_now:
        raise TurnLaterError(LaunchQueue(due={"pool": turn.again_at}))
    spawned = spawn(world, record, estimate, wanted, paths, event.queue)
    return {**answer, "spawned": spawned.launched, "notes": spawned.notes}


def _round(event: SpawnInput, world: World) -> int:
    record = world.transfers.get(event.transfer.transfer_id)
    return len(record.decisions) if record else 0


_once = once_in_execution("spawn-relays", spawn_relays, _round)


def in_turn(run: Callable[[], dict[str, Any]], event: SpawnInput, world: World) -> dict[str, Any]:
    """The answer of a launch, or how long to wait and what to come again with."""
    try:
        return run()
    except TurnLaterError as later:
        seconds = max(later.queue.due.values()) - world.clock.now()
        again = {"estimate": event.estimate.to_document(), "queue": later.queue.to_document()}
        # What is left of the last second passes in the function.
        return {"waitSeconds": max(int(seconds), 1), "again": again}


def spawn_in_turn(event: SpawnInput, world: World) -> dict[str, Any]:
    """The answer of `spawn_relays`, or when to come again."""
    return in_turn(lambda: _once(event, world), event, world)


handler = task_state("Spawn Relays", SpawnInput, spawn_in_turn)
