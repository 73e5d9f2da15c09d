"""What routes are planned from: the borders between regions, prices and quotas of every region."""

from collections.abc import Iterable, Mapping

from lambdas.adapters.world import World
from lambdas.core.architecture import architecture_of
from lambdas.core.estimate import measured, published_limits
from lambdas.core.estimate.estimate import Estimate
from lambdas.core.estimate.figures import EndFigures, Figure
from lambdas.core.estimate.lent import lent_rates
from lambdas.core.estimate.link_figures import LinkFigure
from lambdas.core.estimate.network_map import Wanted
from lambdas.core.estimate.offers import priced
from lambdas.core.estimate.type_choice import Offer
from lambdas.core.estimate.ways import Border, SideRate, Ways
from lambdas.core.fleet.topology import routes_of
from lambdas.core.tariff.prices import Market, PriceBook
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations.estimate.mapping import network_map
from lambdas.operations.estimate.quotes import RegionMarket, TransferMarket, market_of

Pair = tuple[str, str]


def ways_for(
    transfer: AcceptedTransfer,
    offer: Offer,
    ends: EndFigures,
    market: TransferMarket,
    world: World,
    closed: Iterable[Pair] | None = None,
) -> Ways | None:
    """The ways of relays of the offered types; None where only pairs are possible, or nothing else is of use.

    Third regions have relays of the source's type. Machines of the user are of the pair alone. To and from a bucket
    there is one way. `closed`: borders that no route can cross; those of the transfer, unless it is said.
    """
    relays = transfer.request.relays
    if transfer.request.has_bucket:
        return None
    straight = _straight(transfer, ends, market, world) if relays.pairs == "auto" else 0.0
    # Of unequal sides none is tested: the better half of pairs is what was asked for.
    unequal = relays.pairs == "auto" and transfer.request.testing is not True
    unequal = unequal and bool(offer.sides or transfer.existing or straight)
    if not (transfer.transit or unequal) or not transfer.between_regions or relays.sides or offer.refusal:
        return None
    direct = transfer.source_region, transfer.destination_region
    kinds = dict(zip(direct, _types(offer), strict=True))
    third = {
        region: one for region, one in market.transit.items() if _can_launch(region, offer.instance_type, one, world)
    }
    if not third and not unequal:
        return None
    regions = {direct[0]: market.source, direct[1]: market.destination, **third}
    kinds |= dict.fromkeys(third, offer.instance_type)
    borders = _borders(direct, list(regions), offer, world) if third else {}
    apart = transfer.apart if closed is None else list(closed)
    borders = {pair: border for pair, border in borders.items() if not {pair, pair[::-1]} & set(apart)}
    borders[direct] = _pair_border(transfer, offer, market, world)
    lent = dict(zip(direct, map(len, borders[direct].lent), strict=True))
    return Ways(
        source=direct[0],
        destination=direct[1],
        borders=borders,
        hours={region: _hour(kinds[region], region, market.market, market.prices, world) for region in regions},
        most_in_region={
            region: most + lent.get(region, 0)
            for region, one in regions.items()
            if (most := _most_relays(kinds[region], one)) is not None
        },
        first_stage={(route.way, route.is_straight): route.first for route in routes_of(transfer)},
        straight=straight,
        pooled=ends.pooled or 0,
    )


def ways_of(
    transfer: AcceptedTransfer, estimate: Estimate, world: World, closed: Iterable[Pair] | None = None
) -> Ways | None:
    """The same while data moves, for relays of the types that the estimate chose."""
    market = market_of(transfer, [estimate.type_of(stage) for stage in (0, 1)], world)
    figures = estimate.figures
    offer = Offer(
        instance_type=estimate.instance_type,
        destination_type=estimate.destination_type or "",
        gain=figures.gain,
        pair=figures.pair,
        spread=figures.pair_spread,
        spawn=figures.spawn,
        hour=figures.relay_hour,
        most_pairs=0,
    )
    return ways_for(transfer, offer, estimate.figures, market, world, closed)


def _straight(transfer: AcceptedTransfer, ends: EndFigures, market: TransferMarket, world: World) -> float:
    """MB/s that the receiver takes from other regions beside what the direct path brings it.

    By what its type has taken from there, else by what AWS publishes of both ends: what holds the direct path below
    that probably holds the others too.
    """
    kinds = transfer.at_source.instance_type, transfer.at_destination.instance_type
    learned = measured.figure(world.profiles.get(kinds[1], transfer.region_pair), "interRegion", kinds[1])
    if learned is None:
        internet = world.env.inter_region_path == "internet"
        source, learned = (
            published_limits.outward(side.facts.get(kind), kind, between_regions=True, internet=internet)
            for side, kind in zip((market.source, market.destination), kinds, strict=True)
        )
        expected = min(source.now, learned.now)
        share = min(1.0, ends.direct.now / expected) if expected else 0.0
        learned = learned.scaled(share, learned.note)
    return max(min(ends.receive, learned.value) - ends.direct.now, 0.0)


def _types(offer: Offer) -> tuple[str, str]:
    return offer.instance_type, offer.destination_type or offer.instance_type


def _pair_border(transfer: AcceptedTransfer, offer: Offer, market: TransferMarket, world: World) -> Border:
    """Between the ends' regions, by the offer: what this transfer has shown of a pair, or lets it be, is said of it."""
    source, destination = transfer.source_region, transfer.destination_region
    sent, received = (SideRate(figure, figure.now) for figure in map(offer.carried, (0, 1)))
    usd = market.prices.egress_gb(source, destination).usd
    if world.env.inter_region_path == "transit-gateway":
        usd += market.prices.unit("transit-gateway-gb", source).usd
    internet, share = world.env.inter_region_path == "internet", transfer.request.relays.existing_share
    facts = market.source.facts, market.destination.facts
    lent = [
        tuple(lent_rates(transfer.existing, stage, facts[stage], share, between_regions=True, internet=internet))
        for stage in (0, 1)
    ]
    gain = offer.gain.value if offer.gain and offer.gain.value > 0 else 1.0
    return Border(sent, received, usd, gain, (lent[0], lent[1]))


def _borders(direct: Pair, regions: list[str], offer: Offer, world: World) -> dict[Pair, Border]:
    """All others, by the map."""
    kinds = list(dict.fromkeys(_types(offer)))
    found = network_map(Wanted(regions=regions, instance_types=kinds), world)
    # AWS publishes what a machine may send, wherever to. Whatever holds the direct link below that may hold any other
    # one: a way that nobody has measured is never a reason to leave the direct one.
    sent, received = (_held(found.links_of(kind), offer.carried(side).now) for side, kind in enumerate(_types(offer)))
    return {
        pair: Border(
            sent=SideRate(link.rate, link.counted),
            received=_side_rate(received[pair] if pair[1] == direct[1] else link),
            usd_per_gb=link.egress.value,
            gain=link.gain.value if link.gain and link.gain.value > 0 else 1.0,
        )
        for pair, link in sent.items()
    }


def _side_rate(link: LinkFigure) -> SideRate:
    return SideRate(link.rate, link.counted)


def _held(links: Mapping[Pair, LinkFigure], most: float) -> dict[Pair, LinkFigure]:
    return {
        pair: link if link.origin in ("measured", "configured") else link.held_to(most) for pair, link in links.items()
    }


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
