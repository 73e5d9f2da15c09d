"""What the pool costs a transfer: what its regions say now, and from the first estimate on what its record has."""

from collections.abc import Sequence

from lambdas.adapters.world import World
from lambdas.core.estimate.estimate import Estimate
from lambdas.core.estimate.figures import EndFigures
from lambdas.core.estimate.pool_figures import quoted, with_pool
from lambdas.core.estimate.service_gains import gains
from lambdas.core.estimate.type_choice import Offer
from lambdas.core.estimate.whole_time import TRANSFERS
from lambdas.core.fleet.topology import route_of
from lambdas.core.pool.price import Gains
from lambdas.core.pool.region_price import PoolPrice, RegionPrice, transfer_price
from lambdas.core.record import transfer_life
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations.fleet.providers import pool


def price_now(
    transfer: AcceptedTransfer, figures: EndFigures, offered: Sequence[Offer], most_pairs: int, world: World
) -> PoolPrice | None:
    """None where the transfer may have no lease, or where no look at its regions' pools has found a price yet."""
    prices = _prices(transfer, world)
    if not prices:
        return None
    kinds = {world.env.pool_regions[region].instance_type for region in prices}
    alike = next((offer for offer in offered if offer.instance_type in kinds), offered[0])
    return quoted(prices, figures, alike.pair.now, most_pairs, _gains(transfer, world), world.clock.now())


def price_again(transfer: AcceptedTransfer, relays: int, rate_mb_s: float, world: World) -> PoolPrice | None:
    """The price now, for what an earlier look has counted on."""
    prices = _prices(transfer, world)
    return transfer_price(prices, relays, rate_mb_s, _gains(transfer, world), world.clock.now()) if prices else None


def _gains(transfer: AcceptedTransfer, world: World) -> Gains:
    return gains(world.profiles.get(TRANSFERS, transfer.region_pair))


def _prices(transfer: AcceptedTransfer, world: World) -> dict[str, RegionPrice]:
    regions = pool.regions(world, transfer) if world.env.pool_regions else []
    return {region: price for region in regions if (price := world.pool_accounts.price(region))}


def fixed(transfer: AcceptedTransfer, world: World) -> PoolPrice | None:
    """The price that the transfer's record has; None where it has none yet."""
    record = world.transfers.get(transfer.transfer_id) if world.env.pool_regions else None
    return record.pool_price if record is not None and record.is_of(transfer) else None


def priced(transfer: AcceptedTransfer, figures: EndFigures, price: PoolPrice | None) -> EndFigures:
    """The figures with that price, if there is one."""
    return with_pool(figures, price, [stage.region for stage in route_of(transfer).stages]) if price else figures


def note_estimate(world: World, transfer: AcceptedTransfer, found: Estimate) -> None:
    """Keep the estimate in the transfer's record, and with the first one what the pool costs it from now on."""
    noted: transfer_life.Noted = {"estimate": found}
    if found.pool_price is not None:
        noted["pool_price"] = found.pool_price
    world.transfers.change(transfer, transfer_life.note(**noted))
