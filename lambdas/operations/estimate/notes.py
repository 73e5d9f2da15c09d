"""What the reader of an estimate should know that its rows do not say: where prices are from, what relays may add."""

from lambdas.core.ends.bucket import DestinationBucket, SourceBucket
from lambdas.core.estimate import object_store
from lambdas.core.estimate.estimate import Estimate
from lambdas.core.restores.summary import Restores
from lambdas.core.spending import cross_zone
from lambdas.core.tariff import storage_classes
from lambdas.core.tariff.prices import needed
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.core.words import dollars, duration, size
from lambdas.operations.estimate.quotes import TransferMarket

# Prices in one note.
MOST_NAMED = 12


def of_prices(transfer: AcceptedTransfer, types: list[str], market: TransferMarket, now: float) -> list[str]:
    """What a reader should know about where prices and limits come from."""
    items = needed(types, transfer.source_region, transfer.destination_region, beside=transfer.relay_regions)
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
    return list(dict.fromkeys(notes))


def of_counts(found: Estimate, existing_share: float) -> list[str]:
    """How many relays the chosen routes have beside what the rows say: of sides that were asked for, and lent ones."""
    notes = [
        f"{use.relays[0]} relays at the source and {use.relays[1]} at the destination: like ones carry what "
        f"{use.slots} pairs do, and the row of {use.slots} pairs pays for all that are launched"
        for use in found.routes
        if use.slots and len(set(use.relays)) > 1
    ]
    if lent := sum(sum(use.lent or []) for use in found.routes):
        notes.append(
            f"{lent} of {sum(use.count for use in found.routes)} relays exist and cost the transfer nothing; the rows "
            f"count on {existing_share:g} of what AWS publishes for them"
        )
    return notes


def of_relays(found: Estimate, transfer: AcceptedTransfer, market: TransferMarket) -> list[str]:
    """What relays may cost beyond what the rows count on."""
    if not found.chosen_pairs:
        return []
    notes = [*of_counts(found, transfer.request.relays.existing_share), cross_zone.note(transfer, found.bytes)]
    if market.market == "spot":
        regions = transfer.relay_regions
        types = [found.type_of(stage) for stage, _ in enumerate(regions)]
        hours = [f"${market.prices.instance_hour(*place).usd:.4g}" for place in zip(types, regions, strict=True)]
        notes.append(
            f"where there is no spot capacity, {' and '.join(dict.fromkeys(types))} relays are on demand, at "
            f"{' and '.join(hours)} an hour"
        )
    return notes


def of_buckets(
    transfer: AcceptedTransfer, size_bytes: int, objects: int, restores: Restores | None = None
) -> list[str]:
    """What a bucket may cost beyond its requests, and what is restored before; `objects`: that are written."""
    request = transfer.request
    if isinstance(request.source, SourceBucket) and request.source.restoring is not None:
        if restores is None:
            return ["archived objects are restored first, if there are any: a dry run says how many, and the price"]
        wait = duration(restores.usual_seconds)
        return [f"before data moves, archived objects are restored within {wait}: {restores.price_in_words}"]
    if not isinstance(request.destination, DestinationBucket):
        return []
    day = object_store.stored_usd_per_day(size_bytes)
    kept = storage_classes.words(request.destination.storage_class, size_bytes, objects)
    return [
        *([kept] if kept else []),
        "parts of files that are not complete stay in the bucket while the transfer can be resumed: "
        f"{dollars(day)} a day at most, for all of {size(size_bytes)} in S3 Standard",
    ]
