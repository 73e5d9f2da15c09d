"""Both ends' daemons: how they are started, and what follows when one of them falls silent."""

from collections.abc import Sequence
from typing import Any

from lambdas.adapters.borne import AWS_ERRORS
from lambdas.adapters.records import CommandResult
from lambdas.adapters.world import World
from lambdas.core.ends.bucket import BucketEnd
from lambdas.core.ends.kinds import DestinationEnd, SourceEnd
from lambdas.core.errors import (
    AgentBusy,
    EndGone,
    EndNotStarted,
    EndSilent,
    FileSystemHangs,
    MissingPermission,
    Throttled,
)
from lambdas.core.fleet.relay_node import ENDED_INSTANCE_STATES
from lambdas.core.record import transfer_life
from lambdas.core.record.transfer_record import Outcome, Planned, TransferRecord
from lambdas.core.seats import commands
from lambdas.core.seats.commands import Share
from lambdas.core.seats.epochs import first_epoch
from lambdas.core.seats.liveness import MOST_RESTARTS, SeatView
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.core.transfer.seat import Seat
from lambdas.operations.seats import watching
from lambdas.operations.seats.commands import Order, is_busy, run_all
from lambdas.operations.seats.retiring import lose
from lambdas.operations.spending import metering

# The documents' own limit is 90 s: fetching the daemon, then 20 s for it to be ready.
COMMAND_SECONDS = 100.0
# The watch writes once a minute.
WRITES = 4


def start(world: World, transfer: AcceptedTransfer, which: Sequence[Seat], number: int) -> list[str]:
    """Start the daemons of seats, by this number; one of an earlier start is stopped. What did not work, a line each.

    Raises AgentBusy where a machine's agent has not even begun.
    """
    if senders := [seat.seat_id for seat in which if seat.role == "sender"]:
        metering.grant(world, transfer, number, senders)
    return _run(world, transfer, [_order(world, transfer, seat, first_epoch(number)) for seat in which])


def start_living(world: World, transfer: AcceptedTransfer, number: int) -> list[str]:
    """Start the daemons of all seats but retired ones; those that are retired stay so in later starts of the run.

    One that does not start is retired while others of its side live. What is left ends the transfer, a line each.
    """
    record = world.transfers.get(transfer.transfer_id)
    living = record.living if record else transfer.seats
    metering.grant(world, transfer, number, [seat.seat_id for seat in living if seat.role == "sender"])
    orders = [_order(world, transfer, seat, first_epoch(number)) for seat in living]
    results = run_all(world, transfer, orders, COMMAND_SECONDS)
    troubles = _told(orders, results)
    if {seat.role for seat, result in zip(living, results, strict=True) if result.succeeded} != {"sender", "receiver"}:
        return troubles
    failed = [seat for seat, result in zip(living, results, strict=True) if not result.succeeded]
    return [why for seat, why in zip(failed, troubles, strict=True) if not _spared(world, transfer, seat, why)]


def _spared(world: World, transfer: AcceptedTransfer, seat: Seat, why: str) -> bool:
    """Return whether others of its side go on without a seat that did not start."""
    not_started = Outcome(error=EndNotStarted.__name__, cause=why)
    return "retired" in lose(world, transfer, seat, not_started, is_gone=False)


def start_probing(world: World, transfer: AcceptedTransfer, number: int) -> list[str]:
    """The same of senders that only run probes, which no budget's lease has to hold."""
    return _run(world, transfer, [_send(world, transfer, seat, first_epoch(number)) for seat in transfer.senders])


def _run(world: World, transfer: AcceptedTransfer, orders: list[Order]) -> list[str]:
    return _told(orders, run_all(world, transfer, orders, COMMAND_SECONDS))


def _told(orders: Sequence[Order], results: Sequence[CommandResult]) -> list[str]:
    """What did not work, a line each; raises AgentBusy where an agent has not even begun."""
    pairs = zip(orders, results, strict=True)
    if busy := [is_busy(order, result) for order, result in pairs if not result.started]:
        raise AgentBusy("\n".join(busy))
    return [_trouble(order, result) for order, result in zip(orders, results, strict=True) if not result.succeeded]


def see_to_silent(world: World, record: Planned, seat_id: str, start: int) -> dict[str, Any]:
    """Run a silent seat as `start`, which the watch has noted; or give it up, where that did not help often enough.

    Whoever tells of it may be late: a seat that has spoken since is left alone.
    """
    transfer, now = record.transfer, world.clock.now()
    held = world.tokens.get(transfer.transfer_id)
    seats = watching.seen(world, record, held, now) if held else None
    view = seats.of(seat_id) if seats else None
    if seats is None or view is None or view.start != start:
        return {"ignored": f"start {start} of {seat_id} is not the present one"}
    seat = transfer.seat(seat_id)
    if seat not in record.living:
        return {"ignored": f"{seat_id} is retired"}
    if world.executions.status(transfer.execution_arn) != "RUNNING":
        return {"ignored": "its execution is over"}
    # The last start has been noted, and nothing came of it.
    given_up = watching.is_given_up(seats, seat_id) and watching.silent(record, seats, now) == seat_id
    if not given_up and view.reported_at is not None:
        return {"ignored": f"{seat_id} has spoken since"}
    if gone := _gone(world, seat):
        return {"gaveUp": seat_id, **lose(world, transfer, seat, gone, is_gone=True)}
    if given_up:
        return {"gaveUp": seat_id, **lose(world, transfer, seat, _given_up(seat, view), is_gone=False)}
    _restart(world, record, seat, view.start)
    return {"restarted": seat_id}


def fail_without(world: World, transfer_id: str, instance_id: str) -> bool:
    """End a transfer whose end's machine is this one, if EC2 says that it carries no more; whether it was.

    Where others of its side go on, its seat is retired.
    """
    record = world.transfers.get(transfer_id)
    if record is None or record.closed or record.fenced or record.outcome is not None:
        return False
    transfer = record.transfer
    mine = [seat for seat in transfer.seats if seat.machine.instance_id == instance_id]
    if not mine or world.tokens.get(transfer_id) is None:
        return False
    lost = [lose(world, transfer, seat, gone, is_gone=True) for seat in mine if (gone := _gone(world, seat))]
    return any(found.get("released", False) for found in lost)


def _gone(world: World, seat: Seat) -> Outcome | None:
    """That the machine of a silent seat carries no more, so that no start could help.

    Where EC2 does not answer nobody knows that: then a start is tried, which does not need EC2.
    """
    machine = seat.machine
    try:
        shown = world.at(machine.place).compute.describe([machine.instance_id])
    except AWS_ERRORS:
        return None
    if not shown or shown[0].state not in ENDED_INSTANCE_STATES:
        return None
    cause = f"the machine of the {seat.role}, {machine.instance_id} ({machine.region}), is {shown[0].state}"
    return Outcome(error=EndGone.__name__, cause=cause)


def _restart(world: World, record: TransferRecord, seat: Seat, number: int) -> None:
    if seat.role == "sender":
        metering.look(world, record)  # the new sender's report takes the place of the old one's
    try:
        trouble = start(world, record.transfer, [seat], number)
    except (AgentBusy, Throttled, MissingPermission) as error:
        trouble = [str(error)]
    if trouble:
        _note_trouble(world, record.transfer, seat.seat_id, number, trouble[0][-1000:])


def _note_trouble(world: World, transfer: AcceptedTransfer, seat_id: str, number: int, trouble: str) -> None:
    """The watch may have written while the start was tried: what stands there now is amended."""
    for _ in range(WRITES):
        record = world.transfers.get(transfer.transfer_id)
        seats = record.seats if record else None
        view = seats.of(seat_id) if seats else None
        if seats is None or view is None or view.start != number:
            return
        if world.transfers.change(transfer, transfer_life.note(seats=seats.troubled(seat_id, trouble))):
            return


def _given_up(seat: Seat, view: SeatView) -> Outcome:
    again = f"it was started again {MOST_RESTARTS} times"
    place = f"{seat.machine.instance_id} ({seat.machine.region})"
    if view.in_file_system is not None:
        seconds = f"a call had not returned after {view.in_file_system:.0f} s when the {seat.role} last reported"
        cause = f"the file system of the destination on {place} hangs: {seconds}; {again}"
        return Outcome(error=FileSystemHangs.__name__, cause=cause)
    last = view.trouble or "it came up and fell silent again"
    cause = f"the {seat.role} on {place} is silent; {again}, the last time: {last}"
    return Outcome(error=EndSilent.__name__, cause=cause)


def _order(world: World, transfer: AcceptedTransfer, seat: Seat, epoch: int) -> Order:
    return (_send if seat.role == "sender" else _receive)(world, transfer, seat, epoch)


def _receive(world: World, transfer: AcceptedTransfer, seat: Seat, epoch: int) -> Order:
    plan_key = world.shared_key(transfer, "plan.json")
    command = commands.receive(transfer, world.control(transfer), seat.seat_id, epoch, plan_key)
    return Order.on(seat.machine, "receive", command, _share(transfer.request.destination, transfer.request.source))


def _send(world: World, transfer: AcceptedTransfer, seat: Seat, epoch: int) -> Order:
    plan_key = world.shared_key(transfer, "plan.json")
    life = world.env.relay_time_to_live_seconds
    command = commands.send(transfer, world.control(transfer), seat.seat_id, epoch, plan_key, life)
    return Order.on(seat.machine, "send", command, _share(transfer.request.source, transfer.request.destination))


def _share(end: SourceEnd | DestinationEnd, other: SourceEnd | DestinationEnd) -> Share:
    """Of its machine, what an end's daemon gets; that of a bucket works on the other end's machine."""
    cpu_weight, io_weight = other.share if isinstance(end, BucketEnd) else end.share
    return Share(cpu_weight=cpu_weight, io_weight=io_weight)


def _trouble(order: Order, result: CommandResult) -> str:
    return f"{order.document} on {order.instance_id} ({order.place.region}) ended with {result.status}: {result.tail()}"
