"""Whose turn it is at the pool's leases: by class, then by use and weight; the direct path carries meanwhile."""

from dataclasses import dataclass

from lambdas.adapters.world import World
from lambdas.core.pool.month_account import month_of
from lambdas.core.pool.place_in_queue import LONGEST_SECONDS, PoolTurn, QueuedTransfer, seconds_until_next_look
from lambdas.core.pool.queue import Active, Terms, Use, admitted_now, forecast, ordered
from lambdas.core.pool.tenant import OPERATOR
from lambdas.core.record import transfer_life
from lambdas.core.record.transfer_record import Estimated
from lambdas.operations.fleet.providers import pool

# Longer than a look that is late: whoever dies in the queue blocks nobody for longer.
_LATE_SECONDS = 120.0


@dataclass(frozen=True)
class Turn:
    """`is_now`: it may have leases. Otherwise it asks again at `again_at` (Unix, s)."""

    is_now: bool
    again_at: float = 0.0


def ask(world: World, record: Estimated) -> Turn:
    """Take a place in the queue, and say whether it is the transfer's turn; the record says where it stands.

    A transfer that may have no lease anyhow need not wait; one that has waited for long enough waits no more.
    """
    transfer = record.transfer
    regions = pool.regions(world, transfer)
    if not regions:
        return Turn(is_now=True)
    now = world.clock.now()
    places = [one for one in world.pool_accounts.queue() if one.until > now and set(one.regions) & set(regions)]
    own = next((one for one in places if one.transfer_id == transfer.transfer_id), None) or _place(record, regions, now)
    others = [one for one in places if one.transfer_id != transfer.transfer_id]
    waiting = [one.waiting for one in others if one.serves_since is None] + [own.waiting]
    uses = _uses(world, regions, now)
    terms = {one.tenant: _terms(world, one.tenant) for one in waiting}
    turns = ordered(waiting, uses, terms, now)
    free = pool.pairs(world, transfer)
    has_waited = now - own.asked_at >= LONGEST_SECONDS
    if has_waited or any(one.transfer == transfer.transfer_id for one in admitted_now(turns, free, {}, terms)):
        served = own.model_copy(update={"serves_since": now, "until": now + max(own.seconds, _LATE_SECONDS)})
        world.pool_accounts.queue_up(served)
        return Turn(is_now=True)
    again_at = now + seconds_until_next_look(own.asked_at, now)
    world.pool_accounts.queue_up(own.model_copy(update={"until": again_at + _LATE_SECONDS}))
    active = [Active(one.tenant, one.until) for one in others if one.serves_since is not None]
    most = max(min(world.env.pool_regions[region].most_transfers for region in regions), 1)
    # Those who have leases that the queue does not know of hold the rest of what is not free.
    told = forecast(turns, active, max(min(most, len(active) + free), 1), terms, now)[transfer.transfer_id]
    turn = PoolTurn(at=now, position=told.position, waiting=len(turns), starts_at=told.starts_at)
    world.transfers.change(transfer, transfer_life.note(pool_turn=turn))
    return Turn(is_now=False, again_at=again_at)


def forget_ended(world: World) -> None:
    """Remove the places of those who ask no more, and of transfers that are over before anybody expected it."""
    now = world.clock.now()
    for place in world.pool_accounts.queue():
        record = world.transfers.get(place.transfer_id)
        if place.until <= now or record is None or record.closed:
            world.pool_accounts.forget_place(place)


def _place(record: Estimated, regions: list[str], now: float) -> QueuedTransfer:
    """At the end of its class; whoever waited for a low price is in no hurry, unless its time has come."""
    price = record.pool_price
    is_patient = record.price_wait is not None and not (price is not None and price.is_overdue)
    return QueuedTransfer(
        transfer_id=record.transfer.transfer_id,
        tenant=record.transfer.tenant or OPERATOR,
        regions=regions,
        asked_at=now,
        rank="background" if is_patient else "normal",
        wanted_bytes=record.plan.bytes,
        seconds=record.estimate.chosen.seconds,
        until=now,
    )


def _uses(world: World, regions: list[str], now: float) -> dict[str, Use]:
    """What tenants have sent through these pools, as it counts now."""
    found: dict[str, Use] = {}
    for region in regions:
        account = world.pool_accounts.month(region, month_of(now))
        for tenant, use in (account.uses if account else {}).items():
            found[tenant] = found[tenant].plus(use.counted(now), now) if tenant in found else use
    return found


def _terms(world: World, tenant: str) -> Terms:
    known = world.env.tenants.get(tenant)
    # How many may be active at once is held when they begin.
    return Terms(weight=known.weight if known else 1.0)
