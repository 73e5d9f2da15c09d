"""The watch over both ends, from records alone: no answer of EC2 or SSM is waited for here.

A task's heartbeat depends on this look. What a silent end needs is put onto the bus, where another function sees to it.
"""

from typing import Any

from lambdas.adapters.records import ControlToken
from lambdas.adapters.world import World
from lambdas.core.chunks.progress import Side
from lambdas.core.record import transfer_life
from lambdas.core.record.transfer_record import Planned, TransferRecord
from lambdas.core.seats import liveness
from lambdas.core.seats.liveness import MOST_RESTARTS, Ends
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.core.transfer.record_format import FORMAT_VERSION
from lambdas.operations.fleet.remaining import ends_mb_s


def sides(transfer: AcceptedTransfer) -> tuple[Side, ...]:
    """The ends that run: where nothing is moved but measured, the sender alone."""
    return ("sender",) if transfer.request.is_profiling else ("receiver", "sender")


def look_at(world: World, transfer_id: str) -> dict[str, Any] | None:
    """A heartbeat where all ends advance, or where a silent one is started again; None where no end is to run."""
    record = world.transfers.get(transfer_id)
    if not isinstance(record, Planned) or record.transfer.format_version != FORMAT_VERSION:
        return None
    if not record.moving or record.outcome is not None:
        return None
    held = world.tokens.get(transfer_id)
    return None if held is None else _look(world, record, held)


def _look(world: World, record: Planned, held: ControlToken) -> dict[str, Any]:
    transfer, now = record.transfer, world.clock.now()
    ends = seen(world, record, held, now)
    side = silent(record, ends, now)
    if side and is_given_up(ends, side):
        _tell(world, record, side, ends)
        return {"silent": side, "heartbeat": False}
    if side:
        counted = world.transfers.change(transfer, transfer_life.COUNT_ATTEMPT)
        if counted is None:
            return {"heartbeat": False}  # a later execution has taken it up
        ends = ends.restarted(side, counted.attempt, now)
    advance = ends.advance
    if not world.transfers.change(transfer, transfer_life.note(ends=ends.beaten() if advance else ends)):
        return {"heartbeat": False}  # another look is at work
    if side:
        # The heartbeat first: it is due, whether or not the bus takes the event.
        beaten = world.executions.heartbeat(held.token)
        _tell(world, record, side, ends)
        return {"silent": side, "heartbeat": beaten}
    return {"heartbeat": advance and world.executions.heartbeat(held.token)}


def silent(record: Planned, ends: Ends, now: float) -> Side | None:
    """The end that is silent, as it was seen."""
    return ends.silent(now, liveness.still_seconds(record.plan, ends_mb_s(record)))


def is_given_up(ends: Ends, side: Side) -> bool:
    """Return whether another start of this end would fail as the others did."""
    end = ends.of(side)
    return end is not None and end.restarts >= MOST_RESTARTS


def _tell(world: World, record: Planned, side: Side, ends: Ends) -> None:
    end = ends.of(side)
    assert end is not None  # noqa: S101  it is silent
    world.events.put("End Silent", {"transferId": record.transfer.transfer_id, "side": side, "start": end.start})


def seen(world: World, record: Planned, held: ControlToken, now: float) -> Ends:
    """What one look more finds; nothing is noted."""
    reports = {side: world.agents.progress(record.transfer.shared, side) for side in sides(record.transfer)}
    return _known(record, held, now).seen(reports, now)


def _known(record: TransferRecord, held: ControlToken, now: float) -> Ends:
    """Return what earlier looks saw; a task that was started anew has new ends."""
    if record.ends is not None and record.ends.task == held.start:
        return record.ends
    version = record.ends.version if record.ends else 0
    return Ends.begun(held.start, now, receives=not record.transfer.request.is_profiling, version=version)
