"""SSM commands sent together and awaited together."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from lambdas.adapters.records import CommandResult, DocumentName, NotManagedError
from lambdas.adapters.world import World
from lambdas.core.ends.commands import Command
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


@dataclass
class Running:
    """Orders that were sent: the ids of their commands, and the results that are there, by the order's place."""

    orders: Sequence[Order]
    sent: dict[int, str] = field(default_factory=dict)
    results: dict[int, CommandResult] = field(default_factory=dict)

    @property
    def waiting(self) -> dict[int, str]:
        """Ids of the commands without a result."""
        return {at: command_id for at, command_id in self.sent.items() if at not in self.results}


def begin(world: World, transfer_id: str, orders: Sequence[Order]) -> Running:
    """Send all."""
    running = Running(orders)
    for at, order in enumerate(orders):
        try:
            running.sent[at] = world.commands(order.region).send(
                order.document, order.instance_id, transfer_id, order.command
            )
        except NotManagedError:
            why = f"the SSM agent of {order.instance_id} does not answer"
            running.results[at] = CommandResult(False, "NotManaged", "", why)
    return running


def await_all(
    world: World,
    running: Running,
    seconds: float,
    enough: Callable[[], bool] = lambda: False,
    longest_poll: float = LONGEST_POLL,
) -> list[CommandResult]:
    """Wait for all up to `seconds`, or until `enough` says so; the results that are there, in the order of `orders`."""
    deadline = world.clock.monotonic() + seconds
    pause = FIRST_POLL
    while running.waiting:
        for at, command_id in running.waiting.items():
            order = running.orders[at]
            if found := world.commands(order.region).result(command_id, order.instance_id):
                running.results[at] = found
        if running.waiting and world.clock.monotonic() >= deadline:
            late = CommandResult(False, "TimedOut", "", f"no result within {seconds:.0f} s")
            running.results |= dict.fromkeys(running.waiting, late)
        if not running.waiting or enough():
            break
        world.clock.sleep(pause)
        pause = min(pause * POLL_GROWTH, longest_poll)
    return [running.results[at] for at in sorted(running.results)]


def run_all(world: World, transfer_id: str, orders: Sequence[Order], seconds: float) -> list[CommandResult]:
    """Send all, then wait for all up to `seconds`; results in the order of `orders`."""
    return await_all(world, begin(world, transfer_id, orders), seconds)


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
