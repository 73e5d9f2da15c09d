"""What AWS says about the instance types of one transfer: prices, limits, availability, quotas left."""

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from lambdas.adapters.world import World
from lambdas.core.places.machines import EndMachine
from lambdas.core.places.place import Place
from lambdas.core.tariff import prices, quotas
from lambdas.core.tariff.instance_types import TypeFacts
from lambdas.core.tariff.prices import Market, Price, PriceBook, PriceItem
from lambdas.core.transfer.accepted import AcceptedTransfer

# AWS changes its list prices a few times a year; older ones still count for more than the fallback table.
REFRESH_SECONDS = 7 * 86_400.0


@dataclass(frozen=True)
class RegionMarket:
    """One side of a transfer; spot prices only where the market is spot. `free_vcpus` is None where unknown."""

    facts: Mapping[str, TypeFacts]
    spot: Mapping[str, Price]
    free_vcpus: int | None


@dataclass(frozen=True)
class TransferMarket:
    """Both sides; they are the same one where source and destination share a region and zone. `transit`: by region.

    `market`: what relays are launched on, which is not spot where the account has no role for it.
    """

    market: Market
    prices: PriceBook
    source: RegionMarket
    destination: RegionMarket
    transit: Mapping[str, RegionMarket] = field(default_factory=dict)
    regions: tuple[str, str] = ("", "")
    """Of source and destination."""

    def weighted(self, sides: Iterable[tuple[list[str], list[str]]]) -> dict[str, list[str]]:
        """Of the types that relays may be in some regions, those that take the network's weighting there."""
        known = {**self.transit, **dict(zip(self.regions, (self.source, self.destination), strict=True))}
        found: dict[str, set[str]] = {}
        for regions, kinds in sides:
            for region in regions:
                facts = known[region].facts
                takes = {kind for kind in kinds if kind in facts and facts[kind].takes_weighting}
                found.setdefault(region, set()).update(takes)
        return {region: sorted(kinds) for region, kinds in found.items() if kinds}


def market_of(transfer: AcceptedTransfer, relay_types: Iterable[str], world: World) -> TransferMarket:
    """Asks for all of it at once; what AWS does not tell is left out, and only EC2's throttling is an error."""
    types = list(dict.fromkeys(relay_types))
    market = transfer.request.relays.market
    if market == "spot" and not world.at(Place(world.env.home_region)).spot_market.has_role():
        market = "on-demand"
    ends = (transfer.at_source, transfer.at_destination)
    lent = [machine.instance_type for machine in transfer.existing]
    lent += [seat.machine.instance_type for seat in (*transfer.senders[1:], *transfer.receivers[1:])]
    third = [one.region for one in transfer.transit]
    with ThreadPoolExecutor(len(ends) + 1) as pool:
        items = prices.needed(
            types, transfer.source_region, transfer.destination_region, third, beside=transfer.relay_regions
        )
        listed = pool.submit(price_book, items, world)
        between = {region: pool.submit(_region, region, types, world, market) for region in third}
        source, destination = (
            side.result() for side in [pool.submit(_side, end, types, lent, market, world) for end in ends]
        )
    book = listed.result()
    transit = {region: answer.result() for region, answer in between.items()}
    spot = {
        PriceItem("spot-hour", end.region, kind): price
        for end, side in zip(ends, (source, destination), strict=True)
        for kind, price in side.spot.items()
    }
    regions = (transfer.source_region, transfer.destination_region)
    prices_found = PriceBook({**book.found, **spot}, book.problems)
    return TransferMarket(market, prices_found, source, destination, transit, regions)


def price_book(items: Iterable[PriceItem], world: World) -> PriceBook:
    """Prices of `items`: from the cache while they are fresh, else asked for and kept."""
    cached, now = world.price_cache.read(), world.clock.now()
    stale = [item for item in items if item not in cached or now - cached[item].as_of > REFRESH_SECONDS]
    if not stale:
        return PriceBook(cached)
    answers = world.price_list.ask(stale)
    known = {**cached, **{item: Price(usd, "price list", now) for item, usd in answers.dollars.items()}}
    if answers.dollars:
        world.price_cache.write(known)
    return PriceBook(known, answers.problems)


def _side(end: EndMachine, types: list[str], lent: list[str], market: Market, world: World) -> RegionMarket:
    # The end itself and lent machines too: what they may send is published like a relay's.
    found = _region(end.region, list(dict.fromkeys([*types, end.instance_type, *lent])), world, market)
    spot = world.at(end.place).spot_market.latest(types, end.availability_zone) if market == "spot" else {}
    return replace(found, spot=spot)


def _region(region: str, types: list[str], world: World, market: Market) -> RegionMarket:
    """Without spot prices, which hold for one zone: where none is known on-demand prices are the bound."""
    here = world.at(Place(region))
    running = [quotas.Running(one.instance_type, one.vcpus, one.spot) for one in here.compute.running()]
    return RegionMarket(
        facts=here.instance_types.facts(types),
        spot={},
        free_vcpus=quotas.free_vcpus(here.quotas.vcpus(market), running, market),
    )
