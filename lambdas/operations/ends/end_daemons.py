"""Both ends' daemons: how they are started, and what follows when one of them falls silent."""

from collections.abc import Sequence
from typing import Any

from lambdas.adapters.records import CommandResult, ControlToken
from lambdas.adapters.world import World
from lambdas.core import transfer_life
from lambdas.core.chunks.progress import Side
from lambdas.core.ends import commands, liveness
from lambdas.core.ends.commands import Share
from lambdas.core.ends.epochs import first_epoch
from lambdas.core.ends.liveness import MOST_RESTARTS, Ends
from lambdas.core.errors import EndGone, EndSilent, FileSystemHangs, MissingPermission, Throttled
from lambdas.core.fleet.relay_node import ENDED_INSTANCE_STATES
from lambdas.core.transfer import AcceptedTransfer, EndMachine
from lambdas.core.transfer_record import Outcome, Planned, TransferRecord
from lambdas.operations import token
from lambdas.operations.ends.commands import Order, run_all
from lambdas.operations.fleet.remaining import ends_mb_s
from lambdas.operations.spending import metering

# The documents' own limit is 90 s: fetching the daemon, then 20 s for it to be ready.
COMMAND_SECONDS = 100.0


def sides(transfer: AcceptedTransfer) -> tuple[Side, ...]:
    """The ends that run: where nothing is moved but measured, the sender alone."""
    return ("sender",) if transfer.request.is_profiling else ("receiver", "sender")


def start(world: World, transfer: AcceptedTransfer, which: Sequence[Side], number: int) -> list[str]:
    """Start ends, by this number; one of an earlier start is stopped. What did not work, a line each."""
    orders = [_order(world, transfer, side, first_epoch(number)) for side in which]
    results = run_all(world, transfer.transfer_id, orders, COMMAND_SECONDS)
    return [_trouble(order, result) for order, result in zip(orders, results, strict=True) if not result.succeeded]


def look_at(world: World, record: Planned, held: ControlToken) -> dict[str, Any]:
    """A heartbeat where all ends advance; an end that is silent is started again, and given up after some times."""
    transfer, now = record.transfer, world.clock.now()
    reports = {side: world.agents.progress(transfer.shared, side) for side in sides(transfer)}
    before = _known(record, held, now)
    ends = before.seen(reports, now)
    silent = ends.silent(now, liveness.still_seconds(record.plan, ends_mb_s(record)))
    end = ends.of(silent) if silent else None
    if silent and (gone := _gone(world, transfer, silent)):
        return {"gaveUp": silent, "released": token.finish(world, transfer, gone)}
    if silent and end and end.restarts >= MOST_RESTARTS:
        return {"gaveUp": silent, "released": _give_up(world, record, silent, ends)}
    if silent:
        counted = world.transfers.change(transfer, transfer_life.COUNT_ATTEMPT)
        ends = ends.restarted(silent, counted.attempt, now) if counted else ends
    advance = ends.advance
    if not world.transfers.change(transfer, transfer_life.note(ends=ends.beaten() if advance else ends)):
        return {"heartbeat": False}  # another look is at work
    if silent:
        _restart(world, record, silent, ends)
        return {"restarted": silent, "heartbeat": world.executions.heartbeat(held.token)}
    return {"heartbeat": advance and world.executions.heartbeat(held.token)}


def fail_without(world: World, record: TransferRecord, instance_id: str) -> bool:
    """End a transfer whose end's machine is this one, if EC2 says that it carries no more; whether it was."""
    transfer = record.transfer
    held = world.tokens.get(transfer.transfer_id)
    if held is None or record.fenced or record.outcome is not None:
        return False
    mine = [side for side in sides(transfer) if _machine(transfer, side).instance_id == instance_id]
    return any(token.finish(world, transfer, gone) for side in mine if (gone := _gone(world, transfer, side)))


def _known(record: TransferRecord, held: ControlToken, now: float) -> Ends:
    """Return what earlier looks saw; a task that was started anew has new ends."""
    if record.ends is not None and record.ends.task == held.start:
        return record.ends
    version = record.ends.version if record.ends else 0
    return Ends.begun(held.start, now, receives=not record.transfer.request.is_profiling, version=version)


def _gone(world: World, transfer: AcceptedTransfer, side: Side) -> Outcome | None:
    """That the machine of a silent end carries no more, so that no start could help."""
    machine = _machine(transfer, side)
    shown = world.compute(machine.region).describe([machine.instance_id])
    if not shown or shown[0].state not in ENDED_INSTANCE_STATES:
        return None
    cause = f"the machine of the {side}, {machine.instance_id} ({machine.region}), is {shown[0].state}"
    return Outcome(error=EndGone.__name__, cause=cause)


def _restart(world: World, record: TransferRecord, side: Side, ends: Ends) -> None:
    end = ends.of(side)
    assert end is not None  # noqa: S101  it was just restarted
    if side == "sender":
        metering.look(world, record)  # the new sender's report takes the place of the old one's
    try:
        trouble = start(world, record.transfer, [side], end.start)
    except (Throttled, MissingPermission) as error:
        trouble = [str(error)]
    if trouble:
        world.transfers.change(record.transfer, transfer_life.note(ends=ends.troubled(side, trouble[0][-1000:])))


def _give_up(world: World, record: TransferRecord, side: Side, ends: Ends) -> bool:
    end = ends.of(side)
    machine = _machine(record.transfer, side)
    again = f"it was started again {MOST_RESTARTS} times"
    place = f"{machine.instance_id} ({machine.region})"
    if end and end.in_file_system is not None:
        seconds = f"a call had not returned after {end.in_file_system:.0f} s when the {side} last reported"
        cause = f"the file system of the destination on {place} hangs: {seconds}; {again}"
        return token.finish(world, record.transfer, Outcome(error=FileSystemHangs.__name__, cause=cause))
    last = (end.trouble if end else None) or "it came up and fell silent again"
    cause = f"the {side} on {place} is silent; {again}, the last time: {last}"
    return token.finish(world, record.transfer, Outcome(error=EndSilent.__name__, cause=cause))


def _machine(transfer: AcceptedTransfer, side: Side) -> EndMachine:
    return transfer.source if side == "sender" else transfer.destination


def _order(world: World, transfer: AcceptedTransfer, side: Side, epoch: int) -> Order:
    control = world.control(transfer)
    end = transfer.request.destination if side == "receiver" else transfer.request.source
    share = Share(cpu_weight=end.cpu_weight, io_weight=end.io_weight)
    plan_key = world.shared_key(transfer, "plan.json")
    if side == "receiver":
        return Order.on(transfer.destination, "receive", commands.receive(transfer, control, epoch, plan_key), share)
    life = world.env.relay_time_to_live_seconds
    return Order.on(transfer.source, "send", commands.send(transfer, control, epoch, plan_key, life), share)


def _trouble(order: Order, result: CommandResult) -> str:
    return f"{order.document} on {order.instance_id} ({order.region}) ended with {result.status}: {result.tail()}"
