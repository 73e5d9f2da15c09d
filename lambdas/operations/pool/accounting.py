"""What a region's pool costs: its price for who comes next, and the month's account of who used what."""

from lambdas.adapters.world import World
from lambdas.core.pool.month_account import MonthAccount, month_of
from lambdas.core.pool.pool_node import LIVE, Lease, PoolNode
from lambdas.core.pool.region_price import region_price
from lambdas.core.tariff import fallback_prices
from lambdas.core.tariff.prices import PriceBook

# A look comes each minute.
_LOOK_SECONDS = 60.0
# The month before is looked for so far back: an hour's gap at its turn is counted as the next month's.
_GAP_SECONDS = 3600.0


def hour_usd(world: World, region: str) -> float:
    """Dollars for an hour of one node, disk and address included, by the embedded table: too high rather than low.

    A type that the table does not know costs as much as the dearest family of its size.
    """
    kind, book = world.env.pool_regions[region].instance_type, PriceBook()
    public = world.env.inter_region_path == "internet"
    known = book.find_instance_hour(kind, region)
    return (known.usd if known else fallback_prices.dearest_hour(kind, region)) + book.beside_instance_hour(
        kind, region, public=public
    )


def tell_price(world: World, region: str, nodes: list[PoolNode]) -> None:
    """Keep the price that follows from what the nodes have to give now."""
    settings = world.env.pool_regions[region]
    price = region_price(region, nodes, settings.leases_per_node, hour_usd(world, region), world.clock.now())
    if price is not None:
        world.pool_accounts.put_price(price)


def count(world: World, region: str) -> None:
    """Count what the machines did since the last look, in the month of this one.

    Before leases are forgotten, so that none is forgotten uncounted. Where another look has counted meanwhile, that
    counts.
    """
    now = world.clock.now()
    nodes = world.pool.nodes(region)
    this = world.pool_accounts.month(region, month_of(now))
    account = this or _begun(world, region, now)
    after = account.after(nodes, _leases(world, nodes), hour_usd(world, region), now)
    world.pool_accounts.put_month(after, this)


def _begun(world: World, region: str, now: float) -> MonthAccount:
    """The month's account before its first look, which goes on where the month before has ended."""
    month = month_of(now)
    before = world.pool_accounts.month(region, month_of(now - _GAP_SECONDS))
    if before is not None and before.month != month:
        return before.begin(month)
    return MonthAccount(region=region, month=month, until=now - _LOOK_SECONDS)


def _leases(world: World, nodes: list[PoolNode]) -> list[Lease]:
    return [lease for node in nodes if node.state in LIVE for lease in world.pool.standing(node)[0]]
