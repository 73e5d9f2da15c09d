"""What the reader of an estimate should know that its rows do not say: where prices are from, what relays may add."""

from lambdas.core.estimate.estimate import Estimate
from lambdas.core.fleet.relay_counts import RelayCounts
from lambdas.core.spending import cross_zone
from lambdas.core.tariff.prices import needed
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations.estimate.quotes import TransferMarket

# Prices in one note.
MOST_NAMED = 12


def of_prices(transfer: AcceptedTransfer, types: list[str], market: TransferMarket, now: float) -> list[str]:
    """What a reader should know about where prices and limits come from."""
    items = needed(types, transfer.source_region, transfer.destination_region)
    fallback = market.prices.from_fallback(items)
    ages = [price.age_days(now) for item in items if (price := market.prices.found.get(item))]
    notes = [f"prices are AWS's, {max(ages):.1f} days old at most"] if ages else []
    if fallback:
        more = len(fallback) - MOST_NAMED
        named = ", ".join(map(str, fallback[:MOST_NAMED]))
        notes.append(f"prices of the embedded table: {named}{f', and {more} more' if more > 0 else ''}")
    for end, side in ((transfer.at_source, market.source), (transfer.at_destination, market.destination)):
        if side.free_vcpus is None:
            notes.append(f"{end.region}: the quota of vCPUs is not known")
    return notes


def of_relays(found: Estimate, transfer: AcceptedTransfer, market: TransferMarket) -> list[str]:
    """What relays may cost beyond what the rows count on."""
    if not found.chosen_pairs:
        return []
    counts = [] if transfer.request.is_profiling else RelayCounts.of(transfer).notes(found.chosen_pairs)
    notes = [*counts, cross_zone.note(transfer, found.bytes)]
    if market.market == "spot":
        regions = (transfer.source_region, transfer.destination_region)
        types = [found.type_of(stage) for stage, _ in enumerate(regions)]
        hours = [market.prices.instance_hour(*place).usd for place in zip(types, regions, strict=True)]
        notes.append(
            f"where there is no spot capacity, {' and '.join(dict.fromkeys(types))} relays are on demand, at "
            f"${hours[0]:.4g} and ${hours[1]:.4g} an hour"
        )
    return notes
