"""One look at the price of a transfer that waits for it."""

from lambdas.adapters.world import World
from lambdas.core.errors import BudgetTooSmall, DeadlineUnreachable, NoSuitableType
from lambdas.core.estimate.whole_time import TRANSFERS, until_first_byte
from lambdas.core.fleet.topology import route_of
from lambdas.core.pool.price import PriceWish, begins
from lambdas.core.pool.price_wait import PriceWait, seconds_until_next_look
from lambdas.core.pool.region_price import PoolPrice
from lambdas.core.record import transfer_life
from lambdas.core.record.transfer_record import TransferRecord
from lambdas.core.request.pool_rules import latest_start
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations.estimate import pooling
from lambdas.operations.estimate.estimation import estimate_for
from lambdas.operations.fence import serving

# Nobody has looked at the ends yet. The price does not follow from the size; so much is moved in no time.
_ANY_BYTES = 1_000_000


def look(world: World, transfer: AcceptedTransfer, before: PriceWait | None) -> PriceWait:
    """Fix the price where it is low enough, or where the time has come; else say when to look again.

    Raises TransferFenced; MissingPrice at the first look.
    """
    record, now = serving(world, transfer, TransferRecord), world.clock.now()
    wait = before or _begun(transfer, now)
    if record.pool_price is not None:
        return wait.model_copy(update={"wait_seconds": None})
    price = _price(world, transfer, wait)
    usd = price.usd_per_gb([stage.region for stage in route_of(transfer).stages]) if price else None
    wish = PriceWish(wait.most_usd_per_gb, wait.until)
    lead = until_first_byte(world.profiles.get(TRANSFERS, transfer.region_pair))
    # Without a price it waits as for a high one: a pool whose first nodes boot has none yet.
    begin = begins(wish, wait.most_usd_per_gb + 1 if usd is None else usd, now, lead)
    found = wait.model_copy(
        update={
            "usd_per_gb": usd,
            "relays": price.relays if price else wait.relays,
            "rate": price.rate if price else wait.rate,
            "wait_seconds": seconds_until_next_look(wait.since, wait.until - lead, now) if begin == "wait" else None,
        }
    )
    noted: transfer_life.Noted = {"price_wait": found}
    if begin != "wait" and price is not None:
        noted["pool_price"] = price.model_copy(update={"is_overdue": begin == "overdue"})
    world.transfers.change(transfer, transfer_life.note(**noted))
    return found


def _begun(transfer: AcceptedTransfer, now: float) -> PriceWait:
    relays = transfer.request.relays
    until = latest_start(relays.start_by or "1s", transfer.execution_started_at)
    return PriceWait(since=now, until=until, most_usd_per_gb=relays.most_usd_per_gb or 0.0)


def _price(world: World, transfer: AcceptedTransfer, wait: PriceWait) -> PoolPrice | None:
    """By what the first look has counted on, which asks AWS for much; later ones read two items."""
    if wait.relays and wait.rate:
        return pooling.price_again(transfer, wait.relays, wait.rate, world)
    try:
        return estimate_for(transfer, _ANY_BYTES, world).pool_price
    except (BudgetTooSmall, DeadlineUnreachable, NoSuitableType):
        return None  # the estimate says so, once the ends were looked at
