"""Looks at all transfers under common limits, and what follows: leases of shares, told to their senders."""

from collections.abc import Callable, Iterable
from math import inf

from lambdas.adapters.world import World
from lambdas.core.errors import WriteConflict
from lambdas.core.fleet.common_limit import CommonLimits, Sharer, shared
from lambdas.core.fleet.membership import LimitLease
from lambdas.core.record import transfer_life
from lambdas.core.record.transfer_record import Planned, TransferRecord
from lambdas.core.request.bandwidth import MBIT_PER_MB
from lambdas.operations.fleet import membership
from lambdas.operations.seats import reports

_ATTEMPTS = 20
# A report that is so old is of a sender that is dead or cut off.
_STALE_SECONDS = 30.0


def begin(world: World, record: Planned) -> None:
    """The first record of the senders: a common limit holds from the first byte."""
    membership.begin(world, record, _join(world, record))
    if world.common_limits.get().over(record.transfer.request.label):
        # It may have been set since it was looked at, by somebody who saw no membership of this transfer.
        look(world, [record.transfer.transfer_id])


def _join(world: World, record: Planned) -> LimitLease | None:
    if not world.common_limits.get().over(record.transfer.request.label):
        return None
    transfer_id = record.transfer.transfer_id
    grant = look(world, [transfer_id]).grants.get(transfer_id)
    return grant.lease if grant else None


def look(
    world: World, more: Iterable[str] = (), edit: Callable[[CommonLimits], CommonLimits] = lambda state: state
) -> CommonLimits:
    """Share all common limits out anew, after an `edit` of them; `more`: transfers that may be under one by now."""
    also = set(more)
    for _ in range(_ATTEMPTS):
        before = world.common_limits.get()
        if edit(before) == before and not before.limits and not before.grants:
            return before
        records = {id_: world.transfers.get(id_) for id_ in sorted(also | before.grants.keys())}
        sharers = {id_: one for id_, record in records.items() if record and (one := _sharer(world, record))}
        leaving = {id_ for id_, record in records.items() if record and id_ not in sharers and _may_send(record)}
        state = shared(edit(before), sharers, world.clock.now(), leaving)
        if state == before or world.common_limits.put(state.next):
            break
    else:
        raise WriteConflict(f"the common limits changed {_ATTEMPTS} times while they were shared out")
    for id_ in sharers:
        if record := records[id_]:
            _tell(world, record, state)
    return world.common_limits.get()


def _sharer(world: World, record: TransferRecord) -> Sharer | None:
    """What is seen of a transfer that moves, or is about to; None of any other one."""
    transfer = record.transfer
    if not isinstance(record, Planned) or not record.moving or transfer.errand.why_not_limited:
        return None
    current, now = world.agents.membership(transfer.partition), world.clock.now()
    told = reports.of_senders(world, transfer)
    living = [seat.seat_id for seat in record.living if seat.role == "sender"]
    followed = [told[seat_id].membership_version if seat_id in told else None for seat_id in living]
    versions = [version for version in followed if version is not None]
    rates = [one.rate for one in told.values() if now - one.at <= _STALE_SECONDS]
    begun = any(one.first_byte_at is not None for one in told.values())
    own = record.limit.mbps
    return Sharer(
        label=transfer.request.label,
        rate=None if not begun else MBIT_PER_MB * sum(rates),
        own=0.0 if record.paused else inf if own is None else own,
        version=current.version if current else 0,
        lease=current.limit_lease.number if current and current.limit_lease else None,
        followed=min(versions) if versions and len(versions) == len(followed) else None,
    )


def _may_send(record: TransferRecord) -> bool:
    """Return whether daemons of a transfer that moves no more may still be at work."""
    return not record.closed and record.delivered is None


def _tell(world: World, record: TransferRecord, state: CommonLimits) -> None:
    transfer_id = record.transfer.transfer_id
    if transfer_id in state.grants and not record.shared:
        # First: profiles are not to take a rate that was limited for all that machines can do.
        world.transfers.change(record.transfer, transfer_life.note(shared=True))
    current = world.agents.membership(record.transfer.partition)
    grant = state.grants.get(transfer_id)
    if current is None or current.limit_lease == (grant.lease if grant else None):
        return

    def granted() -> LimitLease | None:
        latest = world.common_limits.get().grants.get(transfer_id)
        return latest.lease if latest else None

    membership.set_share(world, record.transfer, granted)
