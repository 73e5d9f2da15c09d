"""SSM commands sent together and awaited together.

A machine's agent runs few commands at once. One that it has not started in time did not run: it is sent again while
there is time, and then the agent is named. What takes longer than a start runs as a unit, and its answer is a record of
the transfer's.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from secrets import token_hex
from typing import Any, Protocol

from lambdas.adapters.records import CommandResult, DocumentName, NotManagedError, OlderDocumentError
from lambdas.adapters.world import World
from lambdas.core.errors import AgentBusy, CommandFailed, FailTransfer, SurveyProblem
from lambdas.core.places.machines import EndMachine
from lambdas.core.places.place import Place
from lambdas.core.seats.answers import Answer, place
from lambdas.core.seats.commands import USUAL, Command, Share
from lambdas.core.transfer.accepted import AcceptedTransfer

# After 10 s that were waited, the next look is in 1 s; after a minute in 6 s. SSM refuses those who ask more often.
WAITED_PER_POLL, LONGEST_POLL = 10.0, 10.0
# SSM's limit for one command.
MOST_MACHINES = 50
# A code beyond it is of a process that a signal has ended.
SIGNAL = 128
# How the daemon ends its output where what was asked for is wrong, and not the machine.
REFUSED = f"cpt-relay: {SurveyProblem.__name__}: "
# Documents that only start what they are for, as a unit that writes its answer.
ANSWERED = frozenset[DocumentName]({"scan", "delete", "probe"})


@dataclass(frozen=True)
class Order:
    """A document to run on a machine."""

    document: DocumentName
    place: Place
    instance_id: str
    command: Command | None = None
    share: Share = USUAL

    @classmethod
    def on(
        cls, end: EndMachine, document: DocumentName, command: Command | None = None, share: Share = USUAL
    ) -> "Order":
        """An order for an end machine."""
        return cls(document, end.place, end.instance_id, command, share)

    def alike(self, other: "Order") -> bool:
        """Return whether one command serves both: each answer has a place of its own."""
        return self.document not in ANSWERED and replace(self, instance_id=other.instance_id) == other


class Sent(Protocol):
    """A command that another function waits for; before there were answers, its output was one."""

    @property
    def command_id(self) -> str:
        """Of the SSM command."""

    @property
    def answer_id(self) -> str | None:
        """Of what it has started."""


@dataclass
class Running:
    """Orders that were sent: the ids of their commands, and the results that are there, by the order's place.

    Their time is up at `until`, on the monotonic clock. `answers` has the ids of those that are awaited in the table,
    and `begun` says which of these are under way.
    """

    transfer: AcceptedTransfer
    orders: Sequence[Order]
    began: float
    until: float
    sent: dict[int, str] = field(default_factory=dict)
    results: dict[int, CommandResult] = field(default_factory=dict)
    answers: dict[int, str] = field(default_factory=dict)
    begun: set[int] = field(default_factory=set)

    @property
    def waiting(self) -> dict[int, str]:
        """Ids of the commands without a result."""
        return {at: command_id for at, command_id in self.sent.items() if at not in self.results}


def begin(world: World, transfer: AcceptedTransfer, orders: Sequence[Order], seconds: float) -> Running:
    """Send all, which have so long from now on: one command for those that are alike."""
    now = world.clock.monotonic()
    running = Running(transfer, orders, now, now + seconds)
    for at, order in enumerate(orders):
        if at not in running.sent and at not in running.results:
            alike = [other for other in range(at, len(orders)) if other == at or order.alike(orders[other])]
            _send(world, running, alike[:MOST_MACHINES])
    return running


def _send(world: World, running: Running, alike: list[int]) -> None:
    first = running.orders[alike[0]]
    machines = [running.orders[at].instance_id for at in alike]
    left = running.until - world.clock.monotonic()
    answer = None
    if first.document in ANSWERED:
        running.answers[alike[0]] = token_hex(8)
        answer = place(world.control(running.transfer), running.answers[alike[0]])
    try:
        command_id = world.at(first.place).commands.send(
            first.document, machines, running.transfer.transfer_id, first.command, first.share, left, answer
        )
        running.sent |= dict.fromkeys(alike, command_id)
    except OlderDocumentError:  # it runs the command to its end, whose output is the answer
        del running.answers[alike[0]]
        running.sent[alike[0]] = world.at(first.place).commands.send(
            first.document, machines, running.transfer.transfer_id, first.command, first.share, left
        )
    except NotManagedError:
        if len(alike) > 1:  # one that does not answer is not to keep the others from it
            for at in alike:
                _send(world, running, [at])
            return
        why = f"the SSM agent of {first.instance_id} does not answer"
        running.results[alike[0]] = CommandResult(False, "NotManaged", "", why)


def send_again(world: World, running: Running, at: int) -> None:
    """Send one of the orders once more, in the time that is left."""
    running.results.pop(at, None)
    running.begun.discard(at)
    _send(world, running, [at])


def is_started(world: World, running: Running, at: int) -> bool:
    """Return whether the agent has begun with this order."""
    order = running.orders[at]
    return at in running.begun or world.at(order.place).commands.started(running.sent[at], order.instance_id)


def _look(world: World, running: Running) -> None:
    """Note the results that are there; what did not reach its agent is sent again."""
    for at, command_id in running.waiting.items():
        order, answer_id = running.orders[at], running.answers.get(at)
        if answer_id and (answered := world.agents.answer(running.transfer.partition, answer_id)):
            running.results[at] = _as_result(answered)
        if at in running.results or at in running.begun:
            continue
        found = world.at(order.place).commands.result(command_id, order.instance_id)
        if found is None:
            continue
        if not found.started and world.clock.monotonic() < running.until:
            send_again(world, running, at)
        elif found.succeeded and answer_id:
            running.begun.add(at)
        else:
            running.results[at] = found


def _as_result(answer: Answer) -> CommandResult:
    killed = answer.code > SIGNAL
    status = "Success" if answer.code == 0 else f"Failed (signal {answer.code - SIGNAL})" if killed else "Failed"
    return CommandResult(answer.code == 0, status, answer.output, answer.error)


def _give_up(world: World, running: Running) -> None:
    """Time is up: what has not started is not to start any more."""
    seconds = running.until - running.began
    for at, command_id in running.waiting.items():
        order = running.orders[at]
        started = is_started(world, running, at)
        if at not in running.begun:
            world.at(order.place).commands.cancel(command_id, order.instance_id)
        told = f"no result within {seconds:.0f} s" if started else f"not started within {seconds:.0f} s"
        running.results[at] = CommandResult(False, "TimedOut", "", told, started)


def await_all(
    world: World,
    running: Running,
    enough: Callable[[], bool] = lambda: False,
    longest_poll: float = LONGEST_POLL,
) -> list[CommandResult]:
    """Wait for all while they have time, or until `enough` says so; the results that are there, in order."""
    while running.waiting:
        _look(world, running)
        now = world.clock.monotonic()
        if now >= running.until:
            _give_up(world, running)
        if not running.waiting or enough():
            break
        _pause(world, now - running.began, longest_poll)
    return [running.results[at] for at in sorted(running.results)]


def _pause(world: World, waited: float, longest: float = LONGEST_POLL) -> None:
    world.clock.sleep(max(world.env.poll_seconds, min(waited / WAITED_PER_POLL, longest)))


def await_answer(
    world: World,
    transfer: AcceptedTransfer,
    order: Order,
    sent: Sent,
    seconds: float,
    enough: Callable[[], bool],
) -> CommandResult | None:
    """Wait up to `seconds` for what was started before; None where `enough` said so first."""
    began = world.clock.monotonic()
    while True:
        if sent.answer_id is None:
            found = world.at(order.place).commands.result(sent.command_id, order.instance_id)
        else:
            answered = world.agents.answer(transfer.partition, sent.answer_id)
            found = _as_result(answered) if answered else None
        if found:
            return found
        waited = world.clock.monotonic() - began
        if waited >= seconds:
            return CommandResult(False, "TimedOut", "", f"no result within {seconds:.0f} s")
        if enough():
            return None
        _pause(world, waited)


def run_all(world: World, transfer: AcceptedTransfer, orders: Sequence[Order], seconds: float) -> list[CommandResult]:
    """Send all, then wait for all up to `seconds`; results in the order of `orders`."""
    return await_all(world, begin(world, transfer, orders, seconds))


def is_busy(order: Order, result: CommandResult) -> str:
    """Say of a command that was not started why that is, and what to do."""
    return (
        f"the SSM agent of {order.instance_id} ({order.place.region}) is busy: it did not start {order.document} "
        f"({result.status}: {result.error or 'not delivered'}). An agent runs 5 commands at once: see which run there "
        f"(aws ssm list-command-invocations --region {order.place.region} --instance-id {order.instance_id}), "
        "wait for them or cancel them, then start again"
    )


def answer(order: Order, result: CommandResult) -> dict[str, Any]:
    """The JSON object in the last line of output.

    Raises SurveyProblem where the daemon says that this is one, else CommandFailed; AgentBusy where it was never
    started.
    """
    head = f"{order.document} on {order.instance_id} ({order.place.region})"
    if not result.started:
        raise AgentBusy(is_busy(order, result))
    if not result.succeeded:
        raise _failure(head, result)
    last = next((line for line in reversed(result.output.splitlines()) if line.strip()), "")
    try:
        found = json.loads(last)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise CommandFailed(f"{head} printed no result: {result.tail()}")
    return found


def _failure(head: str, result: CommandResult) -> FailTransfer:
    said = result.error.strip().rpartition("\n")[2]
    if said.startswith(REFUSED):
        return SurveyProblem(f"{head}: {said.removeprefix(REFUSED)}")
    return CommandFailed(f"{head} ended with {result.status}: {result.tail()}")
