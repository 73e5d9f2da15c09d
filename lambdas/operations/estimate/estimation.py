"""The estimate of an accepted transfer: figures gathered from what is known, offers of relay types, rows computed."""

from typing import Literal

from lambdas.adapters.world import World
from lambdas.core.estimate import offers
from lambdas.core.estimate.estimate import Estimate, estimate
from lambdas.core.estimate.offers import Side
from lambdas.core.estimate.profile import hosts
from lambdas.core.estimate.profiling import estimate_of_measuring
from lambdas.core.fleet.launch_decision import NO_SPOT_ROLE
from lambdas.core.fleet.relay_counts import PAIRS, RelayCounts
from lambdas.core.request import Objective
from lambdas.core.spending import cross_zone
from lambdas.core.tariff.prices import needed
from lambdas.core.transfer import AcceptedTransfer, Survey
from lambdas.operations.estimate.quotes import RegionMarket, TransferMarket, market_of


def estimate_for(transfer: AcceptedTransfer, size_bytes: int, world: World, survey: Survey | None = None) -> Estimate:
    """Estimate of `size_bytes` between the ends of `transfer`, or of measuring them; writes nothing.

    `survey`: where the ends were looked at. Raises BudgetTooSmall, DeadlineUnreachable or NoSuitableType.
    """
    request = transfer.request
    types = list(dict.fromkeys(request.relays.instance_types or world.env.instance_types))
    market = market_of(transfer, types, world)
    terms = offers.Terms(
        source=_side(transfer.source.region, transfer.source.availability_zone, market.source, world),
        destination=_side(
            transfer.destination.region, transfer.destination.availability_zone, market.destination, world
        ),
        internet=world.env.inter_region_path == "internet",
        prices=market.prices,
        market=market.market,
        now=world.clock.now(),
    )
    ends = [end.instance_type for end in (transfer.source, transfer.destination)]
    profiles = {kind: world.profiles.get(kind, transfer.region_pair) for kind in {*types, *ends}}
    machines = world.profiles.get(
        hosts(transfer.source.instance_id, transfer.destination.instance_id), transfer.region_pair
    )
    found = estimate(
        size_bytes,
        offers.with_disks(
            offers.end_figures(terms, (ends[0], ends[1]), machines, profiles, types, request.bandwidth_limit_mbps),
            survey.source.read_mb_s if survey else None,
            survey.destination.write_mb_s if survey else None,
        ),
        [offers.offer(terms, kind, profiles[kind]) for kind in types],
        requested=_requested(transfer, size_bytes),
        pre_test=True if request.is_profiling else request.testing,
        objective=Objective() if request.is_profiling else request.objective,
        most_pairs=world.env.max_pairs,
        # Both hops of a path are measured one after the other.
        pre_test_seconds=world.pair_test_seconds(request),
        notes=_notes(transfer, types, market, terms.now),
        relay_counts=PAIRS if request.is_profiling else RelayCounts.of(transfer),
    )
    notes = [*found.notes, *_notes_on_relays(found, transfer, market)]
    reason = found.reason if size_bytes or request.is_profiling else "there is nothing to send"
    found = found.model_copy(update={"notes": notes, "reason": reason})
    if request.is_profiling:
        found = estimate_of_measuring(found, world.pre_test_seconds(request), request.objective.max_cost_usd)
    if market.market == request.relays.market:
        return found
    return found.model_copy(update={"reason": f"{found.reason}; relays are on demand: {NO_SPOT_ROLE}"})


def _requested(transfer: AcceptedTransfer, size_bytes: int) -> int | Literal["auto"]:
    """No relay helps where there are no bytes to send, whatever was asked for."""
    if transfer.request.is_profiling:
        return 1
    return transfer.request.relays.wanted if size_bytes else 0


def _notes_on_relays(found: Estimate, transfer: AcceptedTransfer, market: TransferMarket) -> list[str]:
    """What relays may cost beyond what the rows count on."""
    if not found.chosen_pairs:
        return []
    notes = [cross_zone.note(transfer, found.bytes)]
    if market.market == "spot":
        regions = (transfer.source.region, transfer.destination.region)
        hours = [market.prices.instance_hour(found.instance_type, region).usd for region in regions]
        notes.append(
            f"where there is no spot capacity, {found.instance_type} relays are on demand, at "
            f"${hours[0]:.4g} and ${hours[1]:.4g} an hour"
        )
    return notes


def _side(region: str, zone: str, market: RegionMarket, world: World) -> Side:
    deployed = frozenset(world.env.daemon_assets.get(region, {}))
    return Side(region, zone, market.facts, market.free_vcpus, deployed)


def _notes(transfer: AcceptedTransfer, types: list[str], market: TransferMarket, now: float) -> list[str]:
    """What a reader should know about where prices and limits come from."""
    items = needed(types, transfer.source.region, transfer.destination.region)
    fallback = market.prices.from_fallback(items)
    ages = [price.age_days(now) for item in items if (price := market.prices.found.get(item))]
    notes = [f"prices are AWS's, {max(ages):.1f} days old at most"] if ages else []
    if fallback:
        notes.append(f"prices of the embedded table: {', '.join(map(str, fallback))}")
    for end, side in ((transfer.source, market.source), (transfer.destination, market.destination)):
        if side.free_vcpus is None:
            notes.append(f"{end.region}: the quota of vCPUs is not known")
    return notes
