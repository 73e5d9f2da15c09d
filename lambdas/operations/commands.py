"""SSM commands sent together and awaited together."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lambdas.adapters.records import CommandResult, DocumentName, NotManagedError
from lambdas.adapters.world import World
from lambdas.core.commands import Command
from lambdas.core.errors import CommandFailed
from lambdas.core.transfer import EndMachine

# 0.05 s growing by half: a command of 10 ms costs 50 ms, one of a minute is looked at every 2 s.
FIRST_POLL, POLL_GROWTH, LONGEST_POLL = 0.05, 1.5, 2.0


@dataclass(frozen=True)
class Order:
    """A document to run on a machine."""

    document: DocumentName
    region: str
    instance_id: str
    command: Command | None = None

    @classmethod
    def on(cls, end: EndMachine, document: DocumentName, command: Command | None = None) -> "Order":
        """An order for an end machine."""
        return cls(document, end.region, end.instance_id, command)


def run_all(world: World, transfer_id: str, orders: Sequence[Order], seconds: float) -> list[CommandResult]:
    """Send all, then wait for all up to `seconds`; results in the order of `orders`."""
    results: dict[int, CommandResult] = {}
    waiting: dict[int, str] = {}
    for i, order in enumerate(orders):
        try:
            waiting[i] = world.commands(order.region).send(
                order.document, order.instance_id, transfer_id, order.command
            )
        except NotManagedError:
            results[i] = CommandResult(False, "NotManaged", "", f"the SSM agent of {order.instance_id} does not answer")
    deadline = world.clock.monotonic() + seconds
    pause = FIRST_POLL
    while waiting:
        for i, command_id in list(waiting.items()):
            found = world.commands(orders[i].region).result(command_id, orders[i].instance_id)
            if found:
                results[i] = found
                del waiting[i]
        if waiting and world.clock.monotonic() >= deadline:
            results |= {i: CommandResult(False, "TimedOut", "", f"no result within {seconds:.0f} s") for i in waiting}
            break
        if waiting:
            world.clock.sleep(pause)
            pause = min(pause * POLL_GROWTH, LONGEST_POLL)
    return [results[i] for i in range(len(orders))]


def answer(order: Order, result: CommandResult) -> dict[str, Any]:
    """The JSON object in the last line of output; raises CommandFailed."""
    head = f"{order.document} on {order.instance_id} ({order.region})"
    if not result.succeeded:
        raise CommandFailed(f"{head} ended with {result.status}: {result.tail()}")
    last = next((line for line in reversed(result.output.splitlines()) if line.strip()), "")
    try:
        found = json.loads(last)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise CommandFailed(f"{head} printed no result: {result.tail()}")
    return found
