"""SSM commands sent together and awaited together."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from lambdas.adapters.records import CommandResult, DocumentName, NotManagedError
from lambdas.adapters.world import World
from lambdas.core.ends.commands import USUAL, Command, Share
from lambdas.core.errors import CommandFailed
from lambdas.core.transfer import EndMachine

# After 10 s that were waited, the next look is in 1 s; after a minute in 6 s. SSM refuses those who ask more often.
WAITED_PER_POLL, LONGEST_POLL = 10.0, 10.0
# SSM's limit for one command.
MOST_MACHINES = 50


@dataclass(frozen=True)
class Order:
    """A document to run on a machine."""

    document: DocumentName
    region: str
    instance_id: str
    command: Command | None = None
    share: Share = USUAL

    @classmethod
    def on(
        cls, end: EndMachine, document: DocumentName, command: Command | None = None, share: Share = USUAL
    ) -> "Order":
        """An order for an end machine."""
        return cls(document, end.region, end.instance_id, command, share)

    def alike(self, other: "Order") -> bool:
        """Return whether one command serves both."""
        return replace(self, instance_id=other.instance_id) == other


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
    """Send all: one command for those that are alike."""
    running = Running(orders)
    for at, order in enumerate(orders):
        if at not in running.sent and at not in running.results:
            alike = [other for other in range(at, len(orders)) if order.alike(orders[other])]
            _send(world, transfer_id, running, alike[:MOST_MACHINES])
    return running


def _send(world: World, transfer_id: str, running: Running, alike: list[int]) -> None:
    first = running.orders[alike[0]]
    machines = [running.orders[at].instance_id for at in alike]
    try:
        command_id = world.commands(first.region).send(
            first.document, machines, transfer_id, first.command, first.share
        )
        running.sent |= dict.fromkeys(alike, command_id)
    except NotManagedError:
        if len(alike) > 1:  # one that does not answer is not to keep the others from it
            for at in alike:
                _send(world, transfer_id, running, [at])
            return
        why = f"the SSM agent of {first.instance_id} does not answer"
        running.results[alike[0]] = CommandResult(False, "NotManaged", "", why)


def _look(world: World, running: Running) -> None:
    """Note the results that are there."""
    for at, command_id in running.waiting.items():
        order = running.orders[at]
        if found := world.commands(order.region).result(command_id, order.instance_id):
            running.results[at] = found


def await_all(
    world: World,
    running: Running,
    seconds: float,
    enough: Callable[[], bool] = lambda: False,
    longest_poll: float = LONGEST_POLL,
) -> list[CommandResult]:
    """Wait for all up to `seconds`, or until `enough` says so; the results that are there, in the order of `orders`."""
    started = world.clock.monotonic()
    while running.waiting:
        _look(world, running)
        waited = world.clock.monotonic() - started
        if running.waiting and waited >= seconds:
            late = CommandResult(False, "TimedOut", "", f"no result within {seconds:.0f} s")
            running.results |= dict.fromkeys(running.waiting, late)
        if not running.waiting or enough():
            break
        world.clock.sleep(max(world.env.poll_seconds, min(waited / WAITED_PER_POLL, longest_poll)))
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
