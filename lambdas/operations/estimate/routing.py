"""What routes through third regions are planned from: links of the map, prices and quotas of every region."""

from lambdas.adapters.world import World
from lambdas.core.architecture import architecture_of
from lambdas.core.estimate.estimate import Estimate
from lambdas.core.estimate.figures import Figure
from lambdas.core.estimate.network_map import Wanted
from lambdas.core.estimate.offers import priced
from lambdas.core.estimate.route_rows import Ways
from lambdas.core.estimate.type_choice import Offer
from lambdas.core.fleet.topology import routes_of
from lambdas.core.tariff.prices import Market, PriceBook
from lambdas.core.transfer import AcceptedTransfer
from lambdas.operations.estimate.mapping import network_map
from lambdas.operations.estimate.quotes import RegionMarket, TransferMarket, market_of


def ways_for(transfer: AcceptedTransfer, offer: Offer, market: TransferMarket, world: World) -> Ways | None:
    """The ways of relays of the offered type; None where only pairs are possible.

    Machines of the user and numbers by side are of pairs alone.
    """
    relays, kind = transfer.request.relays, offer.instance_type
    if not transfer.transit or relays.existing or relays.sides or relays.by_side or offer.refusal:
        return None
    ends = {transfer.source.region: market.source, transfer.destination.region: market.destination}
    third = {region: one for region, one in market.transit.items() if _can_launch(region, kind, one, world)}
    regions = {**ends, **third}
    found = network_map(Wanted(regions=list(regions), instance_types=[kind]), world)
    links = found.links_of(kind)
    direct = transfer.source.region, transfer.destination.region
    # What this transfer has shown of a pair, or lets it be, is said of the offer.
    links[direct] = links[direct].model_copy(update={"rate": offer.pair, "counted": offer.pair.now})
    # AWS publishes what a machine may send, wherever to. Whatever holds the direct link below that may hold any other
    # one: a way that nobody has measured is never a reason to leave the direct one.
    widest = links[direct].counted
    links = {
        pair: link if link.origin in ("measured", "configured") else link.held_to(widest)
        for pair, link in links.items()
    }
    return Ways(
        source=direct[0],
        destination=direct[1],
        links=links,
        hours={region: _hour(kind, region, market.market, market.prices, world) for region in regions},
        most_in_region={
            region: most for region, one in regions.items() if (most := _most_relays(kind, one)) is not None
        },
        first_stage={tuple(stage.region for stage in route.stages): route.first for route in routes_of(transfer)},
    )


def ways_of(transfer: AcceptedTransfer, estimate: Estimate, world: World) -> Ways | None:
    """The same while data moves, for relays of the type that the estimate chose."""
    market = market_of(transfer, [estimate.instance_type], world)
    figures = estimate.figures
    offer = Offer(
        instance_type=estimate.instance_type,
        pair=figures.pair,
        spread=figures.pair_spread,
        spawn=figures.spawn,
        hour=figures.relay_hour,
        most_pairs=0,
    )
    return ways_for(transfer, offer, market, world)


def _can_launch(region: str, instance_type: str, market: RegionMarket, world: World) -> bool:
    """Return whether any zone of a third region offers the type, and a daemon for it lies there."""
    facts, deployed = market.facts.get(instance_type), world.env.daemon_assets.get(region, {})
    return facts is not None and bool(facts.zones) and architecture_of(instance_type) in deployed


def _most_relays(instance_type: str, market: RegionMarket) -> int | None:
    facts = market.facts.get(instance_type)
    return market.free_vcpus // facts.vcpus if facts and market.free_vcpus is not None else None


def _hour(instance_type: str, region: str, market: Market, prices: PriceBook, world: World) -> Figure:
    price = prices.instance_hour(instance_type, region, market)
    public = world.env.inter_region_path == "internet"
    beside = prices.beside_instance_hour(instance_type, region, public=public)
    figure = priced(price, f"{instance_type} {market} with address and disk, {region}")
    return figure.model_copy(update={"value": price.usd + beside})
