"""What would do in place of relays: what AWS says of larger ends, for people who ask for an estimate."""

from collections.abc import Mapping

from lambdas.adapters.world import World
from lambdas.core.estimate.alternative import Alternative
from lambdas.core.estimate.alternatives import Ends, LargerEnd, alternatives
from lambdas.core.estimate.estimate import Estimate
from lambdas.core.places.machines import EndMachine
from lambdas.core.tariff.instance_types import TypeFacts, larger_types
from lambdas.core.tariff.prices import PriceBook, PriceItem
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations.estimate.quotes import price_book


def advice(transfer: AcceptedTransfer, found: Estimate, world: World) -> list[Alternative]:
    """Return the alternatives to an estimate; asks EC2 and the price list about the ends' families."""
    source, destination = transfer.at_source, transfer.at_destination
    if transfer.on_one_machine:
        return []
    of_source, of_destination = _family(source, world), _family(destination, world)
    items = [
        PriceItem("instance-hour", end.region, kind)
        for end, family in ((source, of_source), (destination, of_destination))
        for kind in family
    ]
    book = price_book(items, world)
    ends = Ends(
        facts=(of_source.get(source.instance_type), of_destination.get(destination.instance_type)),
        larger=(_larger(source, of_source, book), _larger(destination, of_destination, book)),
        through=world.env.inter_region_path,
        peerable=transfer.between_regions and source.vpc_id != destination.vpc_id,
        checksum=not transfer.request.tells_content,
    )
    return alternatives(found, ends, transfer.request.objective.value_of_time)


def _family(end: EndMachine, world: World) -> Mapping[str, TypeFacts]:
    """The end's type and the larger ones of its family that its zone offers, the smallest first."""
    kinds = [end.instance_type, *larger_types(end.instance_type)]
    known = world.at(end.place).instance_types.facts(kinds)
    return {
        kind: known[kind]
        for kind in kinds
        if kind in known and (kind == end.instance_type or end.availability_zone in known[kind].zones)
    }


def _larger(end: EndMachine, family: Mapping[str, TypeFacts], book: PriceBook) -> tuple[LargerEnd, ...]:
    """Those that have a price, where the end's own type has one."""
    hours = {kind: book.find_instance_hour(kind, end.region) for kind in family}
    now = hours.get(end.instance_type)
    return tuple(
        LargerEnd(family[kind], hour.usd - now.usd)
        for kind, hour in hours.items()
        if hour and now and kind != end.instance_type
    )
